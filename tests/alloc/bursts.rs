//! What is kept of the memory that a burst needed: little while its runtime is quiet, and next to nothing
//! when it has ended.

use super::{ALONE, BYTES, runtime};
use liten::net::{TcpListener, TcpStream, UdpSocket};
use liten::runtime::{Builder, LocalRuntime, Runtime};
use liten::sync::{Mutex, Notify, oneshot};
use liten::task::{JoinHandle, JoinSet, spawn_local, yield_now};
use liten::time::{Duration, Instant, sleep, sleep_until};
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a quiet runtime may keep beside what it has from the start: two chains per size and thread, and
/// places in queues. Without a bound, each size alone would be a megabyte.
const QUIET: usize = 256 << 10;

/// The same, for a runtime that has ended: what this thread keeps, and those of its pool that end late.
const ENDED: usize = 192 << 10;

const MANY: usize = 10_000;

type Burst = Pin<Box<dyn Future<Output = ()>>>;

async fn join<T>(tasks: Vec<JoinHandle<T>>) {
    for task in tasks {
        let _ = task.await;
    }
}

/// A task of a size.
async fn sized<const SIZE: usize>() {
    let bytes = [1_u8; SIZE];
    yield_now().await;
    black_box(bytes);
}

async fn tasks_of<const SIZE: usize>() {
    join((0..MANY).map(|_| liten::spawn(sized::<SIZE>())).collect()).await;
}

async fn tasks_of_many_sizes() {
    tasks_of::<16>().await;
    tasks_of::<80>().await;
    tasks_of::<144>().await;
    tasks_of::<208>().await;
    tasks_of::<272>().await;
    tasks_of::<336>().await;
}

async fn tasks_of_a_task() {
    liten::spawn(tasks_of_many_sizes()).await.unwrap();
}

async fn channels() {
    let tasks = |index: usize| {
        let (sender, receiver) = oneshot::channel();
        let task = liten::spawn(async move { receiver.await.unwrap() });
        sender.send(index).unwrap();
        task
    };
    join((0..MANY).map(tasks).collect()).await;
}

async fn timers_of_one_moment() {
    let at = Instant::now() + Duration::from_millis(100);
    join((0..5 * MANY).map(|_| liten::spawn(sleep_until(at))).collect()).await;
}

async fn timers_that_are_given_up() {
    let long = Duration::from_secs(1_000);
    let tasks: Vec<_> = (0..MANY).map(|_| liten::spawn(sleep(long))).collect();
    sleep(Duration::from_millis(5)).await;
    tasks.iter().for_each(JoinHandle::abort);
    join(tasks).await;
}

async fn waits() {
    let (lock, notify) = (Arc::new(Mutex::new(())), Arc::new(Notify::new()));
    let held = lock.clone().lock_owned().await;
    let tasks = |_| {
        let (lock, notify) = (lock.clone(), notify.clone());
        liten::spawn(async move {
            drop(lock.lock().await);
            notify.notified().await;
        })
    };
    let tasks: Vec<_> = (0..MANY).map(tasks).collect();
    drop(held);
    while tasks.iter().any(|task| !task.is_finished()) {
        notify.notify_waiters();
        yield_now().await;
    }
    join(tasks).await;
}

async fn blocking_jobs() {
    join((0..2 * MANY).map(|index| liten::spawn_blocking(move || index)).collect()).await;
}

async fn sets() {
    let mut set = JoinSet::new();
    (0..MANY).for_each(|_| drop(set.spawn(sized::<40>())));
    while set.join_next().await.is_some() {}
}

async fn sockets() {
    const SOCKETS: usize = 200;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut open = Vec::new();
    for _ in 0..SOCKETS {
        let (client, server) =
            liten::join!(TcpStream::connect(address), async { listener.accept().await.unwrap().0 });
        open.push((client.unwrap(), server, UdpSocket::bind("127.0.0.1:0").await.unwrap()));
    }
    let wait = |(client, server, udp): (TcpStream, TcpStream, UdpSocket)| {
        liten::spawn(async move {
            udp.writable().await.unwrap();
            server.writable().await.unwrap();
            drop(server);
            client.readable().await.unwrap();
        })
    };
    join(open.into_iter().map(wait).collect()).await;
}

async fn local_tasks() {
    liten::task::LocalSet::new()
        .run_until(async {
            join((0..MANY).map(|_| spawn_local(sized::<100>())).collect()).await;
        })
        .await;
}

/// A kind of burst: its name, and what makes one.
type Kind = (&'static str, fn() -> Burst);

/// Tasks that wait beside a burst, so that no list of tasks or timers is ever empty.
const WAITING: usize = 64;

fn spawn_waiting(count: usize) {
    (0..count).for_each(|_| drop(liten::spawn(sleep(Duration::from_secs(3_600)))));
}

fn bursts() -> Vec<Kind> {
    macro_rules! list {
        ($($burst:ident),* $(,)?) => {
            vec![$((stringify!($burst), || Box::pin($burst()) as Burst)),*]
        };
    }
    list![
        tasks_of_many_sizes,
        tasks_of_a_task,
        channels,
        timers_of_one_moment,
        timers_that_are_given_up,
        waits,
        blocking_jobs,
        sets,
        sockets,
        local_tasks,
    ]
}

fn bytes() -> usize {
    BYTES.load(Ordering::SeqCst)
}

/// Waits until no more than `most` bytes have come to those of `before`; what is too much if that takes too
/// long.
/// `pass` lets time pass.
fn kept(before: usize, most: usize, mut pass: impl FnMut()) -> Option<usize> {
    const LOOKS: usize = 200;
    for _ in 0..LOOKS {
        if bytes() <= before + most {
            return None;
        }
        pass();
    }
    Some(bytes() - before)
}

/// Lets the runtime come to rest. The buffers that a deque has outgrown are garbage of crossbeam's collector
/// then, which frees them when some thread uses a deque: this one does.
fn pass() {
    /// The collector looks for what it can free once in so many uses.
    const USES: usize = 128;
    const LOOKS: usize = 8;
    std::thread::sleep(Duration::from_millis(50));
    let deque = crossbeam_deque::Worker::<()>::new_fifo();
    let stealer = deque.stealer();
    for _ in 0..USES * LOOKS {
        assert!(stealer.steal().is_empty());
    }
}

#[test]
fn a_burst_leaves_little_in_a_quiet_runtime_and_in_one_that_has_ended() {
    let _alone = ALONE.lock();
    let mut wrong = Vec::new();
    for ((name, burst), beside) in bursts().into_iter().flat_map(|it| [(it, 0), (it, WAITING)]) {
        let before = bytes();
        let runtime =
            Builder::new_multi_thread().worker_threads(2).max_blocking_threads(8).build().unwrap();
        // What is made once.
        runtime.block_on(async { liten::spawn(sleep(Duration::from_millis(1))).await }).unwrap();
        runtime.block_on(async { liten::spawn_blocking(|| {}).await }).unwrap();
        runtime.block_on(async {
            spawn_waiting(beside);
            sleep(Duration::from_millis(10)).await;
        });
        let fresh = bytes();
        for _ in 0..2 {
            // Some of them come in the middle of the burst.
            let late = runtime.spawn(async move {
                yield_now().await;
                spawn_waiting(beside);
            });
            runtime.block_on(burst());
            runtime.block_on(late).unwrap();
        }
        let quiet = kept(fresh, QUIET, pass);
        drop(runtime);
        let ended = kept(before, ENDED, pass);
        wrong.extend([(name, beside, "quiet", quiet), (name, beside, "ended", ended)]);
    }
    wrong.retain(|(.., kept)| kept.is_some());
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The spawning thread is no worker, and waits for its tasks elsewhere.
#[test]
fn a_burst_from_outside_leaves_little() {
    let _alone = ALONE.lock();
    let before = bytes();
    let runtime = runtime(2);
    runtime.block_on(async { liten::spawn(async {}).await }).unwrap();
    let fresh = bytes();
    for _ in 0..2 {
        let tasks: Vec<_> = (0..MANY).map(|_| runtime.spawn(sized::<100>())).collect();
        let large: Vec<_> = (0..MANY).map(|_| runtime.spawn(sized::<300>())).collect();
        while !tasks.iter().chain(&large).all(JoinHandle::is_finished) {
            std::thread::yield_now();
        }
    }
    assert_eq!(kept(fresh, QUIET, pass), None);
    drop(runtime);
    assert_eq!(kept(before, ENDED, pass), None);
}

/// A runtime whose only thread is this one: `block_on` calls it.
fn on_one_thread(make: impl Fn() -> Box<dyn Alone>) {
    let _alone = ALONE.lock();
    let mut wrong = Vec::new();
    for (name, burst) in bursts() {
        let before = bytes();
        let runtime = make();
        runtime.block_on(Box::pin(async { sleep(Duration::from_millis(1)).await }));
        let fresh = bytes();
        // One after the other, as a program does that calls `block_on` again and again.
        for _ in 0..2 {
            runtime.block_on(burst());
        }
        let between = kept(fresh, QUIET, || std::thread::sleep(Duration::from_millis(10)));
        // And in one call, whose thread sleeps again and again.
        runtime.block_on(Box::pin(async move {
            burst().await;
            sleep(Duration::from_millis(1)).await;
        }));
        let mut inside = None;
        runtime.block_on(Box::pin(async {
            for (_, burst) in bursts().into_iter().filter(|(other, _)| *other == name) {
                burst().await;
            }
            for _ in 0..200 {
                inside = (bytes() > fresh + QUIET).then(|| bytes() - fresh);
                if inside.is_none() {
                    break;
                }
                sleep(Duration::from_millis(10)).await;
            }
        }));
        drop(runtime);
        let ended = kept(before, ENDED, pass);
        wrong.extend([
            (name, "between", between),
            (name, "inside", inside),
            (name, "ended", ended),
        ]);
    }
    wrong.retain(|(.., kept)| kept.is_some());
    assert!(wrong.is_empty(), "{wrong:?}");
}

trait Alone {
    fn block_on(&self, future: Pin<Box<dyn Future<Output = ()> + '_>>);
}

impl Alone for Runtime {
    fn block_on(&self, future: Pin<Box<dyn Future<Output = ()> + '_>>) {
        Runtime::block_on(self, future);
    }
}

impl Alone for LocalRuntime {
    fn block_on(&self, future: Pin<Box<dyn Future<Output = ()> + '_>>) {
        LocalRuntime::block_on(self, future);
    }
}

#[test]
fn a_burst_leaves_little_in_a_runtime_without_workers() {
    let builder = || Builder::new_current_thread().max_blocking_threads(8).build();
    on_one_thread(|| Box::new(builder().unwrap()));
}

#[test]
fn a_burst_leaves_little_in_a_local_runtime() {
    // With more threads, what is kept would be that of the threads, which live on for some time.
    let builder = || Builder::new_current_thread().max_blocking_threads(8).build_local();
    on_one_thread(|| Box::new(builder().unwrap()));
}
