//! Models of the ways a poll can end, on the production cell.

use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, both_ways, thread};
use crate::engine::task::loom::{Queue, Waiting, poll_once};
use crate::engine::task::waker;
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// A task yields, and a foreign wake comes around that: it is polled again, and the poll that answers the
/// wake sees what its caller wrote.
#[test]
fn a_wake_beside_a_yield_is_not_lost() {
    ::loom::model(|| {
        let queue = Queue::new();
        let flag = Arc::new(AtomicBool::new(false));
        let slot = Arc::new(Mutex::new(None::<Waker>));
        let (watched, left, mut yielded) = (flag.clone(), slot.clone(), false);
        let join = queue.spawn(poll_fn(move |cx| {
            let first = !std::mem::replace(&mut yielded, true);
            if first {
                // First of all: the flag that it sets is a thread-local, and loom's threads share those.
                waker::yield_to(cx.waker());
            }
            *left.lock() = Some(cx.waker().clone());
            if first {
                // Without a look at the flag: it relies on its other turn.
                return Poll::Pending;
            }
            // Relaxed on purpose: only the task's word may carry it over.
            if watched.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
        }));
        let waker = thread::spawn(move || {
            flag.store(true, Ordering::Relaxed);
            let taken = slot.lock().take();
            taken.into_iter().for_each(Waker::wake);
        });
        queue.run_to_completion();
        waker.join().expect("no panic");
        assert!(join.is_finished());
    });
}

/// A task that asks for another turn again and again is never cold; an abort ends it all the same.
#[test]
fn an_abort_ends_a_task_that_always_yields() {
    ::loom::model(|| {
        let queue = Queue::new();
        let mut join = queue.spawn(poll_fn(|cx| {
            waker::yield_to(cx.waker());
            Poll::<()>::Pending
        }));
        let aborter = {
            let abort = join.abort_handle();
            thread::spawn(move || abort.abort())
        };
        while queue.completed.load(Ordering::Relaxed) == 0 {
            let task = queue.hot.lock().pop_front();
            task.into_iter().for_each(|task| _ = task.run(&*queue));
            thread::yield_now();
        }
        aborter.join().expect("no panic");
        assert!(matches!(poll_once(&mut join), Poll::Ready(Err(error)) if error.is_cancelled()));
    });
}

/// A thread that has the output of a task finds it counted as ended: a program that joins all its tasks and
/// then asks how many are alive is told none.
#[test]
fn a_task_is_counted_as_ended_before_its_joiner_learns_of_it() {
    both_ways(|way| {
        let queue = Queue::new();
        let mut join = queue.spawn(async { 5 });
        let runner = {
            let queue = queue.clone();
            thread::spawn(move || queue.run())
        };
        way.here();
        if poll_once(&mut join).is_ready() {
            assert_eq!(queue.completed.load(Ordering::Relaxed), 1);
        }
        runner.join().expect("no panic");
    });
}

/// A task is aborted, and its handle dropped, while it is woken and run: its future is dropped once, and so
/// is the output, whichever thread got to it first.
#[test]
fn an_aborted_and_forgotten_task_ends_once() {
    both_ways(|way| {
        let Waiting { queue, join, flag, slot, drops } = Waiting::new();
        let owner = thread::spawn(move || {
            join.abort();
            drop(join);
        });
        way.here();
        flag.store(true, Ordering::Relaxed);
        let waker = slot.lock().take().expect("polled once");
        waker.wake();
        queue.run_to_completion();
        owner.join().expect("no panic");
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        assert_eq!(queue.completed.load(Ordering::Relaxed), 1);
        assert!(queue.hot.lock().is_empty() && queue.registry.len() == 0);
    });
}
