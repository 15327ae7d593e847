//! `block_until_completion`: returns when no task is alive, and not before.

use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Bell, Count};
use liten::net::UdpSocket;
use liten::runtime::LocalRuntime;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const FOR_EVER: Duration = Duration::from_secs(100_000);

#[test]
fn without_tasks_it_returns_at_once() {
    guarded(|| {
        let (runtime, local) = (workers(2), LocalRuntime::new().unwrap());
        for _ in 0..100 {
            runtime.block_until_completion();
            local.block_until_completion();
        }
    });
}

fn family(depth: usize, ran: Count) {
    drop(liten::spawn(async move {
        ran.add();
        if depth > 0 {
            liten::task::yield_now().await;
            for _ in 0..3 {
                family(depth - 1, ran.clone());
            }
        }
    }));
}

#[test]
fn tasks_of_tasks_are_waited_for() {
    guarded(|| {
        let runtime = workers(3);
        for round in 1..=20 {
            let ran = Count::default();
            let _entered = runtime.enter();
            family(6, ran.clone());
            runtime.block_until_completion();
            assert_eq!(ran.get(), (3usize.pow(7) - 1) / 2, "round {round}");
            assert_eq!(runtime.metrics().num_alive_tasks(), 0);
        }
        let (local, ran) = (LocalRuntime::new().unwrap(), Count::default());
        let _entered = local.enter();
        family(6, ran.clone());
        local.block_until_completion();
        assert_eq!(ran.get(), (3usize.pow(7) - 1) / 2);
    });
}

/// The queues are empty and the driver has nothing to wait for; but the task is not done.
#[test]
fn a_task_that_waits_for_a_foreign_thread_is_waited_for() {
    guarded(|| {
        for local in [false, true] {
            let (bell, rung) = (Bell::default(), Arc::new(AtomicBool::new(false)));
            let (rings, sets) = (bell.clone(), Arc::clone(&rung));
            let thread = thread::spawn(move || {
                until(|| rings.waiting() == 1);
                thread::sleep(Duration::from_millis(20));
                sets.store(true, Ordering::SeqCst);
                rings.ring();
            });
            if local {
                let runtime = LocalRuntime::new().unwrap();
                let waits = Rc::new(bell);
                drop(runtime.spawn_local(async move { waits.wait().await }));
                runtime.block_until_completion();
            } else {
                let runtime = workers(1);
                drop(runtime.spawn(async move { bell.wait().await }));
                runtime.block_until_completion();
            }
            assert!(rung.load(Ordering::SeqCst), "it did not wait");
            thread.join().unwrap();
        }
    });
}

/// The seeds' executors slept for timers, and lived for sockets, that no task waited for any more.
#[test]
fn what_was_given_up_is_not_waited_for() {
    async fn gives_up() {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        {
            let mut buf = [0; 8];
            let mut receiving = std::pin::pin!(socket.recv_from(&mut buf));
            assert!(crate::support::loopback::poll_once(&mut receiving).await.is_none());
            let mut sleep = liten::time::sleep(FOR_EVER);
            assert!(crate::support::loopback::poll_once(&mut sleep).await.is_none());
            liten::time::sleep(Duration::from_millis(5)).await;
        }
    }

    guarded(|| {
        let runtime = workers(1);
        drop(runtime.spawn(gives_up()));
        let aborted = runtime.spawn(liten_sleep());
        aborted.abort();
        runtime.block_until_completion();

        let local = LocalRuntime::new().unwrap();
        drop(local.spawn_local(gives_up()));
        let aborted = local.spawn_local(liten_sleep());
        aborted.abort();
        local.block_until_completion();
    });
}

async fn liten_sleep() {
    liten::time::sleep(FOR_EVER).await;
}

#[test]
fn blocking_work_that_a_task_waits_for_is_waited_for() {
    guarded(|| {
        let (runtime, done) = (workers(1), Count::default());
        let counted = done.clone();
        drop(runtime.spawn(async move {
            liten::spawn_blocking(|| thread::sleep(Duration::from_millis(20))).await.unwrap();
            counted.add();
        }));
        runtime.block_until_completion();
        assert_eq!(done.get(), 1);
    });
}

/// The last task may end at any moment relative to the one that begins to wait.
#[test]
fn it_never_sleeps_past_the_end_of_the_last_task() {
    guarded(|| {
        let (runtime, ran) = (workers(2), Count::default());
        for round in 1..=3_000 {
            for _ in 0..round % 4 {
                let ran = ran.clone();
                drop(runtime.spawn(async move {
                    ran.add();
                    if round % 3 == 0 {
                        liten::task::yield_now().await;
                    }
                }));
            }
            runtime.block_until_completion();
            assert_eq!(runtime.metrics().num_alive_tasks(), 0);
        }
        assert_eq!(ran.get(), (1..=3_000).map(|round| round % 4).sum::<usize>());
    });
}

#[test]
fn several_threads_may_wait() {
    guarded(|| {
        let (runtime, bell) = (workers(2), Bell::default());
        for _ in 0..10 {
            let waits = bell.clone();
            drop(runtime.spawn(async move { waits.wait().await }));
        }
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    runtime.block_until_completion();
                    assert!(bell.is_rung());
                });
            }
            thread::sleep(Duration::from_millis(10));
            bell.ring();
        });
    });
}

/// The root is no task, so it may wait for all of them.
#[test]
fn the_root_may_wait_too() {
    guarded(|| {
        let (runtime, ran) = (workers(2), Count::default());
        runtime.block_on(async {
            family(5, ran.clone());
            runtime.block_until_completion();
        });
        assert_eq!(ran.get(), (3usize.pow(6) - 1) / 2);
    });
}

/// A worker that is asked to leave may be the one that runs the last task.
#[test]
fn workers_that_leave_do_not_leave_it_waiting() {
    guarded(|| {
        let runtime = workers(4);
        for round in 0..200 {
            for _ in 0..8 {
                drop(runtime.spawn(async {
                    for _ in 0..5 {
                        liten::task::yield_now().await;
                    }
                }));
            }
            runtime.handle().set_worker_threads(1 + round % 4).unwrap();
            runtime.block_until_completion();
        }
    });
}
