//! Destructors that panic, where `panic.rs` does not look: jobs, roots, sets, local tasks, and very many of
//! them at the end of a runtime.

use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Bell, Count, OnDrop};
use crate::tasks::panic::PanicsOnDrop;
use liten::runtime::{Builder, LocalRuntime, Runtime};
use liten::task::{JoinSet, spawn_local, yield_now};
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::mpsc;
use std::task::Poll;
use std::thread::{self, ThreadId};

/// One thread, so that it is easily seen whether it is still the same.
fn small_pool() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).max_blocking_threads(1).build().unwrap()
}

fn pool_thread(runtime: &Runtime) -> ThreadId {
    runtime.block_on(runtime.spawn_blocking(|| thread::current().id())).unwrap()
}

#[test]
fn a_job_whose_destructors_panic_costs_no_thread() {
    guarded(|| {
        let runtime = small_pool();
        let before = pool_thread(&runtime);
        for _ in 0..20 {
            // What it has captured goes when it has run.
            let panics_on_drop = PanicsOnDrop;
            let error = runtime.block_on(runtime.spawn_blocking(move || {
                let _kept = &panics_on_drop;
            }));
            assert!(error.unwrap_err().is_panic());
            // Its output goes with the handle, or where no task wants it.
            let job = runtime.spawn_blocking(|| PanicsOnDrop);
            until(|| job.is_finished());
            drop(job);
            drop(runtime.spawn_blocking(|| PanicsOnDrop));
            // The payload of its panic panics in turn.
            drop(runtime.spawn_blocking(|| panic_any(PanicsOnDrop)));
            assert_eq!(pool_thread(&runtime), before);
        }
    });
}

/// Its destructor runs all the same: when it is aborted, or when the runtime ends.
#[test]
fn a_job_that_never_runs_may_panic_when_it_is_dropped() {
    guarded(|| {
        for aborted in [true, false] {
            let (runtime, dropped) = (small_pool(), Count::default());
            let (release, released) = mpsc::channel::<()>();
            let (begin, begun) = mpsc::channel();
            let first = runtime.spawn_blocking(move || {
                begin.send(()).unwrap();
                released.recv()
            });
            begun.recv().unwrap();
            let queued: Vec<_> = (0..10)
                .map(|_| {
                    let kept = (OnDrop(dropped.clone()), PanicsOnDrop);
                    runtime.spawn_blocking(move || drop(kept))
                })
                .collect();
            if aborted {
                queued.iter().for_each(|job| job.abort());
                drop(release);
                assert!(runtime.block_on(first).unwrap().is_err());
                assert_ne!(pool_thread(&runtime), thread::current().id());
            } else {
                runtime.shutdown_background();
                drop(release);
                until(|| dropped.get() == 10);
            }
            for job in queued {
                assert!(smol::block_on(job).unwrap_err().is_panic());
            }
            assert_eq!(dropped.get(), 10);
        }
    });
}

#[test]
fn a_root_whose_destructor_panics_leaves_the_runtime_in_order() {
    guarded(|| {
        let (runtime, local) = (workers(1), LocalRuntime::new().unwrap());
        let root = || {
            let panics_on_drop = PanicsOnDrop;
            poll_fn(move |_| {
                let _kept = &panics_on_drop;
                Poll::Ready(())
            })
        };
        for _ in 0..20 {
            assert!(catch_unwind(AssertUnwindSafe(|| runtime.block_on(root()))).is_err());
            assert!(catch_unwind(AssertUnwindSafe(|| local.block_on(root()))).is_err());
            assert!(liten::runtime::Handle::try_current().is_err(), "the context was left");
            assert_eq!(runtime.block_on(async { liten::spawn(async { 7 }).await.unwrap() }), 7);
            assert_eq!(local.block_on(async { spawn_local(async { 7 }).await.unwrap() }), 7);
        }
    });
}

#[test]
fn a_set_of_tasks_whose_destructors_panic_may_be_dropped() {
    guarded(|| {
        let (runtime, dropped) = (workers(2), Count::default());
        for round in 1..=20 {
            runtime.block_on(async {
                let mut set = JoinSet::new();
                for i in 0..30 {
                    // In the future, or else in its output.
                    let kept = (OnDrop(dropped.clone()), (i % 2 == 0).then(|| PanicsOnDrop));
                    set.spawn(async move {
                        let _kept = kept;
                        match i % 3 {
                            0 => yield_now().await,
                            1 => pending().await,
                            _ => {}
                        }
                        PanicsOnDrop
                    });
                }
                yield_now().await;
                drop(set);
            });
            runtime.block_until_completion();
            assert_eq!(dropped.get(), 30 * round);
        }
    });
}

#[test]
fn local_tasks_whose_destructors_panic_cost_no_other() {
    guarded(|| {
        let (local, dropped) = (LocalRuntime::new().unwrap(), Count::default());
        let kept = || (OnDrop(dropped.clone()), PanicsOnDrop);
        local.block_on(async {
            for _ in 0..20 {
                let panics_on_drop = kept();
                let ready = spawn_local(async move { drop(panics_on_drop) });
                assert!(ready.await.unwrap_err().is_panic());
                let panics_on_drop = kept();
                let waits = spawn_local(async move {
                    let _panics_on_drop = panics_on_drop;
                    pending::<()>().await;
                });
                yield_now().await;
                waits.abort();
                assert!(waits.await.unwrap_err().is_panic());
                drop(spawn_local(async { PanicsOnDrop }));
                assert_eq!(spawn_local(async { 7 }).await.unwrap(), 7);
            }
        });
        let left: Vec<_> = (0..20)
            .map(|_| {
                let panics_on_drop = kept();
                local.spawn_local(async move {
                    let _panics_on_drop = panics_on_drop;
                    pending::<()>().await;
                })
            })
            .collect();
        local.block_on(yield_now());
        drop(local);
        assert_eq!(dropped.get(), 60);
        for task in left {
            assert!(smol::block_on(task).unwrap_err().is_panic());
        }
    });
}

/// Tasks that wait, tasks that run, and tasks that were never polled.
#[test]
fn a_runtime_full_of_destructors_that_panic_drops_each_task_once() {
    guarded(|| {
        for count in [1, 4] {
            let (runtime, dropped, bell) = (workers(count), Count::default(), Bell::default());
            let started = Count::default();
            let task = |i: usize| {
                let (kept, started) = ((OnDrop(dropped.clone()), PanicsOnDrop), started.clone());
                let bell = bell.clone();
                runtime.spawn(async move {
                    let _kept = kept;
                    started.add();
                    match i % 3 {
                        0 => bell.wait().await,
                        1 => liten::time::sleep(std::time::Duration::MAX).await,
                        _ => loop {
                            yield_now().await;
                        },
                    }
                })
            };
            let tasks: Vec<_> = (0..300).map(task).collect();
            until(|| started.get() == 300);
            let late: Vec<_> = (0..300).map(task).collect();
            drop(runtime);
            assert_eq!(dropped.get(), 600);
            for task in tasks.into_iter().chain(late) {
                assert!(smol::block_on(task).unwrap_err().is_panic());
            }
        }
    });
}
