//! Tasks that stay on one thread: not `Send`, borrowing, on a runtime or on any executor.

use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Bell, Count, OnDrop, Report};
use liten::runtime::LocalRuntime;
use liten::task::{LocalExecutor, spawn_local, yield_now};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::{self, ThreadId};
use std::time::Duration;

#[test]
fn tasks_need_not_be_send_and_stay_here() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let here = thread::current().id();
        let sum = runtime.block_on(async {
            let sum = Rc::new(Cell::new(0));
            let tasks: Vec<_> = (0..1_000)
                .map(|i| {
                    let sum = Rc::clone(&sum);
                    spawn_local(async move {
                        yield_now().await;
                        sum.set(sum.get() + i);
                        assert_eq!(thread::current().id(), here);
                        sum
                    })
                })
                .collect();
            for task in tasks {
                // The output need not be Send either.
                assert!(Rc::ptr_eq(&task.await.unwrap(), &sum));
            }
            sum.get()
        });
        assert_eq!(sum, 499_500);
    });
}

/// Tasks that are spawned in the ways of the other runtime run here too.
#[test]
fn spawn_and_handles_work_too() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let here = thread::current().id();
        let handle = runtime.handle().clone();
        let foreign = thread::spawn(move || {
            let spawn = |_| handle.spawn(async { thread::current().id() });
            let tasks: Vec<_> = (0..100).map(spawn).collect();
            let ids = tasks.into_iter().map(|task| smol::block_on(task).unwrap());
            ids.collect::<HashSet<ThreadId>>()
        });
        runtime.block_on(async {
            assert_eq!(liten::spawn(async { thread::current().id() }).await.unwrap(), here);
            let job = liten::spawn_blocking(|| thread::current().id());
            assert_ne!(job.await.unwrap(), here);
            while !foreign.is_finished() {
                liten::time::sleep(Duration::from_millis(1)).await;
            }
        });
        assert_eq!(foreign.join().unwrap(), HashSet::from([here]));
    });
}

/// The thread is asleep in its own poller when the wake comes.
#[test]
fn a_foreign_thread_wakes_a_local_task() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        for round in 0..100 {
            let report = Report::default();
            let theirs = report.clone();
            let waking = thread::spawn(move || {
                until(|| theirs.polls() == 1);
                if round % 10 == 0 {
                    thread::sleep(Duration::from_millis(5));
                }
                theirs.end();
                theirs.waker().unwrap().wake();
            });
            let alive = Rc::new(());
            let task = runtime.spawn_local({
                let (spy, alive) = (report.spy(), Rc::clone(&alive));
                async move {
                    let polls = spy.await;
                    drop(alive);
                    polls
                }
            });
            assert_eq!(runtime.block_on(task).unwrap(), 2);
            assert_eq!(Rc::strong_count(&alive), 1);
            waking.join().unwrap();
        }
    });
}

#[test]
fn each_thread_may_have_its_own() {
    guarded(|| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                thread::spawn(move || {
                    let runtime = LocalRuntime::new().unwrap();
                    runtime.block_on(async {
                        let log = Rc::new(RefCell::new(Vec::new()));
                        for i in 0..50 {
                            let log = Rc::clone(&log);
                            drop(spawn_local(async move {
                                liten::time::sleep(Duration::from_micros(i)).await;
                                log.borrow_mut().push(thread);
                            }));
                        }
                        while log.borrow().len() < 50 {
                            yield_now().await;
                        }
                        assert!(log.borrow().iter().all(|entry| *entry == thread));
                    });
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn tasks_wait_between_two_calls() {
    guarded(|| {
        let (runtime, polls) = (LocalRuntime::new().unwrap(), Rc::new(Cell::new(0)));
        let counted = Rc::clone(&polls);
        drop(runtime.spawn_local(async move {
            loop {
                counted.set(counted.get() + 1);
                yield_now().await;
            }
        }));
        assert_eq!(polls.get(), 0);
        for _ in 0..3 {
            let before = polls.get();
            // A sleep that is over when it is polled first gives the task no turn.
            runtime.block_on(async {
                while polls.get() == before {
                    liten::time::sleep(Duration::from_millis(1)).await;
                }
            });
        }
        let before = polls.get();
        thread::sleep(Duration::from_millis(2));
        assert_eq!(polls.get(), before);
        drop(runtime);
        assert_eq!(Rc::strong_count(&polls), 1);
    });
}

#[test]
fn what_is_left_is_dropped_on_its_thread() {
    struct Here(ThreadId, Count);
    impl Drop for Here {
        fn drop(&mut self) {
            assert_eq!(thread::current().id(), self.0);
            assert!(liten::runtime::Handle::try_current().is_ok());
            self.1.add();
        }
    }

    guarded(|| {
        let (runtime, dropped) = (LocalRuntime::new().unwrap(), Count::default());
        let (bell, here) = (Bell::default(), thread::current().id());
        for i in 0..100 {
            let (guard, waits) = (Here(here, dropped.clone()), bell.clone());
            drop(runtime.spawn_local(async move {
                let _guard = guard;
                match i % 3 {
                    0 => waits.wait().await,
                    1 => liten::time::sleep(Duration::MAX).await,
                    _ => std::future::pending().await,
                }
            }));
            if i == 50 {
                runtime.block_on(yield_now());
            }
        }
        // The wakes of a foreign thread race with the end: they move tasks, but drop none.
        let rings = thread::spawn(move || bell.ring());
        drop(runtime);
        assert_eq!(dropped.get(), 100);
        rings.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "outside of a `task::LocalSet`")]
fn spawn_local_elsewhere_panics() {
    workers(1).block_on(async { drop(spawn_local(async {})) });
}

#[test]
fn it_refuses_to_block_inside_itself() {
    guarded(|| {
        let (runtime, other) = (LocalRuntime::new().unwrap(), LocalRuntime::new().unwrap());
        runtime.block_on(async {
            let nested = catch_unwind(AssertUnwindSafe(|| other.block_on(async {})));
            assert!(nested.is_err());
            let task = spawn_local(async { liten::block_on(async {}) });
            assert!(task.await.unwrap_err().is_panic());
        });
        // Both are in order afterwards.
        assert_eq!(runtime.block_on(async { spawn_local(async { 1 }).await.unwrap() }), 1);
        assert_eq!(other.block_on(async { spawn_local(async { 2 }).await.unwrap() }), 2);
    });
}

#[test]
fn tasks_of_an_executor_may_borrow() {
    guarded(|| {
        let names = vec![String::from("one"), String::from("two"), String::from("three")];
        let lengths = RefCell::new(Vec::new());
        let executor = LocalExecutor::new();
        for name in &names {
            drop(executor.spawn(async {
                liten::task::yield_now().await;
                lengths.borrow_mut().push((name.as_str(), name.len()));
            }));
        }
        let longest = executor.spawn(async { names.iter().max_by_key(|name| name.len()).unwrap() });
        let longest = liten::block_on(executor.run(longest)).unwrap();
        assert_eq!(longest, "three");
        liten::block_on(executor.run_until_completion());
        drop(executor);
        let mut lengths = lengths.into_inner();
        lengths.sort_unstable();
        assert_eq!(lengths, [("one", 3), ("three", 5), ("two", 3)]);
    });
}

#[test]
fn an_executor_runs_on_any_runtime() {
    guarded(|| {
        async fn count() -> usize {
            let ran = Cell::new(0);
            let executor = LocalExecutor::new();
            for _ in 0..1_000 {
                drop(executor.spawn(async {
                    yield_now().await;
                    ran.set(ran.get() + 1);
                }));
            }
            let all = async {
                while ran.get() < 1_000 {
                    yield_now().await;
                }
            };
            executor.run(all).await;
            ran.get()
        }
        assert_eq!(smol::block_on(count()), 1_000);
        assert_eq!(workers(1).block_on(count()), 1_000);
        assert_eq!(LocalRuntime::new().unwrap().block_on(count()), 1_000);
    });
}

/// The borrow ends with the executor; a waker that is still around must not touch what is gone.
#[test]
fn a_leaked_waker_is_harmless_after_the_executor_is_gone() {
    guarded(|| {
        for _ in 0..50 {
            let (report, dropped) = (Report::default(), Count::default());
            {
                let text = String::from("borrowed");
                let executor = LocalExecutor::new();
                let guard = OnDrop(dropped.clone());
                let task = executor.spawn(async {
                    let _guard = guard;
                    report.spy().await;
                    text.len()
                });
                liten::block_on(executor.run(yield_now()));
                assert_eq!(report.polls(), 1);
                drop(executor);
                assert_eq!(dropped.get(), 1);
                assert!(smol::block_on(task).unwrap_err().is_cancelled());
            }
            let waker = report.waker().unwrap();
            report.end();
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let waker = waker.clone();
                    thread::spawn(move || {
                        waker.wake_by_ref();
                        waker.wake();
                    })
                })
                .collect();
            waker.wake();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!((report.polls(), dropped.get()), (1, 1));
        }
    });
}

/// A leaked executor never runs or drops its tasks again, so what they borrow may go.
#[test]
fn a_leaked_executor_is_harmless_too() {
    guarded(|| {
        let report = Report::default();
        {
            let text = String::from("borrowed");
            let executor = LocalExecutor::new();
            let borrowed = &text;
            let spy = report.spy();
            drop(executor.spawn(async move {
                spy.await;
                assert_eq!(borrowed, "borrowed");
            }));
            liten::block_on(executor.run(yield_now()));
            std::mem::forget(executor);
        }
        report.end();
        let waker = report.waker().unwrap();
        thread::spawn(move || waker.wake()).join().unwrap();
        assert_eq!(report.polls(), 1);
    });
}

/// Wakes by foreign threads while the executor is being dropped.
#[test]
fn wakes_that_race_with_the_end_of_an_executor_are_harmless() {
    guarded(|| {
        for _ in 0..300 {
            let (bell, ran) = (Bell::default(), Cell::new(0));
            let executor = LocalExecutor::new();
            for _ in 0..5 {
                drop(executor.spawn(async {
                    bell.wait().await;
                    ran.set(ran.get() + 1);
                }));
            }
            liten_run(&executor);
            let rings = bell.clone();
            let thread = thread::spawn(move || rings.ring());
            drop(executor);
            assert!(ran.get() == 0);
            thread.join().unwrap();
        }
    });
}

/// Runs the executor's tasks once, without a runtime.
fn liten_run(executor: &LocalExecutor<'_>) {
    smol::block_on(executor.run(smol::future::yield_now()));
}

/// The runtime runs on its own thread; the other one only waits for what it has given to it.
#[test]
fn another_thread_may_block_on_the_handle() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let here = thread::current().id();
        let handle = runtime.handle().clone();
        let other = thread::spawn(move || {
            handle.block_on(async {
                let there = liten::spawn(async { thread::current().id() }).await.unwrap();
                liten::time::sleep(Duration::from_millis(1)).await;
                let (client, server) = crate::support::loopback::tcp_pair().await;
                client.try_write(b"x").unwrap();
                server.readable().await.unwrap();
                there
            })
        });
        runtime.block_on(async {
            while !other.is_finished() {
                liten::time::sleep(Duration::from_millis(1)).await;
            }
        });
        assert_eq!(other.join().unwrap(), here);
    });
}

#[test]
fn spawns_that_race_with_the_end_are_run_or_cancelled() {
    guarded(|| {
        for _ in 0..100 {
            let (runtime, dropped) = (LocalRuntime::new().unwrap(), Count::default());
            let (handle, guards) = (runtime.handle().clone(), dropped.clone());
            let spawning = thread::spawn(move || {
                let spawn = |_| {
                    let guard = OnDrop(guards.clone());
                    handle.spawn(async move {
                        let _guard = guard;
                        yield_now().await;
                    })
                };
                (0..200).map(spawn).collect::<Vec<_>>()
            });
            runtime.block_on(yield_now());
            drop(runtime);
            for task in spawning.join().unwrap() {
                if let Err(error) = smol::block_on(task) {
                    assert!(error.is_cancelled());
                }
            }
            assert_eq!(dropped.get(), 200);
        }
    });
}

#[test]
fn panics_of_local_tasks_reach_their_handles() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        runtime.block_on(async {
            for _ in 0..1_000 {
                let kept = Rc::new(());
                let task = spawn_local(async move {
                    let _kept = kept;
                    yield_now().await;
                    std::panic::resume_unwind(Box::new("local"));
                });
                let payload = task.await.unwrap_err().into_panic();
                assert_eq!(payload.downcast_ref(), Some(&"local"));
            }
        });
    });
}

/// With any number of tasks that borrow, that wait, and that spawn others.
#[test]
fn an_executor_waits_until_all_tasks_have_ended() {
    guarded(|| {
        let (ended, children) = (Cell::new(0), Rc::new(Cell::new(0)));
        let executor = LocalExecutor::new();
        for _ in 0..100 {
            executor.spawn(async {
                liten::time::sleep(Duration::from_millis(1)).await;
                let children = children.clone();
                drop(spawn_local(async move {
                    yield_now().await;
                    children.set(children.get() + 1);
                }));
                ended.set(ended.get() + 1);
            });
        }
        liten::block_on(executor.run_until_completion());
        assert_eq!((ended.get(), children.get()), (100, 100));
        // Without tasks it returns at once.
        liten::block_on(executor.run_until_completion());
    });
}

/// On whatever thread, and inside another executor.
#[test]
fn spawn_local_adds_a_task_to_the_executor_that_runs() {
    /// Returns how many references there were: one here, and one in each of two tasks.
    async fn spawns() -> usize {
        let (executor, kept) = (LocalExecutor::new(), Rc::new(()));
        let (waits, looks) = (kept.clone(), kept.clone());
        let root = async move {
            drop(spawn_local(async move {
                let _kept = waits;
                pending::<()>().await;
            }));
            let look = async move { Rc::strong_count(&looks) };
            let task = spawn_local(async move { spawn_local(look).await.unwrap() });
            task.await.unwrap()
        };
        let count = executor.run(root).await;
        // The one that waits goes with the executor that it belongs to.
        drop(executor);
        assert_eq!(Rc::strong_count(&kept), 1);
        count
    }
    guarded(|| {
        assert_eq!(smol::block_on(spawns()), 3);
        assert_eq!(liten::block_on(spawns()), 3);
        assert_eq!(workers(1).block_on(spawns()), 3);
        let runtime = LocalRuntime::new().unwrap();
        assert_eq!(runtime.block_on(spawns()), 3);
        // Outside of the inner one it is the runtime's again.
        runtime.block_on(async {
            spawns().await;
            let executor = LocalExecutor::new();
            executor.run(async {}).await;
            let task = spawn_local(yield_now());
            drop(executor);
            task.await.unwrap();
        });
    });
}

#[test]
fn a_local_runtime_may_leave_blocking_work_behind() {
    guarded(|| {
        for in_background in [false, true] {
            let runtime = LocalRuntime::new().unwrap();
            let answer = runtime.spawn_blocking(|| 42);
            assert_eq!(runtime.block_on(answer).unwrap(), 42);
            // The answer may be there before its thread is free.
            until(|| runtime.metrics().num_idle_blocking_threads() == 1);
            let (release, released) = mpsc::channel::<()>();
            let (begun, begin) = mpsc::channel();
            let work = runtime.spawn_blocking(move || {
                begun.send(()).unwrap();
                let _ = released.recv();
            });
            begin.recv().unwrap();
            let dropped = Count::default();
            let guard = OnDrop(dropped.clone());
            let task = runtime.spawn_local(async move {
                let _guard = guard;
                pending::<()>().await;
            });
            if in_background {
                runtime.shutdown_background();
            } else {
                let left = runtime.shutdown_timeout(Duration::from_millis(1));
                assert_eq!(left.iter().map(|left| left.id()).collect::<Vec<_>>(), [work.id()]);
            }
            assert!(dropped.get() == 1 && task.is_finished());
            // Only now: an end that waited for it would hang above.
            drop(release);
            smol::block_on(work).unwrap();
        }
        assert!(LocalRuntime::new().unwrap().shutdown_timeout(Duration::MAX).is_empty());
    });
}
