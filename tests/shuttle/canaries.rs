//! Faults that are planted here: if they are not found, the scenarios prove nothing.

use super::explorer::explore_some;
use super::tested_runtime::{TestedRuntime, join, rounds};
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::engine::sync_shim::{Mutex, thread};
use std::future::poll_fn;
use std::task::{Poll, Waker};

const ENOUGH: usize = 20_000;

/// A task that looks first and leaves its waker afterwards, instead of the other way round.
#[test]
#[should_panic(expected = "deadlock")]
fn a_lost_wake_is_found() {
    explore_some(ENOUGH, || {
        let tested = TestedRuntime::new(2);
        let (flag, slot) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None::<Waker>)));
        let theirs = (flag.clone(), slot.clone());
        let sender = thread::spawn(move || {
            flag.store(true, Ordering::SeqCst);
            let waker = slot.lock().take();
            waker.into_iter().for_each(Waker::wake);
        });
        let task = tested.spawner().spawn(poll_fn(move |cx| {
            if theirs.0.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            *theirs.1.lock() = Some(cx.waker().clone());
            Poll::Pending
        }));
        tested.block_on(join(task));
        sender.join().expect("no panic");
        tested.end();
    });
}

/// Two tasks that add without an atomic addition: they have to run on two workers, step by step.
#[test]
#[should_panic(expected = "an addition is lost")]
fn a_race_between_two_workers_is_found() {
    explore_some(ENOUGH, || {
        let tested = TestedRuntime::new(2);
        let (spawner, sum) = (tested.spawner(), Arc::new(AtomicUsize::new(0)));
        let tasks = [(); 2].map(|()| {
            let sum = sum.clone();
            spawner.spawn(async move {
                rounds(1).await;
                sum.store(sum.load(Ordering::SeqCst) + 1, Ordering::SeqCst);
            })
        });
        tested.block_on(async {
            for task in tasks {
                join(task).await;
            }
        });
        assert_eq!(sum.load(Ordering::SeqCst), 2, "an addition is lost");
        drop(spawner);
        tested.end();
    });
}

#[test]
#[should_panic(expected = "future_drops: 2")]
fn a_future_that_is_dropped_twice_is_found() {
    explore_some(1, || {
        let tested = TestedRuntime::new(1);
        let future = tested.ledger.task(rounds(1));
        let task = tested.runtime().spawn(future.duplicate());
        drop(future);
        assert!(tested.block_on(join(task)));
        tested.ledger.check();
        tested.end();
    });
}
