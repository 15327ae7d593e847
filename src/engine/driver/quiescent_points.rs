//! The futures that wait until the runtime is quiescent: nothing runs, and nothing is queued.
//!
//! The code that runs the driver says when ([`QuiescentPoints::begin`]). It also says so after too long a
//! wait, and when the clock goes on, so that no future waits for ever. Each time is counted. Quiescence is
//! over as soon as a future is woken, so a future compares counts, and does not ask whether it is quiescent
//! now.

use std::task::{Context, Poll, Waker};

use crate::engine::sync_shim::Mutex;

/// The quiescent points of one driver, while its clock stands still.
pub(crate) struct QuiescentPoints {
    points: Mutex<Points>,
}

struct Points {
    /// How many have begun.
    count: u64,
    waiting: Vec<Waker>,
}

impl QuiescentPoints {
    pub(super) fn new() -> Self {
        Self { points: Mutex::new(Points { count: 0, waiting: Vec::new() }) }
    }

    /// How many there have been.
    pub(crate) fn count(&self) -> u64 {
        self.points.lock().count
    }

    /// Ready when there have been more than `seen`; until then the waker is woken by the next one.
    pub(crate) fn poll(&self, seen: u64, cx: &Context<'_>) -> Poll<()> {
        // Cloned and dropped without the lock: both are user code.
        let waker = cx.waker().clone();
        let mut points = self.points.lock();
        if points.count > seen {
            drop(points);
            drop(waker);
            return Poll::Ready(());
        }
        if points.waiting.iter().any(|known| known.will_wake(&waker)) {
            drop(points);
            drop(waker);
        } else {
            points.waiting.push(waker);
        }
        Poll::Pending
    }

    pub(crate) fn is_awaited(&self) -> bool {
        !self.points.lock().waiting.is_empty()
    }

    /// Begins a quiescent point: moves the wakers of all waiting futures into `wakes`.
    pub(crate) fn begin(&self, wakes: &mut Vec<Waker>) {
        let mut points = self.points.lock();
        points.count += 1;
        wakes.append(&mut points.waiting);
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_quiescent_point_wakes_each_waiter_once_and_is_seen_by_those_who_waited_for_it() {
        let (quiescent_points, mut wakes) = (QuiescentPoints::new(), Vec::new());
        let cx = Context::from_waker(Waker::noop());
        let seen = quiescent_points.count();
        assert!(quiescent_points.poll(seen, &cx).is_pending());
        assert!(quiescent_points.poll(seen, &cx).is_pending(), "polled for another reason");
        assert!(quiescent_points.is_awaited());
        quiescent_points.begin(&mut wakes);
        assert_eq!(wakes.len(), 1);
        assert!(!quiescent_points.is_awaited());
        assert!(quiescent_points.poll(seen, &cx).is_ready());
        assert!(
            quiescent_points.poll(quiescent_points.count(), &cx).is_pending(),
            "this one is for the next"
        );
    }
}
