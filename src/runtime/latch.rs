//! A flag that is set once, and the futures that wait for that.
//!
//! No wait is lost: the flag is set before the lock of the list is taken to wake futures, and a future reads
//! the flag under that lock before it joins the list. If the future has the lock first, it is found in the
//! list. Otherwise it finds the flag set.
//!
//! No future joins the list of a latch whose flag is set. So the futures may be taken out in rounds, with
//! the lock released in between, and that comes to an end.

use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::wakers::{Place, WaitList, WakeList};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The word of a place. All futures of a list wait for the same thing, so it has no other meaning.
const WAITS: usize = 0;

/// See the header of this file.
pub(crate) struct Latch {
    flag: AtomicBool,
    waiting: WaitList<()>,
}

impl Latch {
    pub(crate) fn new(is_set: bool) -> Self {
        Self { flag: AtomicBool::new(is_set), waiting: WaitList::new(()) }
    }

    /// A place for a future that waits.
    pub(crate) fn place() -> Place {
        Place::new(WAITS)
    }

    #[inline]
    pub(crate) fn is_set(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `set`: a caller that sees `true` sees what was done
        // before the call.
        self.flag.load(Ordering::Acquire)
    }

    /// Sets the flag, and wakes no future yet: [`wake`](Self::wake) has to follow.
    pub(crate) fn set(&self) {
        // Ordering: Release pairs with `is_set`.
        self.flag.store(true, Ordering::Release);
    }

    /// After [`set`](Self::set): wakes all futures. The last ones are left in `wakes`, for the caller to
    /// wake.
    pub(crate) fn wake(&self, wakes: &mut WakeList) {
        while !self.waiting.lock().pop_into(wakes, WAITS, |_| true) {
            wakes.wake();
        }
    }

    fn look(&self) -> Poll<()> {
        if self.is_set() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Polls for the future at `place`.
    pub(crate) fn poll(&self, place: Pin<&Place>, cx: &Context<'_>) -> Poll<()> {
        // Before the lock, and before the waker is cloned.
        if self.is_set() {
            return Poll::Ready(());
        }
        self.waiting.poll(place, cx, |_| self.look())
    }

    /// Waits until the flag is set.
    #[cfg(unix)]
    pub(crate) async fn wait(&self) {
        self.waiting.wait(WAITS, |_| self.look()).await;
    }

    /// Whether no future waits.
    #[cfg(all(test, liten_loom))]
    pub(crate) fn is_deserted(&self) -> bool {
        self.waiting.lock().is_empty()
    }

    /// The future at `place` does not wait any more.
    pub(crate) fn leave(&self, place: Pin<&Place>) {
        self.waiting.leave(place);
    }
}
