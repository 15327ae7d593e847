//! A runtime with nothing to do does nothing: no thread of it wakes up, none uses the CPU.

use crate::support::guard::{exactly, guarded, named, until};
use crate::support::probe::Bell;
use crate::support::process::{Thread, reads_and_writes, threads};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::net::{TcpListener, UdpSocket, UnixDatagram};
use liten::runtime::{LocalRuntime, Runtime};
use liten::task::block_in_place;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A runtime whose blocking pool keeps its threads, because the end of one is something that it does.
fn staying(workers: usize, name: &str) -> Runtime {
    let mut builder = exactly(workers);
    builder.thread_name(name).thread_keep_alive(Duration::from_secs(1_000)).build().unwrap()
}

/// What a thread has done so far.
type Trace = (u32, String, u64, u64);

fn trace(prefixes: &[&str]) -> Vec<Trace> {
    let all = prefixes.iter().flat_map(|prefix| threads(prefix));
    all.map(|Thread { id, name, sleeps, cpu }| (id, name, sleeps, cpu)).collect()
}

/// Whether each of the threads sleeps, and none waits for a processor.
fn all_sleep(threads: &[Trace]) -> bool {
    threads.iter().all(|(id, ..)| {
        let status = std::fs::read_to_string(format!("/proc/self/task/{id}/status"));
        // A thread that has ended since then has not slept.
        status.is_ok_and(|status| status.contains("\nState:\tS"))
    })
}

/// Waits until the threads have come to rest, and then for `time`, in which none of them may do anything.
///
/// If one does, that may be the rest of what it did before: on a busy machine a thread may not be let run
/// for long just where it falls asleep. So there are some attempts. What wakes up again and again does so in
/// each.
pub(crate) fn assert_idle(prefixes: &[&str], time: Duration) {
    const ATTEMPTS: usize = 3;
    for attempt in 1..=ATTEMPTS {
        let mut before = trace(prefixes);
        let mut looks = 0;
        // Looks, not time: while this thread gets its turns, those that have something to do get theirs.
        until(|| {
            let now = trace(prefixes);
            looks = if now == before && all_sleep(&now) { looks + 1 } else { 0 };
            before = now;
            looks >= 200
        });
        thread::sleep(time);
        let now = trace(prefixes);
        if now == before {
            return;
        }
        assert!(
            attempt < ATTEMPTS,
            "(id, name, sleeps, ns of CPU) of each thread, now: {now:?}, and before: {before:?}"
        );
    }
}

/// Lets all parts of the runtime do something.
fn use_everything(runtime: &Runtime) {
    let tasks: Vec<_> = (0..1_000).map(|_| runtime.spawn(liten::task::yield_now())).collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
        for _ in 0..5 {
            liten::spawn(liten::time::sleep(Duration::from_millis(1))).await.unwrap();
        }
        let sleep = liten::time::timeout(Duration::from_secs(100_000), async {});
        sleep.await.unwrap();
        liten::spawn_blocking(|| {}).await.unwrap();
        let (client, server) = crate::support::loopback::tcp_pair().await;
        client.try_write(b"x").unwrap();
        server.readable().await.unwrap();
    });
}

#[test]
fn runtimes_with_nothing_to_do_sleep() {
    guarded(|| {
        // Fresh.
        let fresh = staying(4, "idlefr");
        // After work.
        let used = staying(4, "idleus");
        use_everything(&used);
        // With tasks that wait: for a connection, for a datagram, for a time that is far away.
        let waiting = staying(4, "idlewa");
        use_everything(&waiting);
        let bell = Bell::default();
        for _ in 0..100 {
            let waits = bell.clone();
            drop(waiting.spawn(async move { waits.wait().await }));
        }
        drop(waiting.spawn(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let _ = listener.accept().await;
        }));
        drop(waiting.spawn(async {
            let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let _ = socket.recv(&mut [0; 8]).await;
        }));
        drop(waiting.spawn(async { liten::time::sleep(Duration::from_secs(100_000)).await }));
        // With a thread in block_on, and one in a LocalRuntime.
        let (root, local) = (Bell::default(), Bell::default());
        let (waits, handle) = (root.clone(), used.handle().clone());
        let root_thread = thread::Builder::new().name("idlert".into());
        let root_thread = root_thread.spawn(move || handle.block_on(waits.wait())).unwrap();
        let waits = local.clone();
        let local_thread = thread::Builder::new().name("idlelo".into()).spawn(move || {
            let runtime = LocalRuntime::new().unwrap();
            drop(runtime.spawn_local(std::future::pending::<()>()));
            runtime.block_on(waits.wait());
        });
        until(|| root.waiting() == 1 && local.waiting() == 1);

        assert_idle(&["idlefr", "idleus", "idlewa", "idlert", "idlelo"], Duration::from_secs(2));

        root.ring();
        local.ring();
        root_thread.join().unwrap();
        local_thread.unwrap().join().unwrap();
        drop((fresh, used, waiting));
    });
}

/// The watchdog looks after a worker that is stuck; when that one is free again, all threads go back to
/// sleep.
#[test]
fn after_a_worker_was_stuck_all_sleep_again() {
    guarded(|| {
        let runtime = staying(2, "idlest");
        let (release, released) = mpsc::channel::<()>();
        let task = runtime.spawn(async move {
            drop(liten::spawn(async {}));
            let _ = released.recv();
        });
        runtime.block_on(async { liten::time::sleep(Duration::from_millis(50)).await });
        drop(release);
        runtime.block_on(task).unwrap();
        assert_idle(&["idlest"], Duration::from_millis(500));
        // And is there when it is called.
        use_everything(&runtime);
        assert_idle(&["idlest"], Duration::from_millis(500));
    });
}

/// A worker that blocks in place while the others have nothing to do is no reason for the driver thread to
/// look at them again and again.
#[test]
fn a_worker_that_blocks_in_place_wakes_no_thread_of_an_idle_runtime() {
    guarded(|| {
        let runtime = named(2, "idleip");
        let (release, released) = mpsc::channel::<()>();
        let (begin, begun) = mpsc::channel();
        let task = runtime.spawn(async move {
            block_in_place(|| {
                begin.send(()).unwrap();
                let _ = released.recv();
            });
        });
        begun.recv().unwrap();
        assert_idle(&["idleip"], Duration::from_millis(500));
        drop(release);
        runtime.block_on(task).unwrap();
        assert_idle(&["idleip"], Duration::from_millis(500));
    });
}

/// The threads of spares that are not needed sleep, and so does the driver thread.
#[test]
fn threads_that_rest_wake_no_thread_and_are_not_woken() {
    guarded(|| {
        let mut builder = exactly(2);
        let runtime = builder.max_spare_workers(3).thread_name("idlers").build().unwrap();
        for _ in 0..3 {
            drop(crate::scheduler::steal::occupy(&runtime, 5));
            until(|| runtime.metrics().num_resting_workers() == 3);
            assert_idle(&["idlers"], Duration::from_millis(500));
        }
        assert_eq!(
            threads("idlers").len(),
            6,
            "two workers, three that rest, and the driver thread"
        );
    });
}

/// Many timers far away cost nothing while they wait.
#[test]
fn a_hundred_thousand_sleeping_tasks_use_no_cpu() {
    guarded(|| {
        let runtime = named(2, "idlesl");
        for i in 0..100_000u64 {
            // In more than an hour, all at different moments.
            let duration = Duration::from_secs(4_000) + Duration::from_micros(i * 1_013);
            drop(runtime.spawn(async move { liten::time::sleep(duration).await }));
        }
        until(|| runtime.metrics().num_cold_tasks() == 100_000);
        assert_idle(&["idlesl"], Duration::from_secs(1));
    });
}

const ROUNDS: u64 = 2_000;

/// Two events per round: a question and its answer, between two tasks.
pub(crate) async fn play(rounds: u64) {
    let (mut client, mut server) = crate::support::loopback::tcp_pair().await;
    let echo = liten::spawn(async move {
        let mut buf = [0; 8];
        while server.read_exact(&mut buf).await.is_ok() {
            server.write_all(&buf).await.unwrap();
        }
    });
    for _ in 0..rounds {
        let mut buf = [0; 8];
        client.write_all(b"question").await.unwrap();
        client.read_exact(&mut buf).await.unwrap();
    }
    drop(client);
    echo.await.unwrap();
}

/// An event that the worker itself has caused ends its wait in the poller by itself: nothing is written to
/// wake it up, and each wait brings an event. The calls of sockets are not among the reads and writes that
/// the system counts; those of what wakes the poller are.
#[test]
fn an_event_costs_no_detour_through_the_poller() {
    guarded(|| {
        let runtime = named(1, "idledt");
        until(|| threads("idledt-").len() == 1);
        let worker = threads("idledt-")[0].id;
        let counts = || [reads_and_writes(worker), runtime.metrics().worker_park_count(0)];
        let most = [ROUNDS / 2, 2 * ROUNDS + ROUNDS / 2];
        let mut all: Vec<[u64; 2]> = Vec::new();
        // If the system lets no thread run for long, the driver thread takes part: then once more.
        while all.last().is_none_or(|cost| cost.iter().zip(most).any(|(cost, most)| *cost > most)) {
            assert!(all.len() < 10, "{ROUNDS} rounds; reads and writes, waits: {all:?}");
            let before = counts();
            runtime.block_on(runtime.spawn(play(ROUNDS))).unwrap();
            let after = counts();
            all.push([after[0] - before[0], after[1] - before[1]]);
        }
        // It did wait in the poller, or there was no event to count.
        assert!(all[all.len() - 1][1] > ROUNDS / 2, "{all:?}");
    });
}

/// The worker that waits in the poller runs what its events wake: nothing goes through the driver thread,
/// which only looks after them now and then.
#[test]
fn an_event_costs_no_change_of_thread() {
    guarded(|| {
        let runtime = named(1, "idleec");
        let driver = || {
            let threads = threads("idleec-driver");
            threads.iter().map(|thread| thread.sleeps).sum::<u64>()
        };
        let mut counts = Vec::new();
        // One sleep every few milliseconds is the driver thread's own business, which
        // makes many if the system lets no thread run for long: then once more.
        while counts.last().is_none_or(|&sleeps| sleeps >= ROUNDS / 2) {
            assert!(counts.len() < 10, "{counts:?} times in {ROUNDS} rounds");
            let before = driver();
            runtime.block_on(runtime.spawn(play(ROUNDS))).unwrap();
            counts.push(driver() - before);
        }
    });
}

/// The system has room for the next datagram again when a receiver takes one. As long as no task has found
/// the socket full, no thread wakes for that.
#[test]
fn a_datagram_that_a_receiver_takes_wakes_no_thread_of_its_sender() {
    guarded(|| {
        let runtime = named(2, "idletk");
        let inet = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let (unix, other) = std::os::unix::net::UnixDatagram::pair().unwrap();
        let senders = runtime.block_on(async {
            let sender = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            sender.send_to(b"x", inet.local_addr().unwrap()).await.unwrap();
            let other = UnixDatagram::from_std(other).unwrap();
            other.send(b"x").await.unwrap();
            (sender, other)
        });
        assert_idle(&["idletk-"], Duration::ZERO);
        let before = trace(&["idletk-"]);
        inet.recv(&mut [0; 8]).unwrap();
        unix.recv(&mut [0; 8]).unwrap();
        thread::sleep(Duration::from_millis(50));
        assert_eq!(trace(&["idletk-"]), before);
        drop(senders);
    });
}

/// The idle workers attend the poller; nothing else is to be done.
#[test]
fn before_the_first_task_and_the_first_event_there_is_no_driver_thread() {
    guarded(|| {
        let runtime = named(2, "idlend");
        let driver = || threads("idlend-driver").len();
        until(|| crate::support::process::thread_names("idlend").len() == 2);
        assert_eq!(runtime.block_on(async { 7 }), 7);
        assert_eq!(driver(), 0);
        runtime.block_on(runtime.spawn(async {})).unwrap();
        until(|| driver() == 1);
    });
}
