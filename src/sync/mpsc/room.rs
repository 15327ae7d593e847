//! What a message needs before it is sent: a permit in a bounded channel, nothing in an unbounded one.

use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::sync::permits::Permits;

/// The difference between the two kinds of channels.
pub(super) trait Room {
    /// Whether the channel was closed: only messages that have a permit already may still come.
    fn is_closed(&self) -> bool;

    fn close(&self);

    /// Whether a message may be pushed. The caller holds the channel's lock. `abandoned` says that the
    /// receiver was dropped.
    fn accepts(&self, abandoned: bool) -> bool;

    /// Gives back the permits of `count` messages that were taken out of the channel.
    fn release(&self, count: usize);

    /// The calling task waits for a message: notes that, for those that wait for room.
    fn note_receiver(&self);

    /// Whether all permits are back, so that, in a closed channel, no message will come.
    fn is_idle(&self) -> bool;
}

/// A permit for each message that is on its way.
#[derive(Debug)]
pub(super) struct Bounded {
    pub(super) permits: Permits,
    pub(super) bound: usize,
}

impl Room for Bounded {
    #[inline]
    fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    fn close(&self) {
        self.permits.close();
    }

    /// The message has its permit, also when the channel was closed meanwhile.
    #[inline]
    fn accepts(&self, abandoned: bool) -> bool {
        !abandoned
    }

    #[inline]
    fn release(&self, count: usize) {
        self.permits.release(count);
    }

    fn note_receiver(&self) {
        self.permits.note_receiver();
    }

    fn is_idle(&self) -> bool {
        self.permits.available() == self.bound
    }
}

/// Room for any number of messages. They are pushed under the lock under which the receiver looks for them,
/// so there is no time between the permission and the push.
#[derive(Debug)]
pub(super) struct Unbounded {
    closed: AtomicBool,
}

impl Unbounded {
    pub(super) fn new() -> Self {
        Self { closed: AtomicBool::new(false) }
    }
}

impl Room for Unbounded {
    #[inline]
    fn is_closed(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `close`: a caller that sees it sees what the receiver
        // did before.
        self.closed.load(Ordering::Acquire)
    }

    fn close(&self) {
        // Ordering: Release pairs with the Acquire in `is_closed`.
        self.closed.store(true, Ordering::Release);
    }

    /// The receiver closes first and then looks under the lock. So a message that is accepted is in the
    /// queue before that look.
    #[inline]
    fn accepts(&self, _abandoned: bool) -> bool {
        !self.is_closed()
    }

    #[inline]
    fn release(&self, _count: usize) {}

    fn note_receiver(&self) {}

    fn is_idle(&self) -> bool {
        true
    }
}
