//! The end of a runtime: everything is dropped, every thread ends, and what outlives it does no harm.

use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::poll_once;
use crate::support::probe::{Bell, Count, OnDrop, Report};
#[cfg(target_os = "linux")]
use crate::support::process::descriptors;
use liten::net::{TcpListener, UdpSocket};
use liten::runtime::{Builder, Handle, LocalRuntime, Runtime};
use liten::task::{JoinHandle, yield_now};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Barrier, mpsc};
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

const FOR_EVER: Duration = Duration::from_secs(100_000);

/// Uses a bit of everything, and leaves tasks, a timer and a socket behind.
fn use_everything(runtime: &Runtime) {
    runtime.block_on(async {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        drop(liten::spawn(async move {
            let _ = socket.recv(&mut [0; 8]).await;
        }));
        drop(liten::spawn(liten::time::sleep(FOR_EVER)));
        drop(liten::spawn(async {
            loop {
                yield_now().await;
            }
        }));
        liten::spawn_blocking(|| {}).await.unwrap();
        liten::spawn(liten::time::sleep(Duration::from_micros(100))).await.unwrap();
    });
}

#[test]
fn a_thousand_runtimes_leave_no_thread_and_no_descriptor() {
    guarded(|| {
        crate::support::process::alone(
            "runtime::shutdown::a_thousand_runtimes_leave_no_thread_and_no_descriptor",
            || {
                let before = threads();
                let mut begin = None;
                for round in 0..1_000 {
                    let runtime = workers(2);
                    let handle = (round % 2 == 0).then(|| runtime.handle().clone());
                    if round % 10 == 0 {
                        use_everything(&runtime);
                    }
                    drop(runtime);
                    let local = LocalRuntime::new().unwrap();
                    local.block_on(async { liten::time::sleep(Duration::from_micros(1)).await });
                    drop(local);
                    drop(handle);
                    if round == 10 {
                        begin = Some(descriptors());
                    }
                }
                assert_eq!(Some(descriptors()), begin);
                until_threads_are(before);
            },
        );
    });
}

/// How many threads this process has.
#[cfg(target_os = "linux")]
fn threads() -> usize {
    crate::support::process::threads("").len()
}

#[cfg(target_os = "linux")]
fn until_threads_are(count: usize) {
    crate::support::process::until_threads_are("", count);
}

/// Elsewhere the test shows only that a thousand runtimes can be made.
#[cfg(not(target_os = "linux"))]
fn threads() -> usize {
    0
}

#[cfg(not(target_os = "linux"))]
fn until_threads_are(_: usize) {}

#[cfg(not(target_os = "linux"))]
fn descriptors() -> usize {
    0
}

#[test]
fn every_task_is_dropped_when_drop_returns() {
    guarded(|| {
        for count in [1, 4] {
            let (runtime, dropped) = (workers(count), Count::default());
            let started = Count::default();
            let task = |kind: usize| {
                let (guard, started) = (OnDrop(dropped.clone()), started.clone());
                runtime.spawn(async move {
                    let _guard = guard;
                    started.add();
                    loop {
                        match kind {
                            0 => std::future::pending().await,
                            1 => yield_now().await,
                            2 => liten::time::sleep(FOR_EVER).await,
                            _ => drop(liten::spawn(async {}).await),
                        }
                    }
                })
            };
            let tasks: Vec<JoinHandle<()>> = (0..400).map(|i| task(i % 4)).collect();
            until(|| started.get() == 400);
            // These are still queued when the end comes, or just about to run.
            let queued: Vec<_> = (0..400).map(|i| task(i % 4)).collect();
            drop(runtime);
            assert_eq!(dropped.get(), 800);
            for task in tasks.into_iter().chain(queued) {
                assert!(task.is_finished());
                assert!(smol::block_on(task).unwrap_err().is_cancelled());
            }
        }
    });
}

#[test]
fn a_poll_that_is_under_way_is_waited_for() {
    guarded(|| {
        let runtime = workers(2);
        let release = occupy(&runtime, 1);
        let (returned, dropped) = (Count::default(), Count::default());
        let (has_returned, guard) = (returned.clone(), OnDrop(dropped.clone()));
        drop(runtime.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        }));
        let dropping = thread::spawn(move || {
            drop(runtime);
            has_returned.add();
        });
        // What is not stuck is dropped all the same.
        until(|| dropped.get() == 1);
        assert_eq!(returned.get(), 0);
        drop(release);
        dropping.join().unwrap();
        assert_eq!(returned.get(), 1);
    });
}

#[test]
fn a_bounded_shutdown_does_not_wait_for_a_stuck_task() {
    guarded(|| {
        let (runtime, dropped, stuck) = (workers(2), Count::default(), Count::default());
        for _ in 0..100 {
            let guard = OnDrop(dropped.clone());
            drop(runtime.spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            }));
        }
        let (release, released) = mpsc::channel::<()>();
        let (guard, begun, is_stuck) =
            (OnDrop(dropped.clone()), Count::default(), OnDrop(stuck.clone()));
        let has_begun = begun.clone();
        let task = runtime.spawn(async move {
            let _guards = (guard, is_stuck);
            has_begun.add();
            let _ = released.recv();
            yield_now().await;
        });
        until(|| begun.get() == 1);
        let start = Instant::now();
        runtime.shutdown_timeout(Duration::from_millis(50));
        assert!(start.elapsed() >= Duration::from_millis(50));
        // The others are dropped by the worker that is not stuck.
        until(|| dropped.get() == 100);
        assert!(stuck.get() == 0 && !task.is_finished());
        drop(release);
        assert!(smol::block_on(task).unwrap_err().is_cancelled());
        until(|| stuck.get() == 1);
    });
}

#[test]
fn a_shutdown_in_the_background_does_not_wait_at_all() {
    guarded(|| {
        let runtime = workers(2);
        let release = occupy(&runtime, 2);
        let (job_release, job_released) = mpsc::channel::<()>();
        let begun = Count::default();
        let has_begun = begun.clone();
        let job = runtime.spawn_blocking(move || {
            has_begun.add();
            job_released.recv()
        });
        until(|| begun.get() == 1);
        runtime.shutdown_background();
        drop((release, job_release));
        assert!(smol::block_on(job).unwrap().is_err(), "the job ends by itself, later");
    });
}

#[test]
fn a_bounded_shutdown_returns_as_soon_as_all_is_done() {
    guarded(|| {
        for timeout in [Duration::from_secs(100_000), Duration::MAX] {
            let (runtime, dropped) = (workers(2), Count::default());
            let guard = OnDrop(dropped.clone());
            drop(runtime.spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            }));
            runtime.shutdown_timeout(timeout);
            assert_eq!(dropped.get(), 1);
        }
    });
}

/// Drops its runtime when it is dropped itself, wherever that is.
fn dropped_by(how: impl FnOnce(Runtime, Handle)) {
    let (runtime, dropped) = (workers(2), Count::default());
    for _ in 0..10 {
        let guard = OnDrop(dropped.clone());
        drop(runtime.spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        }));
    }
    let handle = runtime.handle().clone();
    how(runtime, handle);
    until(|| dropped.get() == 10);
}

#[test]
fn a_runtime_may_be_dropped_anywhere() {
    guarded(|| {
        // By its own task, in the background and not.
        dropped_by(|runtime, handle| drop(handle.spawn(async move { drop(runtime) })));
        dropped_by(|runtime, handle| {
            drop(handle.spawn(async move { runtime.shutdown_background() }))
        });
        dropped_by(|runtime, handle| {
            drop(handle.spawn(async move { runtime.shutdown_timeout(FOR_EVER) }));
        });
        // As part of a task that is dropped by the end that it brings about.
        dropped_by(|runtime, handle| {
            let task = handle.spawn(async move {
                let _runtime = runtime;
                std::future::pending::<()>().await;
            });
            task.abort();
        });
        // By its own root.
        dropped_by(|runtime, handle| handle.block_on(async move { drop(runtime) }));
        // By a job of its own blocking pool.
        dropped_by(|runtime, handle| drop(handle.spawn_blocking(move || drop(runtime))));
        // By a task, a root and a job of another one.
        let other = workers(1);
        dropped_by(|runtime, _| other.block_on(other.spawn(async move { drop(runtime) })).unwrap());
        dropped_by(|runtime, _| other.block_on(async move { drop(runtime) }));
        let pool = other.handle().clone();
        dropped_by(|runtime, _| {
            let job = pool.spawn_blocking(move || drop(runtime));
            other.block_on(job).unwrap();
        });
        // While it is the entered one.
        dropped_by(|runtime, handle| {
            let _entered = handle.enter();
            drop(runtime);
        });
    });
}

#[test]
fn a_handle_of_a_runtime_that_is_gone_cancels_what_it_is_given() {
    guarded(|| {
        let runtime = workers(1);
        let handle = runtime.handle().clone();
        drop(runtime);
        let dropped = Count::default();
        let guard = OnDrop(dropped.clone());
        let task = handle.spawn(async move { drop(guard) });
        assert!(task.is_finished() && dropped.get() == 1);
        assert!(smol::block_on(task).unwrap_err().is_cancelled());
        let guard = OnDrop(dropped.clone());
        let job = handle.spawn_blocking(move || drop(guard));
        assert!(smol::block_on(job).unwrap_err().is_cancelled());
        assert_eq!(dropped.get(), 2);
        assert_eq!(handle.set_worker_threads(2).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!(handle.metrics().num_alive_tasks(), 0);
        // A root needs no worker; but no thread is there to bring it events.
        assert_eq!(handle.block_on(async { 42 }), 42);
        let spawned = handle.block_on(async { liten::spawn(async {}).await });
        assert!(spawned.unwrap_err().is_cancelled());
        assert!(handle.block_on(async { UdpSocket::bind("127.0.0.1:0").await }).is_err());
        let sleep =
            AssertUnwindSafe(|| handle.block_on(async { liten::time::sleep(FOR_EVER).await }));
        assert!(catch_unwind(sleep).is_err());
    });
}

#[test]
fn a_local_runtime_that_is_gone_cancels_what_its_handle_is_given() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let (handle, dropped) = (runtime.handle().clone(), Count::default());
        for _ in 0..10 {
            let guard = OnDrop(dropped.clone());
            drop(handle.spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            }));
        }
        runtime.block_on(yield_now());
        drop(runtime);
        assert_eq!(dropped.get(), 10);
        let guard = OnDrop(dropped.clone());
        let task = handle.spawn(async move { drop(guard) });
        assert!(smol::block_on(task).unwrap_err().is_cancelled());
        assert_eq!(dropped.get(), 11);
    });
}

#[test]
fn wakers_that_outlive_the_runtime_do_nothing() {
    guarded(|| {
        for round in 0..200 {
            let (runtime, dropped) = (workers(2), Count::default());
            let reports: Vec<Report> = (0..8).map(|_| Report::default()).collect();
            for report in &reports {
                let (spy, guard) = (report.spy(), OnDrop(dropped.clone()));
                drop(runtime.spawn(async move {
                    let _guard = guard;
                    spy.await;
                }));
            }
            until(|| reports.iter().all(|report| report.polls() >= 1));
            let wakers: Vec<_> = reports.iter().map(|report| report.waker().unwrap()).collect();
            // Wakes before, during and after the end.
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let wakers = wakers.clone();
                    thread::spawn(move || {
                        for _ in 0..50 * (round % 5) {
                            wakers.iter().for_each(|waker| waker.wake_by_ref());
                        }
                    })
                })
                .collect();
            drop(runtime);
            assert_eq!(dropped.get(), 8);
            let polls: Vec<_> = reports.iter().map(Report::polls).collect();
            wakers.into_iter().for_each(|waker| waker.wake());
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(reports.iter().map(Report::polls).collect::<Vec<_>>(), polls);
        }
    });
}

/// Each task either runs or is cancelled, whichever thread is faster; none is forgotten.
#[test]
fn spawns_that_race_with_the_end_are_run_or_cancelled() {
    guarded(|| {
        for _ in 0..100 {
            let (runtime, dropped) = (workers(2), Count::default());
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (handle, dropped) = (runtime.handle().clone(), dropped.clone());
                    thread::spawn(move || {
                        let spawn = || {
                            let guard = OnDrop(dropped.clone());
                            handle.spawn(async move {
                                let _guard = guard;
                                yield_now().await;
                            })
                        };
                        (0..100).map(|_| spawn()).collect::<Vec<_>>()
                    })
                })
                .collect();
            drop(runtime);
            for thread in threads {
                for task in thread.join().unwrap() {
                    match smol::block_on(task) {
                        Ok(()) => {}
                        Err(error) => assert!(error.is_cancelled()),
                    }
                }
            }
            assert_eq!(dropped.get(), 300);
        }
    });
}

#[test]
fn jobs_that_race_with_the_end_are_run_or_cancelled() {
    guarded(|| {
        for _ in 0..100 {
            let (runtime, dropped) = (workers(1), Count::default());
            let (handle, guards) = (runtime.handle().clone(), dropped.clone());
            let spawning = thread::spawn(move || {
                let spawn = |_| {
                    let guard = OnDrop(guards.clone());
                    handle.spawn_blocking(move || drop(guard))
                };
                (0..20).map(spawn).collect::<Vec<_>>()
            });
            drop(runtime);
            for job in spawning.join().unwrap() {
                if let Err(error) = smol::block_on(job) {
                    assert!(error.is_cancelled());
                }
            }
            assert_eq!(dropped.get(), 20);
        }
    });
}

/// Ten thousand tasks, each of which owns the next one.
#[test]
fn a_long_chain_of_tasks_is_dropped_without_recursion() {
    fn chain(length: usize, deepest: Bell) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            let mut set = liten::task::JoinSet::new();
            if length == 0 {
                deepest.ring();
                std::future::pending::<()>().await;
            }
            set.spawn(chain(length - 1, deepest));
            set.join_next().await;
        })
    }

    guarded(|| {
        for aborted in [false, true] {
            let (runtime, deepest) = (workers(2), Bell::default());
            let task = runtime.spawn(chain(10_000, deepest.clone()));
            runtime.block_on(deepest.wait());
            if aborted {
                task.abort();
                runtime.block_until_completion();
            }
            drop(runtime);
            assert!(smol::block_on(task).unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn destructors_at_the_end_may_spawn_wake_and_abort() {
    struct Restless(Bell, Option<JoinHandle<()>>, Count);
    impl Drop for Restless {
        fn drop(&mut self) {
            self.0.ring();
            if let Some(other) = self.1.take() {
                other.abort();
            }
            assert!(Handle::try_current().is_ok(), "destructors run inside the runtime");
            let guard = OnDrop(self.2.clone());
            drop(liten::spawn(async move { drop(guard) }));
            let guard = OnDrop(self.2.clone());
            drop(liten::spawn_blocking(move || drop(guard)));
            drop(Handle::current().spawn(async {}));
        }
    }

    guarded(|| {
        for count in [1, 3] {
            let (runtime, dropped, begun) = (workers(count), Count::default(), Count::default());
            let mut previous = None;
            for _ in 0..50 {
                let (bell, begun) = (Bell::default(), begun.clone());
                let restless = Restless(bell.clone(), previous.take(), dropped.clone());
                previous = Some(runtime.spawn(async move {
                    let restless = restless;
                    begun.add();
                    restless.0.wait().await;
                    std::future::pending::<()>().await;
                }));
            }
            until(|| begun.get() == 50);
            drop(runtime);
            assert_eq!(dropped.get(), 100);
        }
    });
}

#[test]
fn a_task_that_spawns_for_ever_does_not_put_off_the_end() {
    fn again(born: Count) {
        drop(liten::spawn(async move {
            born.add();
            again(born.clone());
            again(born.clone());
            yield_now().await;
        }));
    }

    guarded(|| {
        let (runtime, born) = (workers(2), Count::default());
        {
            let _entered = runtime.enter();
            again(born.clone());
        }
        until(|| born.get() > 1_000);
        drop(runtime);
        let end = born.get();
        yield_a_while();
        assert_eq!(born.get(), end);
    });
}

fn yield_a_while() {
    for _ in 0..100 {
        thread::yield_now();
    }
}

/// Another thread is in `block_on`; what it waits for is cancelled, so it returns.
#[test]
fn a_root_that_waits_for_a_task_learns_of_the_end() {
    guarded(|| {
        let (runtime, begun) = (workers(2), Count::default());
        let (handle, has_begun) = (runtime.handle().clone(), begun.clone());
        let waiting = thread::spawn(move || {
            handle.block_on(async {
                let task = liten::spawn(async move {
                    has_begun.add();
                    std::future::pending::<()>().await;
                });
                task.await
            })
        });
        until(|| begun.get() == 1);
        drop(runtime);
        assert!(waiting.join().unwrap().unwrap_err().is_cancelled());
    });
}

#[test]
fn sockets_that_outlive_the_runtime_return_errors() {
    guarded(|| {
        let runtime = workers(1);
        let (listener, (client, server)) = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            (listener, crate::support::loopback::tcp_pair().await)
        });
        drop(runtime);
        let (other, address) = (workers(1), listener.local_addr().unwrap());
        other.block_on(async {
            assert!(listener.accept().await.is_err());
            assert!(client.readable().await.is_err());
            assert!(server.writable().await.is_err());
            // The descriptors themselves are whole.
            let listener = listener.into_std().unwrap();
            listener.set_nonblocking(true).unwrap();
            let listener = TcpListener::from_std(listener).unwrap();
            let mut accepting = Box::pin(listener.accept());
            assert!(poll_once(&mut accepting).await.is_none());
            let _client = std::net::TcpStream::connect(address).unwrap();
            accepting.await.unwrap();
        });
    });
}

#[test]
fn jobs_are_waited_for_and_queued_ones_are_cancelled() {
    guarded(|| {
        let runtime =
            Builder::new_multi_thread().worker_threads(1).max_blocking_threads(1).build().unwrap();
        let (done, begun) = (Count::default(), Count::default());
        let (counted, has_begun) = (done.clone(), begun.clone());
        let (release, released) = mpsc::channel::<()>();
        let running = runtime.spawn_blocking(move || {
            has_begun.add();
            let _ = released.recv();
            counted.add();
        });
        let counted = done.clone();
        let queued = runtime.spawn_blocking(move || counted.add());
        until(|| begun.get() == 1);
        let handle = runtime.handle().clone();
        let ends = thread::spawn(move || drop(runtime));
        // The pool is closed before the scheduler.
        until(|| handle.set_worker_threads(1).is_err());
        // Time in which it would end that does not wait.
        thread::sleep(Duration::from_millis(20));
        assert!(!ends.is_finished(), "it waits for the job");
        drop(release);
        ends.join().unwrap();
        assert_eq!(done.get(), 1);
        smol::block_on(running).unwrap();
        assert!(smol::block_on(queued).unwrap_err().is_cancelled());
    });
}

/// Its destructor returns when those of all the others have begun.
struct Meets(Arc<Barrier>);

impl Drop for Meets {
    fn drop(&mut self) {
        self.0.wait();
    }
}

impl Meets {
    /// Spawns so many of them, each in a task that waits for ever. Their wakers, once all wait.
    fn spawn(runtime: &Runtime, count: usize) -> Vec<Waker> {
        let barrier = Arc::new(Barrier::new(count));
        let reports: Vec<_> = (0..count)
            .map(|_| {
                let (report, meets) = (Report::default(), Meets(barrier.clone()));
                let spy = report.spy();
                drop(runtime.spawn(async move {
                    let _meets = meets;
                    spy.await;
                }));
                report
            })
            .collect();
        until(|| runtime.metrics().num_cold_tasks() == count);
        reports.iter().map(|report| report.waker().expect("polled")).collect()
    }
}

/// No worker keeps waiting tasks to itself while it runs the destructor of one.
#[test]
fn destructors_of_waiting_tasks_may_wait_for_each_other() {
    guarded(|| {
        for count in [2, 4] {
            let runtime = workers(count);
            Meets::spawn(&runtime, count);
            drop(runtime);
        }
    });
}

/// As above, for tasks that were woken, but whose home worker is stuck.
#[test]
fn destructors_of_woken_tasks_may_wait_for_each_other() {
    guarded(|| {
        let runtime = workers(2);
        let stuck = occupy(&runtime, 1);
        // All by the other worker, to which a wake sends them back.
        let wakers = Meets::spawn(&runtime, 2);
        let stuck_too = occupy(&runtime, 1);
        wakers.into_iter().for_each(Waker::wake);
        let metrics = runtime.metrics();
        runtime.shutdown_background();
        drop((stuck, stuck_too));
        until(|| metrics.num_alive_tasks() == 0);
    });
}
