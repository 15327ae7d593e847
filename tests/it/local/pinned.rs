//! Tasks that are made on a thread and stay there.

use crate::support::guard::{guarded, named, until, workers};
use crate::support::loopback::tcp_pair;
use crate::support::probe::{Bell, Count};
use liten::io::{AsyncReadExt, AsyncWriteExt};
use liten::runtime::{Handle, LocalRuntime};
use liten::task::{JoinHandle, spawn_local, spawn_pinned, yield_now};
use std::cell::RefCell;
use std::collections::HashSet;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Tells on which thread it is dropped.
struct Traveller(Arc<Mutex<Vec<ThreadId>>>);

impl Drop for Traveller {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(thread::current().id());
    }
}

#[test]
fn a_task_is_made_polled_and_dropped_on_one_thread() {
    guarded(|| {
        let (runtime, dropped) = (named(2, "pinme"), Arc::default());
        let traveller = Traveller(Arc::clone(&dropped));
        let task = runtime.spawn_pinned(move || {
            let (made, traveller) = (thread::current().id(), Rc::new(traveller));
            async move {
                let _here = &traveller;
                for round in 0..100 {
                    assert_eq!(thread::current().id(), made);
                    match round % 10 {
                        0 => liten::time::sleep(Duration::from_micros(100)).await,
                        1 => assert_eq!(liten::spawn(async { 1 }).await.unwrap(), 1),
                        _ => yield_now().await,
                    }
                }
                (made, thread::current().name().unwrap().to_owned())
            }
        });
        let (made, name) = runtime.block_on(task).unwrap();
        assert_eq!(name, "pinme-pinned-0");
        assert_eq!(*dropped.lock().unwrap(), [made]);
    });
}

#[test]
fn there_are_as_many_threads_as_workers_and_each_gets_its_share() {
    guarded(|| {
        let runtime = workers(3);
        let bell = Bell::default();
        let tasks: Vec<JoinHandle<ThreadId>> = (0..30)
            .map(|_| {
                let bell = bell.clone();
                runtime.spawn_pinned(move || async move {
                    let here = thread::current().id();
                    bell.wait().await;
                    here
                })
            })
            .collect();
        assert_eq!(runtime.metrics().num_alive_tasks(), 30);
        bell.ring();
        let mut threads: Vec<_> =
            tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).collect();
        let distinct: HashSet<_> = threads.iter().copied().collect();
        assert_eq!(distinct.len(), 3);
        for thread in distinct {
            threads.remove(threads.iter().position(|other| *other == thread).unwrap());
            assert_eq!(threads.iter().filter(|other| **other == thread).count(), 9);
        }
    });
}

/// All of them block their threads until all are there: no two are on one thread while another has none.
#[test]
fn a_thread_without_tasks_comes_before_one_that_has_some() {
    guarded(|| {
        let runtime = workers(4);
        for _ in 0..20 {
            let barrier = Arc::new(Barrier::new(4));
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let barrier = barrier.clone();
                    runtime.spawn_pinned(move || async move {
                        barrier.wait();
                    })
                })
                .collect();
            for task in tasks {
                runtime.block_on(task).unwrap();
            }
        }
    });
}

#[test]
fn local_tasks_sockets_and_timers_work_there() {
    guarded(|| {
        let runtime = workers(1);
        let task = runtime.spawn_pinned(|| async {
            let (mut client, mut server) = tcp_pair().await;
            let log = Rc::new(RefCell::new(Vec::new()));
            let theirs = log.clone();
            let reader = spawn_local(async move {
                let mut word = [0; 5];
                server.read_exact(&mut word).await.unwrap();
                theirs.borrow_mut().extend(word);
            });
            liten::time::sleep(Duration::from_millis(1)).await;
            client.write_all(b"hello").await.unwrap();
            reader.await.unwrap();
            log.take()
        });
        assert_eq!(runtime.block_on(task).unwrap(), b"hello");
    });
}

#[test]
fn aborting_drops_the_future_on_its_thread() {
    guarded(|| {
        let (runtime, dropped) = (workers(1), Arc::default());
        let (traveller, (started, start)) = (Traveller(Arc::clone(&dropped)), mpsc::channel());
        let task = runtime.spawn_pinned(move || async move {
            let _traveller = Rc::new(traveller);
            started.send(thread::current().id()).unwrap();
            pending::<()>().await;
        });
        let there = start.recv().unwrap();
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        assert_eq!(*dropped.lock().unwrap(), [there]);
    });
}

#[test]
fn panics_reach_the_handle_and_the_thread_goes_on() {
    guarded(|| {
        let runtime = workers(1);
        let in_make = runtime.spawn_pinned(|| {
            if thread::current().name().is_some() {
                panic!("in make");
            }
            pending::<()>()
        });
        let in_poll = runtime.spawn_pinned(|| async { panic!("in poll") });
        for (task, message) in [(in_make, "in make"), (in_poll, "in poll")] {
            let error = runtime.block_on(task).unwrap_err();
            assert_eq!(error.into_panic().downcast_ref(), Some(&message));
        }
        assert_eq!(runtime.block_on(runtime.spawn_pinned(|| async { 3 })).unwrap(), 3);
        let refused = runtime.spawn_pinned(|| async {
            let root = AssertUnwindSafe(|| Handle::current().block_on(async {}));
            let place = AssertUnwindSafe(|| liten::task::block_in_place(|| ()));
            catch_unwind(root).is_err() && catch_unwind(place).is_err()
        });
        assert!(runtime.block_on(refused).unwrap(), "both would stop the other tasks there");
    });
}

/// Those that wait, the one that runs, those that were never made, and what they have spawned.
#[test]
fn the_end_of_the_runtime_drops_each_on_its_thread() {
    guarded(|| {
        let (runtime, dropped) = (workers(2), Arc::<Mutex<Vec<ThreadId>>>::default());
        let (started, start) = mpsc::channel();
        let waiting: Vec<_> = (0..10)
            .map(|_| {
                let (dropped, started) = (Arc::clone(&dropped), started.clone());
                runtime.spawn_pinned(move || async move {
                    let _traveller = Rc::new(Traveller(dropped.clone()));
                    drop(spawn_local(async move {
                        let _traveller = Rc::new(Traveller(dropped));
                        pending::<()>().await;
                    }));
                    started.send(thread::current().id()).unwrap();
                    pending::<()>().await;
                })
            })
            .collect();
        let mut threads: Vec<_> = (0..10).map(|_| start.recv().unwrap()).collect();
        threads.extend_from_within(..);
        let (release, released) = mpsc::channel::<()>();
        let (stuck, is_stuck) = mpsc::channel();
        let runs = runtime.spawn_pinned(move || async move {
            stuck.send(()).unwrap();
            let _ = released.recv();
            1
        });
        is_stuck.recv().unwrap();
        runtime.shutdown_background();
        drop(release);
        until(|| dropped.lock().unwrap().len() == threads.len());
        let mut dropped = std::mem::take(&mut *dropped.lock().unwrap());
        dropped.sort_unstable_by_key(|id| format!("{id:?}"));
        threads.sort_unstable_by_key(|id| format!("{id:?}"));
        assert_eq!(dropped, threads);
        assert_eq!(liten::block_on(runs).unwrap(), 1, "its only poll was under way");
        for task in waiting {
            assert!(liten::block_on(task).unwrap_err().is_cancelled());
        }
    });
}

#[test]
fn after_the_end_it_is_cancelled_and_never_made() {
    guarded(|| {
        for used_before in [false, true] {
            let runtime = workers(1);
            let handle = runtime.handle().clone();
            if used_before {
                runtime.block_on(runtime.spawn_pinned(|| async {})).unwrap();
            }
            drop(runtime);
            let (made, theirs) = (Count::default(), Count::default());
            let (count, guard) = (made.clone(), crate::support::probe::OnDrop(theirs.clone()));
            let task = handle.spawn_pinned(move || {
                count.add();
                drop(guard);
                pending::<()>()
            });
            assert!(liten::block_on(task).unwrap_err().is_cancelled());
            assert_eq!((made.get(), theirs.get()), (0, 1));
        }
    });
}

/// Each waits for a task on the other side before it ends: no count on one side alone says when all have.
#[test]
fn completion_waits_for_pinned_tasks_and_what_they_spawn() {
    guarded(|| {
        let (runtime, ended) = (workers(2), Count::default());
        for round in 0..200 {
            let (bell, first, second) = (Bell::default(), ended.clone(), ended.clone());
            let waits = bell.clone();
            drop(runtime.spawn_pinned(move || async move {
                waits.wait().await;
                drop(liten::spawn(async move {
                    yield_now().await;
                    drop(spawn_pinned(move || async move {
                        yield_now().await;
                        second.add();
                    }));
                }));
                first.add();
            }));
            bell.ring();
            runtime.block_until_completion();
            assert_eq!(ended.get(), 2 * (round + 1));
            assert_eq!(runtime.metrics().num_alive_tasks(), 0);
        }
    });
}

#[test]
fn a_bounded_end_says_which_pinned_task_holds_it_up() {
    guarded(|| {
        let runtime = workers(1);
        let (release, released) = mpsc::channel::<()>();
        let (stuck, is_stuck) = mpsc::channel();
        let task = runtime.spawn_pinned(move || async move {
            stuck.send(()).unwrap();
            let _ = released.recv();
        });
        is_stuck.recv().unwrap();
        let left = runtime.shutdown_timeout(Duration::from_millis(20));
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!((left[0].id(), left[0].spawned_at().file()), (task.id(), file!()));
        drop(release);
        assert!(liten::block_on(task).is_ok());
    });
}

#[test]
fn resizing_loses_no_pinned_task() {
    guarded(|| {
        let runtime = workers(4);
        let bell = Bell::default();
        let tasks: Vec<_> = (0..16)
            .map(|number| {
                let bell = bell.clone();
                runtime.spawn_pinned(move || async move {
                    let number = Rc::new(number);
                    bell.wait().await;
                    *number
                })
            })
            .collect();
        until(|| bell.waiting() == 16);
        runtime.handle().set_worker_threads(1).unwrap();
        bell.ring();
        for (number, task) in tasks.into_iter().enumerate() {
            assert_eq!(runtime.block_on(task).unwrap(), number);
        }
    });
}

#[test]
fn in_a_local_runtime_they_run_on_its_thread() {
    guarded(|| {
        let runtime = LocalRuntime::new().unwrap();
        let here = thread::current().id();
        let handle = runtime.handle().clone();
        let spawning = thread::spawn(move || {
            handle.spawn_pinned(|| async {
                let rc = Rc::new(1);
                yield_now().await;
                (*rc, thread::current().id())
            })
        });
        let task = spawning.join().unwrap();
        assert_eq!(runtime.block_on(task).unwrap(), (1, here));
        let inside = runtime.block_on(async { spawn_pinned(|| async { 2 }).await.unwrap() });
        assert_eq!(inside, 2);
        let late = runtime.handle().clone();
        drop(runtime);
        assert!(liten::block_on(late.spawn_pinned(|| async {})).unwrap_err().is_cancelled());
    });
}

/// The pool for blocking work is full: these threads are no part of it.
#[test]
fn blocking_work_does_not_keep_them_out() {
    guarded(|| {
        let mut builder = liten::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).max_blocking_threads(1).build().unwrap();
        let (release, released) = mpsc::channel::<()>();
        let job = runtime.spawn_blocking(move || released.recv().is_err());
        assert_eq!(runtime.block_on(runtime.spawn_pinned(|| async { 1 })).unwrap(), 1);
        drop(release);
        assert!(runtime.block_on(job).unwrap());
    });
}

#[test]
fn a_pinned_task_may_drop_its_runtime() {
    guarded(|| {
        let runtime = workers(1);
        let handle = runtime.handle().clone();
        let task = handle.spawn_pinned(move || async move { drop(runtime) });
        assert!(liten::block_on(task).is_ok());
    });
}
