//! The futures that wait until the runtime is quiescent: nothing runs, and nothing is queued.
//!
//! The code that runs the driver says when ([`QuiescentPoints::begin`]). It also says so after too long a
//! wait, and when the clock goes on, so that no future waits for ever. Each time is counted. Quiescence is
//! over as soon as a future is woken, so a future compares counts, and does not ask whether it is quiescent
//! now.

use std::task::{Poll, Waker};

use crate::engine::wakers::WaitList;

/// The quiescent points of one driver, while its clock stands still.
pub(crate) struct QuiescentPoints {
    /// Beside the futures: how many points have begun.
    waiting: WaitList<u64>,
}

impl QuiescentPoints {
    pub(super) fn new() -> Self {
        Self { waiting: WaitList::new(0) }
    }

    /// How many there have been.
    pub(crate) fn count(&self) -> u64 {
        *self.waiting.lock()
    }

    /// Ready when there have been more than `seen`.
    pub(crate) async fn wait(&self, seen: u64) {
        let is_over = |count: u64| if count > seen { Poll::Ready(()) } else { Poll::Pending };
        self.waiting.wait(0, |count| is_over(**count)).await;
    }

    pub(crate) fn is_awaited(&self) -> bool {
        !self.waiting.lock().is_empty()
    }

    /// Begins a quiescent point: moves the wakers of all waiting futures into `wakes`.
    pub(crate) fn begin(&self, wakes: &mut Vec<Waker>) {
        let mut waiting = self.waiting.lock();
        *waiting += 1;
        waiting.take_matching(wakes, |_| true);
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;

    #[test]
    fn a_quiescent_point_wakes_each_waiter_once_and_is_seen_by_those_that_waited() {
        let (quiescent_points, mut wakes) = (QuiescentPoints::new(), Vec::new());
        let mut cx = Context::from_waker(Waker::noop());
        let mut waiting = pin!(quiescent_points.wait(quiescent_points.count()));
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        assert!(waiting.as_mut().poll(&mut cx).is_pending(), "polled for another reason");
        assert!(quiescent_points.is_awaited());
        quiescent_points.begin(&mut wakes);
        assert_eq!(wakes.len(), 1);
        assert!(!quiescent_points.is_awaited());
        assert!(waiting.as_mut().poll(&mut cx).is_ready());
        let mut next = pin!(quiescent_points.wait(quiescent_points.count()));
        assert!(next.as_mut().poll(&mut cx).is_pending(), "this one is for the next");
    }

    #[test]
    fn a_future_that_is_dropped_waits_for_no_quiescent_point() {
        let quiescent_points = QuiescentPoints::new();
        let mut waiting = Box::pin(quiescent_points.wait(0));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(waiting);
        assert!(!quiescent_points.is_awaited());
    }
}
