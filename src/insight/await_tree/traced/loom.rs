//! Models of a request for a trace: a task that has been asked answers, however it goes on meanwhile.

use super::{Answer, Request};
use crate::engine::sync_shim::atomic::Ordering;
use crate::engine::sync_shim::{Arc, Way, both_ways, thread};
use crate::engine::task::TaskId;
use crate::engine::task::loom::{Queue, Waiting, poll_once};
use std::task::Poll;
use std::time::Duration;

/// Asks the task for a trace; returns the request, if the task was there to be asked.
fn ask(queue: &Arc<Queue>, id: TaskId) -> Option<Request> {
    let request = Request::new(id).expect("few at a time");
    let mut is_found = false;
    queue.registry.trace(&mut |task| {
        is_found |= task == id;
        task == id
    });
    is_found.then_some(request)
}

/// Asks the task from another thread, while this one calls `meanwhile` and then polls what is queued.
fn ask_beside(
    queue: &Arc<Queue>,
    id: TaskId,
    way: Way,
    meanwhile: impl FnOnce(),
) -> Option<Request> {
    let asker = {
        let queue = queue.clone();
        thread::spawn(move || ask(&queue, id))
    };
    meanwhile();
    way.here();
    queue.run();
    asker.join().expect("no panic")
}

fn answer(request: &Request) -> Option<Answer> {
    request.wait(Duration::ZERO)
}

/// The request comes at any moment of a poll after which the task waits: it leads to a poll.
#[test]
fn a_traced_poll_follows_a_request_during_another_poll() {
    both_ways(|way| {
        let Waiting { queue, mut join, flag, slot, .. } = Waiting::new();
        let woken = slot.lock().clone().expect("polled once");
        woken.wake();
        let request = ask_beside(&queue, join.id(), way, || {}).expect("it waits");
        queue.run();
        let Some(Answer::Traced(traced)) = answer(&request) else { panic!("no answer") };
        assert_eq!(traced.stacks.len() + traced.left_out, 1, "it clones its waker once");
        // The waker that it has left is an ordinary one.
        flag.store(true, Ordering::Relaxed);
        slot.lock().take().expect("polled again").wake();
        queue.run();
        assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(7))));
    });
}

/// The task ends while it is asked: the request is answered, or was never taken.
#[test]
fn a_traced_poll_or_the_end_answers_a_task_that_ends() {
    both_ways(|way| {
        let Waiting { queue, mut join, flag, slot, .. } = Waiting::new();
        flag.store(true, Ordering::Relaxed);
        slot.lock().take().expect("polled once").wake();
        let asked = ask_beside(&queue, join.id(), way, || {});
        assert!(
            asked.is_none_or(|request| answer(&request).is_some()),
            "nothing polls it any more"
        );
        assert!(matches!(poll_once(&mut join), Poll::Ready(Ok(7))));
    });
}

/// The task is aborted while it is asked: it is polled once more, or not at all, and the request is answered.
#[test]
fn a_traced_poll_or_the_end_answers_a_task_that_is_aborted() {
    both_ways(|way| {
        let Waiting { queue, mut join, slot, drops, .. } = Waiting::new();
        let abort = join.abort_handle();
        let asked = ask_beside(&queue, join.id(), way, || abort.abort());
        queue.run();
        assert!(
            asked.is_none_or(|request| answer(&request).is_some()),
            "nothing polls it any more"
        );
        assert!(matches!(poll_once(&mut join), Poll::Ready(Err(error)) if error.is_cancelled()));
        assert_eq!(drops.load(Ordering::Relaxed), 1);
        slot.lock().take();
    });
}
