//! The JoinHandle: where the output goes, which task is woken, and where waiting is allowed.

use crate::support::guard::{guarded, until, workers};
use crate::support::loopback::poll_once;
use crate::support::probe::{Bell, Calls, Count, OnDrop, poll_with};
use liten::future::FutureExt;
use liten::task::{JoinHandle, JoinSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Poll, Waker};

#[test]
fn an_unwanted_output_is_dropped_once() {
    guarded(|| {
        let (runtime, dropped, bell) = (workers(2), Count::default(), Bell::default());
        // The handle goes before the task ends.
        let output = OnDrop(dropped.clone());
        let waits = bell.clone();
        drop(runtime.spawn(async move {
            waits.wait().await;
            output
        }));
        assert_eq!(dropped.get(), 0);
        bell.ring();
        until(|| dropped.get() == 1);
        // The handle goes afterwards.
        let output = OnDrop(dropped.clone());
        let task = runtime.spawn(async move { output });
        until(|| task.is_finished());
        assert_eq!(dropped.get(), 1);
        drop(task);
        assert_eq!(dropped.get(), 2);
        // The output is taken.
        let output = OnDrop(dropped.clone());
        let output = runtime.block_on(runtime.spawn(async move { output })).unwrap();
        assert_eq!(dropped.get(), 2);
        drop(output);
        assert_eq!(dropped.get(), 3);
        drop(runtime);
        assert_eq!(dropped.get(), 3);
    });
}

#[test]
fn handles_that_race_with_the_end_of_their_task_lose_no_output() {
    guarded(|| {
        let (runtime, made, dropped) = (workers(2), Count::default(), Count::default());
        for round in 0..5_000 {
            made.add();
            let output = OnDrop(dropped.clone());
            let mut task = runtime.spawn(async move { output });
            let (_, waker) = Calls::new();
            match round % 3 {
                0 => drop(task),
                1 => {
                    let polled = poll_with(&mut task, &waker);
                    drop(task);
                    drop(polled);
                }
                _ => drop(runtime.block_on(task).unwrap()),
            }
        }
        runtime.block_until_completion();
        until(|| dropped.get() == made.get());
        drop(runtime);
        assert_eq!(dropped.get(), made.get());
    });
}

#[test]
fn any_executor_may_wait() {
    guarded(|| {
        let runtime = workers(1);
        let (sender, receiver) = liten::sync::oneshot::channel();
        let task = runtime.spawn(async { receiver.await.unwrap() });
        std::thread::spawn(move || sender.send("from afar"));
        assert_eq!(smol::block_on(task).unwrap(), "from afar");

        let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let task = runtime.spawn(async { 42 });
        assert_eq!(tokio.block_on(async { tokio::spawn(task).await.unwrap().unwrap() }), 42);
    });
}

/// A waiting task hands its future over: from then on only the new owner is woken.
#[test]
fn only_the_last_waiter_is_woken() {
    guarded(|| {
        let (runtime, bell) = (workers(1), Bell::default());
        let waits = bell.clone();
        let mut task = runtime.spawn(async move { waits.wait().await });
        let ((first, first_waker), (second, second_waker)) = (Calls::new(), Calls::new());
        for _ in 0..10 {
            assert!(poll_with(&mut task, &first_waker).is_pending());
            assert!(poll_with(&mut task, &second_waker).is_pending());
        }
        bell.ring();
        until(|| second.get() > 0);
        assert_eq!((first.get(), second.get()), (0, 1));
        assert!(matches!(poll_with(&mut task, &second_waker), Poll::Ready(Ok(()))));
    });
}

#[test]
fn waiting_again_with_the_same_waker_clones_nothing() {
    guarded(|| {
        let (runtime, bell) = (workers(1), Bell::default());
        let waits = bell.clone();
        let mut task = runtime.spawn(async move { waits.wait().await });
        let (calls, waker) = Calls::new();
        assert!(poll_with(&mut task, &waker).is_pending());
        let references = Arc::strong_count(&calls);
        for _ in 0..1_000 {
            assert!(poll_with(&mut task, &waker).is_pending());
        }
        assert_eq!(Arc::strong_count(&calls), references);
        // Dropped while it waits, it forgets the waker.
        drop(task);
        assert_eq!(Arc::strong_count(&calls), references - 1);
        bell.ring();
        runtime.block_until_completion();
        assert_eq!(calls.get(), 0);
    });
}

#[test]
fn finished_means_that_waiting_returns_at_once() {
    guarded(|| {
        let (runtime, bell) = (workers(1), Bell::default());
        let waits = bell.clone();
        let mut task = runtime.spawn(async move { waits.wait().await });
        let abort = task.abort_handle();
        until(|| bell.waiting() == 1);
        assert!(!task.is_finished() && !abort.is_finished());
        bell.ring();
        until(|| task.is_finished());
        assert!(abort.is_finished());
        assert!(poll_with(&mut task, Waker::noop()).is_ready());
    });
}

#[test]
fn polled_again_after_the_result_it_panics() {
    guarded(|| {
        let runtime = workers(1);
        let mut task = runtime.spawn(async {});
        runtime.block_on(async {
            (&mut task).await.unwrap();
            let again = AssertUnwindSafe(poll_once(&mut task)).catch_unwind().await;
            assert!(again.is_err());
        });
        assert!(catch_unwind(AssertUnwindSafe(|| drop(task))).is_ok());
    });
}

#[test]
fn a_handle_that_loses_a_select_keeps_its_result() {
    guarded(|| {
        let (runtime, bell) = (workers(1), Bell::default());
        let waits = bell.clone();
        runtime.block_on(async {
            let mut task: JoinHandle<i32> = liten::spawn(async move {
                waits.wait().await;
                42
            });
            for _ in 0..100 {
                liten::select! {
                    _ = &mut task => panic!("it waits for the bell"),
                    () = liten::task::yield_now() => {}
                }
            }
            bell.ring();
            assert_eq!(task.await.unwrap(), 42);
        });
    });
}

#[test]
fn a_handle_waits_inside_another_task_of_another_runtime() {
    guarded(|| {
        let (one, two) = (workers(1), workers(1));
        let inner = one.spawn(async { 6 });
        let outer = two.spawn(async move { inner.await.unwrap() * 7 });
        assert_eq!(one.block_on(outer).unwrap(), 42);
    });
}

#[test]
fn a_set_gives_results_in_the_order_in_which_tasks_finish() {
    guarded(|| {
        let runtime = workers(2);
        runtime.block_on(async {
            let bells: Vec<Bell> = (0..10).map(|_| Bell::default()).collect();
            let mut set = JoinSet::new();
            for (index, bell) in bells.iter().cloned().enumerate() {
                set.spawn(async move {
                    bell.wait().await;
                    index
                });
            }
            for index in [3, 1, 4, 0, 5, 9, 2, 6, 8, 7] {
                bells[index].ring();
                assert_eq!(set.join_next().await.unwrap().unwrap(), index);
            }
            assert!(set.join_next().await.is_none());
        });
    });
}
