//! What each task waits for is named.

use crate::support::guard::{guarded, until, workers};
use crate::support::waiting::until_waiting;
use futures_util::future::select;
use liten::insight::{Builder, TaskInfo, Wait};
use liten::runtime::Runtime;
use liten::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpsc, oneshot, watch,
};
use liten::time::{Duration, sleep, timeout};
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

/// What a task with this future says that it waits for, when it waits.
fn waits_of(runtime: &Runtime, future: impl Future<Output = ()> + Send + 'static) -> Vec<String> {
    let task = runtime.spawn(future);
    let mut waits = Vec::new();
    until(|| {
        let dump = runtime.handle().dump();
        let seen = dump.tasks().iter().find(|seen| seen.id() == task.id());
        waits = seen.map_or(Vec::new(), |seen: &TaskInfo| {
            seen.waits().iter().map(Wait::to_string).collect()
        });
        !waits.is_empty()
    });
    task.abort();
    waits
}

/// As [`waits_of`], for one wait, without the number of a lock or channel, and without the place where a
/// channel was made, which is known if another test has a page.
fn wait_of(runtime: &Runtime, future: impl Future<Output = ()> + Send + 'static) -> String {
    let mut waits = waits_of(runtime, future);
    assert_eq!(waits.len(), 1, "{waits:?}");
    let wait = waits.remove(0);
    match (wait.find(" (#"), wait.find(')')) {
        (Some(from), Some(to)) => {
            let rest = &wait[to + 1..];
            let is_place = |letter| letter != ' ' && letter != ',';
            let made = rest.strip_prefix(" made at ");
            let rest = made.map_or(rest, |place| place.trim_start_matches(is_place));
            format!("{}{rest}", &wait[..from])
        }
        _ => wait,
    }
}

#[test]
fn locks_and_channels_are_named() {
    guarded(|| {
        let runtime = workers(1);
        let mutex = Arc::new(Mutex::new(()));
        let held = mutex.clone().try_lock_owned().unwrap();
        assert_eq!(wait_of(&runtime, async move { drop(mutex.lock().await) }), "a Mutex");
        drop(held);
        let lock = Arc::new(RwLock::new(()));
        let held = lock.clone().try_read_owned().unwrap();
        let wait = wait_of(&runtime, async move { drop(lock.write().await) });
        assert_eq!(wait, "a RwLock to write");
        drop(held);
        let semaphore = Semaphore::new(0);
        let wait = wait_of(&runtime, async move { drop(semaphore.acquire().await) });
        assert_eq!(wait, "a Semaphore whose 0 permits are out");
        let notify = Notify::new();
        assert_eq!(wait_of(&runtime, async move { notify.notified().await }), "a Notify");
        let barrier = Barrier::new(2);
        assert_eq!(wait_of(&runtime, async move { _ = barrier.wait().await }), "a Barrier");
        let (sender, mut receiver) = mpsc::channel::<()>(1);
        let wait = wait_of(&runtime, async move { _ = receiver.recv().await });
        assert_eq!(wait, "a message of an mpsc channel");
        drop(sender);
        let (sender, receiver) = mpsc::channel::<()>(1);
        let wait = wait_of(&runtime, async move { while sender.send(()).await.is_ok() {} });
        assert_eq!(wait, "room in an mpsc channel");
        drop(receiver);
        let (sender, receiver) = oneshot::channel::<()>();
        let wait = wait_of(&runtime, async move { drop(receiver.await) });
        assert_eq!(wait, "the value of a oneshot channel");
        drop(sender);
        let (sender, mut receiver) = watch::channel(());
        let wait = wait_of(&runtime, async move { drop(receiver.changed().await) });
        assert_eq!(wait, "a watch channel");
        drop(sender);
        let (sender, mut receiver) = broadcast::channel::<()>(1);
        let wait = wait_of(&runtime, async move { _ = receiver.recv().await });
        assert_eq!(wait, "a message of a broadcast channel");
        drop(sender);
        let token = liten::task::CancellationToken::new();
        let child = token.child_token();
        let wait = wait_of(&runtime, async move { child.cancelled().await });
        assert_eq!(wait, "a CancellationToken");
        assert_eq!(wait_of(&runtime, token.clone().cancelled_owned()), "a CancellationToken");
        let tracker = liten::task::TaskTracker::new();
        tracker.close();
        let token = tracker.token();
        let wait = wait_of(&runtime, async move { tracker.wait().await });
        assert_eq!(wait, "the tasks of a TaskTracker");
        drop(token);
    });
}

/// Of what runs until a token is cancelled, more is to be said than that it does.
#[test]
fn what_runs_until_a_token_is_cancelled_says_what_it_waits_for() {
    guarded(|| {
        let runtime = workers(1);
        let token = liten::task::CancellationToken::new();
        let of_token = "a CancellationToken";
        let until_cancelled = |future: Pin<Box<dyn Future<Output = ()> + Send>>| {
            let token = token.clone();
            async move { _ = token.run_until_cancelled(future).await }
        };
        let (_sender, mut receiver) = mpsc::channel::<()>(1);
        let receive = Box::pin(async move { _ = receiver.recv().await });
        assert_eq!(wait_of(&runtime, until_cancelled(receive)), "a message of an mpsc channel");
        assert_eq!(wait_of(&runtime, until_cancelled(Box::pin(std::future::pending()))), of_token);
        let hour = Duration::from_secs(3600);
        let waits = waits_of(&runtime, until_cancelled(Box::pin(sleep(hour))));
        assert!(waits[0].starts_with(of_token) && waits[1].starts_with("a timer in"), "{waits:?}");
        // A wait that was over before is not told in the place of the token.
        let (token, notify) = (token.clone(), Notify::new());
        let wait = wait_of(&runtime, async move {
            let mut notified = Box::pin(notify.notified());
            std::future::poll_fn(|cx| {
                assert!(notified.as_mut().poll(cx).is_pending());
                std::task::Poll::Ready(())
            })
            .await;
            drop(notified);
            token.run_until_cancelled(std::future::pending::<()>()).await;
        });
        assert_eq!(wait, of_token);
    });
}

#[test]
fn the_holder_of_a_lock_is_named() {
    guarded(|| {
        let runtime = workers(1);
        let lock = Arc::new(Mutex::new(()));
        let holds = lock.clone();
        let holder = runtime.spawn(async move {
            let _guard = holds.lock().await;
            sleep(Duration::from_secs(3600)).await;
        });
        until(|| lock.try_lock().is_err());
        let wait = wait_of(&runtime, async move { drop(lock.lock().await) });
        assert_eq!(wait, format!("a Mutex held by task {}", holder.id()));
    });
}

#[test]
fn tasks_and_blocking_work_are_named() {
    guarded(|| {
        let runtime = workers(1);
        let task = runtime.spawn(std::future::pending::<()>());
        let expected = format!("task {}", task.id());
        assert_eq!(wait_of(&runtime, async move { drop(task.await) }), expected);
        let (release, held) = std::sync::mpsc::channel::<()>();
        let work = runtime.spawn_blocking(move || held.recv().is_err());
        let expected = format!("blocking work {}", work.id());
        until(|| !runtime.handle().dump().pool().jobs().is_empty());
        assert_eq!(wait_of(&runtime, async move { drop(work.await) }), expected);
        drop(release);
    });
}

#[test]
fn timers_are_told_with_the_time_that_is_left() {
    guarded(|| {
        let runtime = workers(1);
        let wait = wait_of(&runtime, sleep(Duration::from_secs(1_000_000)));
        assert!(wait == "a timer in 1000000.0 s" || wait.starts_with("a timer in 99999"), "{wait}");
        let (_sender, mut receiver) = mpsc::unbounded_channel::<()>();
        let waits = waits_of(&runtime, async move {
            _ = timeout(Duration::from_secs(3600), receiver.recv()).await;
        });
        assert_eq!(waits.len(), 2, "{waits:?}");
        assert!(waits[0].starts_with("a message of an mpsc channel"), "{waits:?}");
        assert!(waits[1].starts_with("a timer in 3"), "{waits:?}");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn sockets_are_told_with_their_peers() {
    guarded(|| {
        use liten::net::{TcpListener, TcpStream};
        use std::os::fd::AsRawFd;
        let runtime = workers(1);
        let (listener, stream, accepted) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let accepted = listener.accept().await.unwrap().0;
            (listener, stream, accepted)
        });
        let (own, fd) = (listener.local_addr().unwrap(), stream.as_raw_fd());
        let wait = wait_of(&runtime, async move {
            stream.readable().await.unwrap();
            let read = stream.try_read(&mut [0]);
            assert!(read.is_err(), "{read:?}");
            stream.readable().await.unwrap();
        });
        assert_eq!(wait, format!("readable, fd {fd} → {own}"));
        let fd = listener.as_raw_fd();
        let wait = wait_of(&runtime, async move { drop(listener.accept().await) });
        assert_eq!(wait, format!("readable, fd {fd} → {own}"));
        drop(accepted);
    });
}

#[test]
fn a_wait_that_is_over_is_not_told() {
    guarded(|| {
        let runtime = workers(1);
        let lock = Arc::new(Mutex::new(()));
        let held = lock.clone().try_lock_owned().unwrap();
        // The lock is asked for in the poll in which the task then waits for something unknown.
        let task = runtime.spawn(async move {
            {
                let mut locks = std::pin::pin!(lock.lock());
                std::future::poll_fn(|cx| {
                    assert!(locks.as_mut().poll(cx).is_pending());
                    std::task::Poll::Ready(())
                })
                .await;
            }
            std::future::poll_fn(|cx| {
                std::mem::forget(cx.waker().clone());
                std::task::Poll::<()>::Pending
            })
            .await;
        });
        until_waiting(&runtime, 1);
        let dump = runtime.handle().dump();
        assert_eq!(dump.tasks()[0].waits(), [], "{dump}");
        task.abort();
        drop(held);
    });
}

#[test]
fn the_permits_of_a_semaphore_are_counted_with_those_that_were_forgotten() {
    guarded(|| {
        let runtime = workers(1);
        let semaphore = Arc::new(Semaphore::new(5));
        let waits = || {
            let semaphore = semaphore.clone();
            wait_of(&runtime, async move { drop(semaphore.acquire_many(9).await) })
        };
        let mut kept = semaphore.try_acquire_many(3).unwrap();
        let other = semaphore.try_acquire().unwrap();
        kept.merge(other);
        assert_eq!(waits(), "a Semaphore whose 5 permits are out");
        kept.split(2).unwrap().forget();
        let forgotten = " permits are out, 2 of them forgotten and not added again";
        assert_eq!(waits(), format!("a Semaphore whose 5{forgotten}"));
        semaphore.add_permits(3);
        assert_eq!(waits(), "a Semaphore whose 6 permits are out");
        // The task that has collected one gives it back when its abort is through.
        until(|| semaphore.forget_permits(1) == 1);
        assert_eq!(waits(), "a Semaphore whose 5 permits are out");
        drop(kept);
        until(|| semaphore.available_permits() == 5);
    });
}

#[test]
fn a_task_that_reads_and_does_not_go_on_is_named_to_those_that_want_to_write() {
    guarded(|| {
        let runtime = workers(2);
        let lock = Arc::new(RwLock::new(()));
        let theirs = lock.clone();
        let reads = runtime.spawn(async move {
            drop(theirs.read().await);
            let _read = theirs.read().await;
            std::future::pending::<()>().await;
        });
        until_waiting(&runtime, 1);
        let writes = wait_of(&runtime, async move { drop(lock.write().await) });
        assert_eq!(writes, format!("a RwLock to write held by task {}", reads.id()));
        reads.abort();
    });
}

/// From where a task waits is known since there is a page.
fn with_page(test: impl Fn(&Runtime)) {
    guarded(|| {
        let runtime = workers(1);
        let page = Builder::new().observe(runtime.handle()).serve("127.0.0.1:0").unwrap();
        test(&runtime);
        drop(page);
    });
}

/// The line of this file at which such a wait says that it is awaited, or that the channel was made.
fn line_of(wait: &str) -> u32 {
    let place = wait.split_once(" at ").unwrap_or_else(|| panic!("{wait}")).1;
    let rest = place.strip_prefix(file!()).unwrap_or_else(|| panic!("{wait}"));
    rest.split(':').nth(1).unwrap().parse().unwrap()
}

/// Checks that a task with that future says of its wait that it is on the line of the call, or on the next
/// one.
macro_rules! waits_here {
    ($runtime:expr, $future:expr) => {{
        let first = line!();
        let mut waits = waits_of($runtime, async move { _ = $future.await });
        waits.retain(|wait| !wait.starts_with("a timer"));
        assert_eq!(waits.len(), 1, "{waits:?}");
        assert!((first..=first + 1).contains(&line_of(&waits[0])), "{waits:?}");
    }};
}

#[test]
fn a_wait_for_a_lock_says_where_it_is() {
    with_page(|runtime| {
        let mutex = Arc::new(Mutex::new(()));
        let _held = mutex.clone().try_lock_owned().unwrap();
        let owned = mutex.clone();
        waits_here!(runtime, mutex.lock());
        waits_here!(runtime, owned.lock_owned());
        let lock = Arc::new(RwLock::new(()));
        let _held = lock.clone().try_write_owned().unwrap();
        let [read, write, read_owned, write_owned] = std::array::from_fn(|_| lock.clone());
        waits_here!(runtime, read.read());
        waits_here!(runtime, write.write());
        waits_here!(runtime, read_owned.read_owned());
        waits_here!(runtime, write_owned.write_owned());
        let [one, many, one_owned, many_owned] =
            std::array::from_fn(|_| Arc::new(Semaphore::new(0)));
        waits_here!(runtime, one.acquire());
        waits_here!(runtime, many.acquire_many(2));
        waits_here!(runtime, one_owned.acquire_owned());
        waits_here!(runtime, many_owned.acquire_many_owned(2));
        let [notify, owned] = std::array::from_fn(|_| Arc::new(Notify::new()));
        waits_here!(runtime, notify.notified());
        waits_here!(runtime, owned.notified_owned());
        let barrier = Barrier::new(2);
        waits_here!(runtime, barrier.wait());
        let once = SetOnce::<()>::new();
        waits_here!(runtime, once.wait());
        let made = Arc::new(OnceCell::<()>::new());
        let made_elsewhere = made.clone();
        let makes = runtime.spawn(async move { *made_elsewhere.get_or_init(pending).await });
        until(|| runtime.metrics().num_cold_tasks() == 1);
        waits_here!(runtime, made.get_or_init(|| async {}));
        makes.abort();
        // What makes the value waits for something else.
        let (mutex, made) = (Arc::new(Mutex::new(())), OnceCell::<()>::new());
        let _held = mutex.clone().try_lock_owned().unwrap();
        let lock = async move || drop(mutex.lock().await);
        let line = line!() - 1;
        let waits = waits_of(runtime, async move { _ = made.get_or_init(lock).await });
        assert_eq!(line_of(&waits[0]), line, "{waits:?}");
    });
}

#[test]
fn a_wait_for_a_channel_says_where_it_is() {
    with_page(|runtime| {
        let (_sender, mut receiver) = mpsc::channel::<()>(1);
        waits_here!(runtime, receiver.recv());
        let (_sender, mut receiver) = mpsc::unbounded_channel::<()>();
        let mut values = Vec::new();
        waits_here!(runtime, receiver.recv_many(&mut values, 2));
        let (full, _receiver) = mpsc::channel(1);
        full.try_send(()).unwrap();
        let [send, send_timeout, one, many, owned] = std::array::from_fn(|_| full.clone());
        waits_here!(runtime, send.send(()));
        waits_here!(runtime, send_timeout.send_timeout((), Duration::from_secs(3_600)));
        waits_here!(runtime, one.reserve());
        waits_here!(runtime, many.reserve_many(1));
        waits_here!(runtime, owned.reserve_owned());
        let (sender, mut changed) = watch::channel(());
        let (_receiver, mut waits_for) = (changed.clone(), changed.clone());
        let sender = Arc::new(sender);
        let _sender = sender.clone();
        waits_here!(runtime, changed.changed());
        waits_here!(runtime, waits_for.wait_for(|()| false));
        waits_here!(runtime, sender.closed());
        let (_sender, mut receiver) = broadcast::channel::<()>(1);
        waits_here!(runtime, receiver.recv());
        // Of this one it says where it was made.
        let line = line!() + 1;
        let (_sender, receiver) = oneshot::channel::<()>();
        let waits = waits_of(runtime, async move { drop(receiver.await) });
        assert_eq!(line_of(&waits[0]), line, "{waits:?}");
    });
}

/// The other one has no place and is polled last.
#[test]
fn a_place_is_not_that_of_another_future_of_the_task() {
    with_page(|runtime| {
        let (_sender, mut receiver) = mpsc::channel::<()>(1);
        let (other, _receiver) = mpsc::channel::<()>(1);
        let line = line!() + 2;
        let waits = waits_of(runtime, async move {
            let (received, closed) = (pin!(receiver.recv()), pin!(other.closed()));
            _ = select(received, closed).await;
        });
        assert_eq!(line_of(&waits[0]), line, "{waits:?}");
    });
}

/// The task waits for the same thing again, but by a `poll` function, which has no place.
#[test]
fn a_place_goes_with_its_wait() {
    with_page(|runtime| {
        let (_sender, mut receiver) = mpsc::channel::<()>(1);
        let waits = waits_of(runtime, async move {
            let first = poll_fn(|cx| Poll::Ready(pin!(receiver.recv()).poll(cx))).await;
            assert!(first.is_pending());
            poll_fn(|cx| receiver.poll_recv(cx)).await;
        });
        assert!(!waits[0].contains("awaited at"), "{waits:?}");
    });
}
