//! What the two ends of a channel share, and the ends themselves, for both kinds of channels.
//!
//! One short lock guards the queue, the receiver's waker and the list of the senders that wait for the end.
//! The receiver takes the whole queue at once and then needs no lock for what is in it.
//!
//! | step | under the lock | after it |
//! |---|---|---|
//! | push | pushes, takes the waker | wakes the receiver |
//! | receive, own queue empty | takes all values; if none, looks for the end or leaves its waker | |
//! | last sender dropped; last permit of a closed channel back | takes the waker | wakes the receiver |
//! | close | takes senders out of the list | wakes them |
//! | the receiver is dropped | as for close; takes all values, refuses later ones | drops the values |
//!
//! No wake is lost. The receiver looks for values and for the end in the same section of the lock in which it
//! leaves its waker. A push in an earlier section has left its value there; one in a later section finds the
//! waker. The count of senders and the permits change without the lock, but a change that may be the end
//! takes the lock afterwards. If its section is the earlier one, the receiver sees the change. If its section
//! is the later one, it finds the receiver's waker. Of two permits that come back to a closed channel at the
//! same time, the second one sees the channel idle, because both changes are to one word.
//!
//! The waker is taken by the first push that finds it. So a receiver that many senders wake is woken once.

use super::queue::Queue;
use super::room::{Bounded, Room};
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::wakers::{WaitList, drop_all, guard};
use crate::impls::{impl_debug, impl_unwind_safe};
use crate::runtime::gauges::Gauge;
use std::fmt;
use std::mem;
use std::task::{Poll, Waker};

/// The shared part of a channel.
pub(super) struct Shared<T, R> {
    pub(super) room: R,
    /// The futures that wait in the list are those of [`Tx::closed`].
    pub(super) inbox: WaitList<Inbox<T>>,
    /// How many [`Tx`] there are. Once it is 0 it stays 0.
    pub(super) senders: AtomicUsize,
    /// How many [`WeakTx`] there are.
    weak: AtomicUsize,
}

/// What lies under the lock.
pub(super) struct Inbox<T> {
    pub(super) queue: Queue<T>,
    pub(super) waker: Option<Waker>,
    /// The receiver was dropped.
    pub(super) abandoned: bool,
}

// No user code runs while the queue is changed, so no panic leaves it half changed.
impl_unwind_safe!([T, R] Shared<T, R>);

impl<T, R: Room> Shared<T, R> {
    pub(super) fn new(room: R, gauge: Gauge) -> Self {
        let inbox = Inbox { queue: Queue::measured(gauge), waker: None, abandoned: false };
        Self {
            room,
            inbox: WaitList::new(inbox),
            senders: AtomicUsize::new(1),
            weak: AtomicUsize::new(0),
        }
    }

    /// Adds a message; fails with it if the channel does not accept it. A panic of the receiver's waker goes
    /// to the caller; the message has been sent then.
    #[inline]
    pub(super) fn push(&self, value: T) -> Result<(), T> {
        let mut inbox = self.inbox.lock();
        if !self.room.accepts(inbox.abandoned) {
            return Err(value);
        }
        inbox.queue.push(value);
        let waker = inbox.waker.take();
        drop(inbox);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(())
    }

    /// Wakes the receiver, if it waits.
    pub(super) fn wake_receiver(&self) {
        let waker = self.inbox.lock().waker.take();
        if let Some(waker) = waker {
            guard(|| waker.wake());
        }
    }

    /// Closes, and wakes the senders that wait for that.
    pub(super) fn close(&self) {
        self.room.close();
        self.inbox.wake(self.inbox.lock(), 0, |_| true);
    }

    /// Whether no message will come. For a holder of the lock that has found no message.
    pub(super) fn has_ended(&self) -> bool {
        self.senders() == 0 || (self.room.is_closed() && self.room.is_idle())
    }

    pub(super) fn senders(&self) -> usize {
        // Ordering: Acquire pairs with the Release of the last drop: a caller that sees 0 sees what the
        // senders did.
        self.senders.load(Ordering::Acquire)
    }

    pub(super) fn weak(&self) -> usize {
        // Ordering: Relaxed, a number to look at.
        self.weak.load(Ordering::Relaxed)
    }
}

impl<T> Shared<T, Bounded> {
    /// Gives permits back that were not used. The receiver of a closed channel may wait for that.
    pub(super) fn give_back(&self, count: usize) {
        self.room.release(count);
        self.wake_if_ended();
    }

    pub(super) fn wake_if_ended(&self) {
        if self.room.is_closed() && self.room.is_idle() {
            self.wake_receiver();
        }
    }
}

impl_debug!([T, R: Room + fmt::Debug] Shared<T, R>, this => "Channel" {
    room: this.room,
    senders: this.senders(),
    ..
});

/// A sender of either kind.
pub(super) struct Tx<T, R: Room> {
    pub(super) shared: Arc<Shared<T, R>>,
}

impl<T, R: Room> Tx<T, R> {
    pub(super) fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    pub(super) fn downgrade(&self) -> WeakTx<T, R> {
        WeakTx::new(&self.shared)
    }

    /// Waits until the channel is closed.
    pub(super) async fn closed(&self) {
        let room = &self.shared.room;
        let look = || if room.is_closed() { Poll::Ready(()) } else { Poll::Pending };
        if look().is_pending() {
            self.shared.inbox.wait(0, |_| look()).await;
        }
    }
}

impl<T, R: Room> Clone for Tx<T, R> {
    fn clone(&self) -> Self {
        // Ordering: Relaxed, this sender keeps the count above 0.
        self.shared.senders.fetch_add(1, Ordering::Relaxed);
        Self { shared: self.shared.clone() }
    }
}

impl<T, R: Room> Drop for Tx<T, R> {
    fn drop(&mut self) {
        // Ordering: Release pairs with the Acquire in `senders`, and with that of later drops, which pass
        // it on.
        if self.shared.senders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.wake_receiver();
        }
    }
}

/// A weak sender of either kind.
pub(super) struct WeakTx<T, R: Room> {
    pub(super) shared: Arc<Shared<T, R>>,
}

impl<T, R: Room> WeakTx<T, R> {
    fn new(shared: &Arc<Shared<T, R>>) -> Self {
        // Ordering: Relaxed, a number to look at.
        shared.weak.fetch_add(1, Ordering::Relaxed);
        Self { shared: shared.clone() }
    }

    /// Returns a sender unless the last one has gone.
    pub(super) fn upgrade(&self) -> Option<Tx<T, R>> {
        let more = |count: usize| (count != 0).then(|| count + 1);
        // Ordering: Relaxed: a count above 0 is kept there by a sender, and the memory by `shared`.
        let senders = &self.shared.senders;
        senders.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Tx { shared: self.shared.clone() })
    }
}

impl<T, R: Room> Clone for WeakTx<T, R> {
    fn clone(&self) -> Self {
        Self::new(&self.shared)
    }
}

impl<T, R: Room> Drop for WeakTx<T, R> {
    fn drop(&mut self) {
        // Ordering: Relaxed, a number to look at.
        self.shared.weak.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes the values out of the channel, and refuses later ones. For the receiver's drop.
pub(super) fn abandon<T, R: Room>(shared: &Shared<T, R>) -> Queue<T> {
    let mut inbox = shared.inbox.lock();
    inbox.abandoned = true;
    let queue = mem::take(&mut inbox.queue);
    let waker = inbox.waker.take();
    drop(inbox);
    drop_all(waker);
    queue
}
