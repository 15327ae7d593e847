//! Models of a worker that blocks in place and comes back while others send it work.

use super::*;
use crate::engine::scheduler::loom::{scheduler, worker};
use crate::engine::sync_shim::{Mutex, thread};
use crate::engine::task::JoinHandle;
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::Hot;
use std::future::poll_fn;
use std::panic::Location;
use std::task::{Poll, Waker};

/// A task that waits, its home worker, and its waker.
fn waiting(shared: &Arc<Shared>) -> (Worker, JoinHandle<()>, Waker) {
    let walker = worker(shared, 0);
    let slot = Arc::new(Mutex::new(None::<Waker>));
    let theirs = slot.clone();
    let future = poll_fn(move |cx| {
        *theirs.lock() = Some(cx.waker().clone());
        Poll::Pending
    });
    let (task, join) = new_send_task(future, shared, Location::caller());
    task.run(&walker);
    let waker = slot.lock().take().expect("polled once");
    (walker, join, waker)
}

fn cancel(shared: &Shared, task: Option<Hot>, join: &JoinHandle<()>) {
    shared.cancel(task.expect("it was woken"));
    assert!(join.is_finished());
}

/// A task is woken while its home worker, the only one, begins to block in place: it ends up in the
/// injector, where the next worker finds it.
#[test]
fn a_wake_while_the_worker_blocks_in_place_is_not_left_behind() {
    ::loom::model(|| {
        let shared = scheduler(1);
        let (walker, join, waker) = waiting(&shared);
        let other = thread::spawn(move || waker.wake());
        let blocked = BlockedInPlace::begin(&walker);
        other.join().expect("no panic");
        assert!(shared.slots.get(0).channel.is_empty());
        cancel(&shared, shared.queues.injector.pop(), &join);
        drop(blocked);
    });
}

/// The worker is back before the wake is over: the task is where an awake worker looks, once.
#[test]
fn a_wake_that_ends_after_the_worker_is_back_reaches_the_worker() {
    ::loom::model(|| {
        let shared = scheduler(1);
        let (walker, join, waker) = waiting(&shared);
        let other = thread::spawn(move || waker.wake());
        drop(BlockedInPlace::begin(&walker));
        other.join().expect("no panic");
        assert!(shared.slots.get(0).is_active());
        let channel = || shared.slots.get(0).channel.take_all().next();
        cancel(&shared, shared.queues.injector.pop().or_else(channel), &join);
    });
}
