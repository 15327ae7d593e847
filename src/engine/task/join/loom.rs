//! Models of the JoinHandle: the slot in the task's cell is its one-shot channel.

use super::*;
use crate::engine::sync_shim::{both_ways, thread};
use crate::engine::task::loom::{Queue, drop_the_handle_beside_the_end};
use crate::engine::wakers::tests::Flag;
use std::task::Waker;

/// A handle that no task has polled is dropped while the task completes: no waker is in the way, and the
/// output is dropped once, by the task or by the handle.
#[test]
fn a_handle_that_was_never_polled_leaves_one_owner_of_the_output() {
    drop_the_handle_beside_the_end(false);
}

/// A joiner looks again with the waker that it has left already, as each branch of a `select!` does: it gets
/// the output, or its wake is still to come.
#[test]
fn a_joiner_that_looks_again_with_the_same_waker_is_woken() {
    both_ways(|way| {
        let queue = Queue::new();
        let mut join = queue.spawn(async { 5 });
        let (flag, waker) = Flag::new();
        let mut cx = Context::from_waker(&waker);
        assert!(Pin::new(&mut join).poll(&mut cx).is_pending());
        let runner = {
            let queue = queue.clone();
            thread::spawn(move || queue.run())
        };
        way.here();
        let polled = Pin::new(&mut join).poll(&mut cx);
        runner.join().expect("no panic");
        match polled {
            Poll::Ready(output) => assert!(matches!(output, Ok(5))),
            Poll::Pending => assert!(flag.is_set()),
        }
    });
}

/// The owner asks whether the task has ended, as a loop over `is_finished` does: after a yes the output is
/// there, all of it, without a waker ever having been left.
#[test]
fn a_finished_task_gives_its_output_at_the_first_poll() {
    both_ways(|way| {
        let queue = Queue::new();
        let mut join = queue.spawn(async { Box::new(5) });
        let runner = {
            let queue = queue.clone();
            thread::spawn(move || queue.run())
        };
        way.here();
        if join.is_finished() {
            let polled = Pin::new(&mut join).poll(&mut Context::from_waker(Waker::noop()));
            assert!(matches!(polled, Poll::Ready(Ok(output)) if *output == 5));
        }
        runner.join().expect("no panic");
    });
}
