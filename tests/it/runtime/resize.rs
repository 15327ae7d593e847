//! Workers come and go while the runtime runs, and nothing is lost.

use crate::scheduler::steal::occupy;
use crate::support::guard::{guarded, named, until, workers};
use crate::support::loopback::tcp_pair;
use crate::support::probe::{Bell, Count};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::runtime::{Builder, Handle, LocalRuntime, Runtime};
use std::cell::RefCell;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

/// Waits until `count` workers are at work, and the threads of the others rest: of those there have been
/// `most` at a time.
fn until_at_work(runtime: &Runtime, count: usize, most: usize) {
    until(|| runtime.metrics().num_resting_workers() == most - count);
}

/// Waits until each of the workers `0..most` has one thread, once a task has been run.
#[cfg(target_os = "linux")]
fn until_threads(prefix: &str, most: usize) {
    let mut expected: Vec<_> = (0..most).map(|index| format!("{prefix}-{index}")).collect();
    expected.push(format!("{prefix}-driver"));
    expected.sort();
    until(|| crate::support::process::thread_names(prefix) == expected);
}

/// Elsewhere the names of threads cannot be listed.
#[cfg(not(target_os = "linux"))]
fn until_threads(_: &str, _: usize) {}

/// Tasks of all kinds, until told to stop; returns how many tasks it has started.
async fn load(stop: Arc<AtomicBool>, ended: Count) -> usize {
    let mut started = 0;
    let (mut client, mut server) = tcp_pair().await;
    let echo = liten::spawn(async move {
        let mut byte = [0];
        while server.read(&mut byte).await.unwrap() == 1 {
            server.write_all(&byte).await.unwrap();
        }
    });
    while !stop.load(Ordering::Relaxed) {
        for kind in 0..30 {
            let ended = ended.clone();
            started += 1;
            drop(liten::spawn(async move {
                match kind % 3 {
                    0 => liten::task::yield_now().await,
                    1 => liten::time::sleep(Duration::from_micros(300)).await,
                    _ => liten::spawn(async {}).await.unwrap(),
                }
                ended.add();
            }));
        }
        client.write_all(b"x").await.unwrap();
        client.read_exact(&mut [0]).await.unwrap();
        liten::task::yield_now().await;
    }
    drop(client);
    echo.await.unwrap();
    started
}

#[test]
fn workers_come_and_go_under_load() {
    guarded(|| {
        let runtime = named(1, "grows");
        let (stop, ended) = (Arc::new(AtomicBool::new(false)), Count::default());
        let loads: Vec<_> =
            (0..4).map(|_| runtime.spawn(load(Arc::clone(&stop), ended.clone()))).collect();
        for count in [8, 2, 4, 1, 3, 1, 8, 1] {
            runtime.handle().set_worker_threads(count).unwrap();
            assert_eq!(runtime.metrics().num_workers(), count);
            until_at_work(&runtime, count, 8);
            // The load goes on with any number of workers.
            let now = ended.get();
            until(|| ended.get() > now + 100);
        }
        stop.store(true, Ordering::Relaxed);
        let mut started = 0;
        for load in loads {
            started += runtime.block_on(load).unwrap();
        }
        runtime.block_until_completion();
        assert_eq!(ended.get(), started);
        until_threads("grows", 8);
    });
}

/// The tasks wait; the workers that polled them last are gone when they are woken.
#[test]
fn tasks_of_workers_that_have_left_are_woken_all_the_same() {
    guarded(|| {
        let runtime = named(8, "homes");
        for _ in 0..10 {
            let (bell, ended) = (Bell::default(), Count::default());
            for _ in 0..1_000 {
                let (waits, ended) = (bell.clone(), ended.clone());
                drop(runtime.spawn(async move {
                    waits.wait().await;
                    ended.add();
                }));
            }
            until(|| bell.waiting() == 1_000);
            runtime.handle().set_worker_threads(1).unwrap();
            until_at_work(&runtime, 1, 8);
            bell.ring();
            runtime.block_until_completion();
            assert_eq!(ended.get(), 1_000);
            runtime.handle().set_worker_threads(8).unwrap();
        }
    });
}

/// Wakes, spawns and resizes at the same time, from several threads.
#[test]
fn resizes_that_race_with_wakes_lose_nothing() {
    guarded(|| {
        let runtime = workers(4);
        let stop = Arc::new(AtomicBool::new(false));
        thread::scope(|scope| {
            for seed in 0..2 {
                let (handle, stop) = (runtime.handle().clone(), Arc::clone(&stop));
                scope.spawn(move || {
                    let mut count = seed;
                    while !stop.load(Ordering::Relaxed) {
                        count = (count * 5 + 3) % 8;
                        handle.set_worker_threads(1 + count).unwrap();
                    }
                });
            }
            for _ in 0..300 {
                let bell = Bell::default();
                let tasks: Vec<_> = (0..20)
                    .map(|_| {
                        let waits = bell.clone();
                        runtime.spawn(async move {
                            liten::task::yield_now().await;
                            waits.wait().await;
                        })
                    })
                    .collect();
                let rings = runtime.spawn(async move {
                    liten::time::sleep(Duration::from_micros(100)).await;
                    bell.ring();
                });
                for task in tasks {
                    smol::block_on(task).unwrap();
                }
                smol::block_on(rings).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

/// The call does not wait for workers that are in the middle of something; they leave when they come back.
#[test]
fn a_worker_that_is_stuck_leaves_later() {
    guarded(|| {
        let runtime = named(4, "stuck");
        let release = occupy(&runtime, 4);
        runtime.handle().set_worker_threads(1).unwrap();
        let tasks: Vec<_> = (0..100).map(|i| runtime.spawn(async move { i })).collect();
        drop(release);
        let sum = runtime.block_on(async {
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 4_950);
        until_at_work(&runtime, 1, 4);
    });
}

/// What a thread does when it ends, and its thread locals with it: it is no worker any more, and the runtime
/// is ending.
struct Parting {
    bell: Bell,
    handle: Handle,
    ended: Count,
}

impl Drop for Parting {
    fn drop(&mut self) {
        self.bell.ring();
        assert!(self.handle.spawn(async {}).is_finished(), "it is cancelled at once");
        assert!(self.handle.set_worker_threads(4).is_err());
        self.ended.add();
    }
}

thread_local! {
    static PARTING: RefCell<Option<Parting>> = const { RefCell::new(None) };
}

#[test]
fn thread_locals_of_a_worker_that_has_left_may_use_the_runtime_at_its_end() {
    guarded(|| {
        for count in [1, 2, 4].repeat(7) {
            let runtime = named(4, "tlocs");
            let (bell, ended) = (Bell::default(), Count::default());
            let barrier = Arc::new(Barrier::new(4));
            for _ in 0..4 {
                let (handle, barrier) = (runtime.handle().clone(), Arc::clone(&barrier));
                let parting = Parting { bell: bell.clone(), handle, ended: ended.clone() };
                drop(runtime.spawn(async move {
                    barrier.wait();
                    PARTING.set(Some(parting));
                }));
            }
            runtime.block_until_completion();
            let waits = bell.clone();
            drop(runtime.spawn(async move { waits.wait().await }));
            runtime.handle().set_worker_threads(count).unwrap();
            until_at_work(&runtime, count, 4);
            assert_eq!(ended.get(), 0);
            drop(runtime);
            assert_eq!(ended.get(), 4);
        }
    });
}

#[test]
fn a_task_may_change_the_number_of_workers() {
    guarded(|| {
        let runtime = named(2, "selfs");
        let mut most = 2;
        for count in [1, 8, 1, 3] {
            most = most.max(count);
            let task = runtime.spawn(async move {
                Handle::current().set_worker_threads(count).unwrap();
                liten::task::yield_now().await;
                Handle::current().metrics().num_workers()
            });
            assert_eq!(runtime.block_on(task).unwrap(), count);
            until_at_work(&runtime, count, most);
            until_threads("selfs", most);
        }
    });
}

#[test]
fn numbers_out_of_bounds_are_refused_and_named() {
    guarded(|| {
        let runtime =
            Builder::new_multi_thread().worker_threads(2).max_worker_threads(4).build().unwrap();
        let refused = |count: usize, what: &str| {
            let error = runtime.handle().set_worker_threads(count).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains(what), "{error}");
        };
        refused(0, "worker_threads");
        refused(5, "max_worker_threads");
        refused(usize::MAX, "max_worker_threads");
        assert_eq!(runtime.metrics().num_workers(), 2);
        runtime.handle().set_worker_threads(4).unwrap();

        let local = LocalRuntime::new().unwrap();
        let error = local.handle().set_worker_threads(2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn a_runtime_may_end_while_it_is_resized() {
    guarded(|| {
        for round in 0..100 {
            let runtime = workers(2);
            let handle = runtime.handle().clone();
            let resizing = thread::spawn(move || {
                let mut count = round;
                while handle.set_worker_threads(1 + count % 8).is_ok() {
                    count += 3;
                }
            });
            for _ in 0..round % 10 {
                drop(runtime.spawn(std::future::pending::<()>()));
                thread::yield_now();
            }
            drop(runtime);
            resizing.join().unwrap();
        }
    });
}
