//! Aborting: when it takes effect, when it does not, and what is left.

use crate::support::guard::{guarded, until, workers};
use crate::support::probe::{Bell, Count, OnDrop, Report};
use liten::task::{AbortHandle, AbortOnDropHandle, JoinSet, yield_now};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

#[test]
fn a_waiting_task_is_dropped_before_its_handle_says_so() {
    guarded(|| {
        let (runtime, dropped, report) = (workers(2), Count::default(), Report::default());
        for round in 1..=1_000 {
            let (guard, spy) = (OnDrop(dropped.clone()), report.spy());
            let task = runtime.spawn(async move {
                let _guard = guard;
                spy.await
            });
            if round % 2 == 0 {
                until(|| report.polls() >= round / 2);
            }
            task.abort();
            let error = runtime.block_on(task).unwrap_err();
            assert!(error.is_cancelled() && !error.is_panic());
            assert!(error.try_into_panic().is_err());
            assert_eq!(dropped.get(), round);
        }
        assert_eq!(runtime.metrics().num_alive_tasks(), 0);
        assert_eq!(runtime.metrics().num_cold_tasks(), 0);
    });
}

#[test]
fn a_task_aborted_before_its_first_poll_is_never_polled() {
    guarded(|| {
        let (runtime, report, dropped) = (workers(1), Report::default(), Count::default());
        let (begun, has_begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let blocker = runtime.spawn(async move {
            begun.send(()).unwrap();
            released.recv().unwrap();
        });
        has_begun.recv().unwrap();
        let (guard, spy) = (OnDrop(dropped.clone()), report.spy());
        let task = runtime.spawn(async move {
            let _guard = guard;
            spy.await
        });
        task.abort();
        assert!(!task.is_finished(), "the only worker is busy");
        release.send(()).unwrap();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        runtime.block_on(blocker).unwrap();
        assert_eq!((report.polls(), dropped.get()), (0, 1));
    });
}

/// A poll that is under way is not interrupted, and a result it brings counts.
#[test]
fn a_running_poll_goes_on_to_its_end() {
    guarded(|| {
        let runtime = workers(1);
        for waits_afterwards in [false, true] {
            let (begun, has_begun) = mpsc::channel();
            let (release, released) = mpsc::channel::<()>();
            let later = Count::default();
            let reached = later.clone();
            let task = runtime.spawn(async move {
                begun.send(()).unwrap();
                released.recv().unwrap();
                if waits_afterwards {
                    yield_now().await;
                    reached.add();
                }
                42
            });
            has_begun.recv().unwrap();
            task.abort();
            release.send(()).unwrap();
            match runtime.block_on(task) {
                Ok(value) => assert!(!waits_afterwards && value == 42),
                Err(error) => assert!(waits_afterwards && error.is_cancelled()),
            }
            assert_eq!(later.get(), 0);
        }
    });
}

#[test]
fn a_task_may_abort_itself() {
    guarded(|| {
        let runtime = workers(1);
        let (give, handle) = mpsc::channel::<AbortHandle>();
        let after = Count::default();
        let reached = after.clone();
        let task = runtime.spawn(async move {
            handle.recv().unwrap().abort();
            yield_now().await;
            reached.add();
        });
        give.send(task.abort_handle()).unwrap();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        assert_eq!(after.get(), 0);
    });
}

#[test]
fn after_the_end_it_has_no_effect() {
    guarded(|| {
        let runtime = workers(1);
        let task = runtime.spawn(async { String::from("kept") });
        until(|| task.is_finished());
        let abort = task.abort_handle();
        task.abort();
        abort.abort();
        assert_eq!(runtime.block_on(task).unwrap(), "kept");
        drop(runtime);
        abort.abort();
        assert!(abort.is_finished());
    });
}

#[test]
fn a_task_that_never_waits_long_ends_too() {
    guarded(|| {
        let runtime = workers(2);
        let turns = Count::default();
        let counted = turns.clone();
        let task = runtime.spawn(async move {
            loop {
                counted.add();
                yield_now().await;
            }
        });
        until(|| turns.get() > 100);
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
    });
}

#[test]
fn aborts_wakes_and_ends_that_race_drop_each_task_once() {
    guarded(|| {
        let (runtime, dropped) = (workers(2), Count::default());
        const ROUNDS: usize = 3_000;
        let mut cancelled = 0;
        for _ in 0..ROUNDS {
            let (bell, guard) = (Bell::default(), OnDrop(dropped.clone()));
            let waits = bell.clone();
            let task = runtime.spawn(async move {
                let _guard = guard;
                waits.wait().await;
                yield_now().await;
            });
            let abort = task.abort_handle();
            let rings = runtime.spawn(async move { bell.ring() });
            let aborts = runtime.spawn(async move { abort.abort() });
            runtime.block_on(async {
                match task.await {
                    Ok(()) => {}
                    Err(error) if error.is_cancelled() => cancelled += 1,
                    Err(error) => panic!("{error}"),
                }
                rings.await.unwrap();
                aborts.await.unwrap();
            });
        }
        assert_eq!(dropped.get(), ROUNDS);
        assert!(cancelled <= ROUNDS);
    });
}

#[test]
fn what_an_aborted_task_held_is_free_again() {
    guarded(|| {
        let runtime = workers(1);
        runtime.block_on(async {
            let lock = Arc::new(liten::sync::Mutex::new(()));
            let (held, is_held) = liten::sync::oneshot::channel();
            let theirs = Arc::clone(&lock);
            let task = liten::spawn(async move {
                let _guard = theirs.lock().await;
                held.send(()).unwrap();
                liten::time::sleep(Duration::MAX).await;
            });
            is_held.await.unwrap();
            assert!(lock.try_lock().is_err());
            task.abort();
            drop(lock.lock().await);
            assert!(task.await.unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_destructor_may_use_the_runtime() {
    struct Spawns(Arc<Mutex<Option<liten::task::JoinHandle<i32>>>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            *self.0.lock().unwrap() = Some(liten::spawn(async { 42 }));
        }
    }

    guarded(|| {
        let runtime = workers(1);
        let spawned = Arc::new(Mutex::new(None));
        let spawns = Spawns(Arc::clone(&spawned));
        let task = runtime.spawn(async move {
            let _spawns = spawns;
            std::future::pending::<()>().await;
        });
        task.abort();
        assert!(runtime.block_on(task).unwrap_err().is_cancelled());
        let inner = spawned.lock().unwrap().take().unwrap();
        assert_eq!(runtime.block_on(inner).unwrap(), 42);
    });
}

#[test]
fn a_set_that_is_dropped_aborts_its_tasks() {
    guarded(|| {
        let (runtime, dropped) = (workers(2), Count::default());
        let mut set = JoinSet::new();
        for _ in 0..100 {
            let guard = OnDrop(dropped.clone());
            set.spawn_on(
                async move {
                    let _guard = guard;
                    std::future::pending::<()>().await;
                },
                runtime.handle(),
            );
        }
        drop(set);
        until(|| dropped.get() == 100);
    });
}

#[test]
fn a_task_ends_with_the_handle_that_aborts_on_drop() {
    guarded(|| {
        let (runtime, dropped) = (workers(2), Count::default());
        let (guard, owner) = (OnDrop(dropped.clone()), Count::default());
        let inner = OnDrop(owner.clone());
        // The request is dropped half-way, and with it what it had spawned.
        let request = runtime.spawn(async move {
            let _inner = inner;
            let part = liten::spawn(async move {
                let _guard = guard;
                std::future::pending::<()>().await;
            });
            AbortOnDropHandle::new(part).await
        });
        request.abort();
        assert!(runtime.block_on(request).unwrap_err().is_cancelled());
        until(|| dropped.get() == 1 && owner.get() == 1);
        until(|| runtime.metrics().num_alive_tasks() == 0);
    });
}

#[test]
fn a_handle_that_aborts_on_drop_gives_the_result_and_can_be_detached() {
    guarded(|| {
        let (runtime, report) = (workers(2), Report::default());
        let handle = AbortOnDropHandle::new(runtime.spawn(async { 6 * 7 }));
        assert_eq!(runtime.block_on(handle).unwrap(), 42);
        let (spy, bell) = (report.spy(), Bell::default());
        let heard = bell.clone();
        let task = runtime.spawn(async move {
            heard.wait().await;
            spy.await
        });
        let detached = AbortOnDropHandle::new(task).detach();
        let id = detached.id();
        assert!(!detached.is_finished());
        bell.ring();
        until(|| report.polls() == 1);
        detached.abort();
        assert_eq!(runtime.block_on(detached).unwrap_err().id(), id);
    });
}
