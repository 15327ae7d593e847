//! What senders and receivers of a broadcast channel share: a ring of values, and the list of waiting
//! receivers.
//!
//! Values are numbered from 0; number `n` lies in slot `n mod capacity`. Each slot is under a lock of its
//! own, so that receivers at different slots do not wait for each other. The *tail*, under another lock,
//! knows the number of the next value, counts the receivers, and has the list of those that wait.
//!
//! The locks are taken in this order: that of `unheard`, the list of the tasks in `Sender::closed`; the
//! tail's; a slot's. No thread takes an earlier one while it holds a later one.
//!
//! | a receiver that wants `n` finds the slot at | that is |
//! |---|---|
//! | `n` | its value |
//! | `n - capacity` | a value that was sent one round earlier: `n` has not been sent |
//! | more than `n` | overwritten: the receiver has lagged |
//!
//! No wake is lost: a send changes the slot and the tail under the tail's lock, and then takes the waiting
//! receivers out of the list. A receiver joins the list under the same lock, after it has compared its number
//! with the tail's once more.
//!
//! Many receivers are woken in rounds, with the lock released in between. A place's word is the number that
//! its receiver waits for, so a round stops at the first receiver that waits for the next value already.
//!
//! A value is dropped when the last of the receivers that it was sent to has taken it, or when it is
//! overwritten. Its destructor is user code, so it never runs under a lock. Cloning a value is user code,
//! too, but happens under the slot's lock: the alternative is a copy on the heap for each value.

use crate::engine::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, MutexGuard, lock_briefly};
use crate::engine::tokio_note::noted;
use crate::engine::wakers::WaitList;
use crate::impls::impl_unwind_safe;
use crate::runtime::context;
use crate::runtime::gauges::{Gauge, Measured};
use std::panic::Location;

/// The most receivers that a channel may have.
pub(super) const MAX_RECEIVERS: usize = usize::MAX >> 2;

pub(super) struct Ring<T> {
    /// Their number is a power of two.
    slots: Box<[Mutex<RingSlot<T>>]>,
    pub(super) tail: WaitList<Tail>,
    /// The low bits of the number of the next value. A receiver that has received everything sees here that
    /// there is no more, without the slot's lock.
    sent: AtomicUsize,
    pub(super) senders: AtomicUsize,
    pub(super) weak_senders: AtomicUsize,
    /// Tasks in [`Sender::closed`](super::Sender::closed).
    pub(super) unheard: WaitList<()>,
    gauge: Gauge,
}

// User code under a lock is a value's `clone` alone, which changes nothing here.
impl_unwind_safe!([T] Ring<T>);

pub(super) struct Tail {
    /// The number of the next value.
    pub(super) next: u64,
    pub(super) receivers: usize,
    /// The last sender was dropped.
    pub(super) closed: bool,
}

impl Tail {
    /// Whether a receiver that wants value `number` has to wait.
    pub(super) fn is_waited_for(&self, number: u64) -> bool {
        number == self.next && !self.closed
    }
}

/// One place for a value.
pub(super) struct RingSlot<T> {
    number: u64,
    /// How many receivers have not taken it.
    left: usize,
    value: Option<T>,
}

/// What a receiver finds.
pub(super) enum Found<'a, T> {
    Value(Taken<'a, T>),
    /// The value has not been sent yet.
    Empty,
    Closed,
    /// Contains how many values were overwritten.
    Lagged(u64),
}

impl<T> Ring<T> {
    /// Returns a ring with room for at least `capacity` values, for one sender.
    #[track_caller]
    pub(super) fn new(capacity: usize, receivers: usize) -> Arc<Self> {
        assert!(capacity > 0, noted!("broadcast channel capacity cannot be zero"));
        assert!(
            capacity <= usize::MAX >> 1,
            noted!("broadcast channel capacity exceeded `usize::MAX / 2`")
        );
        let places = capacity.next_power_of_two() as u64;
        let slot =
            |index: u64| RingSlot { number: index.wrapping_sub(places), left: 0, value: None };
        let ring = Arc::new(Self {
            slots: (0..places).map(|index| Mutex::new(slot(index))).collect(),
            tail: WaitList::new(Tail { next: 0, receivers, closed: false }),
            sent: AtomicUsize::new(0),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            unheard: WaitList::new(()),
            gauge: Gauge::new(Measured::Broadcast, Some(places as usize), Location::caller()),
        });
        ring.gauge.is_of(|| [std::ptr::from_ref(&*ring).addr(), 0]);
        ring
    }

    fn slot(&self, number: u64) -> MutexGuard<'_, RingSlot<T>> {
        // The mask makes the index smaller than the number of slots.
        lock_briefly(&self.slots[number as usize & (self.slots.len() - 1)])
    }

    /// Stores `value` for all receivers, and wakes those that wait; returns how many receivers there are.
    pub(super) fn send(&self, value: T) -> Result<usize, T> {
        let mut tail = self.tail.lock();
        let receivers = tail.receivers;
        if receivers == 0 {
            drop(tail);
            return Err(value);
        }
        let number = tail.next;
        tail.next = number.wrapping_add(1);
        let mut slot = self.slot(number);
        slot.number = number;
        slot.left = receivers;
        let old = slot.value.replace(value);
        drop(slot);
        // Ordering: Relaxed, read by `seems_sent`: a receiver that reads an old number looks again under the
        // tail's lock.
        self.sent.store(tail.next as usize, Ordering::Relaxed);
        // The word of a place has only the low bits of a number on a 32-bit system. They are enough to tell
        // a number from the numbers near it.
        context::wake_together(|| self.tail.wake(tail, 0, |word| !is_later(word, number)));
        drop(old);
        Ok(receivers)
    }

    /// Closes the channel, for the last sender: receivers still get the values that are there.
    pub(super) fn close(&self) {
        let mut tail = self.tail.lock();
        tail.closed = true;
        context::wake_together(|| self.tail.wake(tail, 0, |_| true));
    }

    /// Whether value `number` has been sent, as far as can be seen without a lock.
    pub(super) fn seems_sent(&self, number: u64) -> bool {
        // Ordering: Relaxed. The partner is the store in `send`; the lock of the slot, or that of the tail,
        // orders the value.
        self.sent.load(Ordering::Relaxed) != number as usize
    }

    /// Looks for value `number`.
    pub(super) fn find(&self, number: u64) -> Found<'_, T> {
        if let Some(taken) = self.take(number) {
            return Found::Value(taken);
        }
        let tail = self.tail.lock();
        if number == tail.next {
            return if tail.closed { Found::Closed } else { Found::Empty };
        }
        // Again, because it may have been sent before the tail was locked.
        if let Some(taken) = self.take(number) {
            return Found::Value(taken);
        }
        let oldest = tail.next.wrapping_sub(self.slots.len() as u64);
        let lost = oldest.wrapping_sub(number);
        self.gauge.lose(lost);
        Found::Lagged(lost)
    }

    fn take(&self, number: u64) -> Option<Taken<'_, T>> {
        let slot = self.slot(number);
        (slot.number == number).then(|| Taken { slot: Some(slot) })
    }

    /// Adds a receiver; returns the number of its first value.
    #[track_caller]
    pub(super) fn enter(&self) -> u64 {
        let mut tail = self.tail.lock();
        let fits = tail.receivers < MAX_RECEIVERS;
        assert!(fits, noted!("a broadcast channel has too many receivers"));
        tail.receivers += 1;
        tail.next
    }

    /// Removes a receiver; returns the number after that of the last value that was sent to it, and whether
    /// it was the last receiver.
    pub(super) fn leave(&self) -> (u64, bool) {
        let mut tail = self.tail.lock();
        tail.receivers -= 1;
        (tail.next, tail.receivers == 0)
    }

    /// Wakes the tasks that wait until there is no receiver. Stops if there is a receiver again: the tasks
    /// would find it and wait again, and the rounds would never end.
    pub(super) fn tell_unheard(&self) {
        self.unheard.wake_in_rounds(self.unheard.lock(), |locked, wakes| {
            self.tail.lock().receivers > 0 || locked.pop_into(wakes, 0, |_| true)
        });
    }

    /// How many values are kept for receivers.
    pub(super) fn len(&self) -> usize {
        let tail = self.tail.lock();
        // Receivers take values in order, so the values that are still wanted are the last ones.
        let (mut wanted, mut taken) = (0, self.slots.len() as u64);
        while wanted < taken {
            let middle = wanted + (taken - wanted).div_ceil(2);
            if self.slot(tail.next.wrapping_sub(middle)).left > 0 {
                wanted = middle;
            } else {
                taken = middle - 1;
            }
        }
        wanted as usize
    }

    /// Whether no value is kept for a receiver.
    pub(super) fn is_empty(&self) -> bool {
        let tail = self.tail.lock();
        self.slot(tail.next.wrapping_sub(1)).left == 0
    }

    /// Adds a sender if there is one.
    pub(super) fn add_sender(&self) -> bool {
        let more = |senders| (senders != 0).then_some(senders + 1);
        // Ordering: Relaxed, as for the count of an Arc: the caller has a handle already.
        self.senders.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

/// Whether the number whose low bits are `word` comes after `until`.
fn is_later(word: usize, until: u64) -> bool {
    let after = word.wrapping_sub(until as usize);
    after != 0 && after < usize::MAX >> 1
}

/// A value that a receiver takes. It counts as taken when this is dropped, also if its clone panics.
pub(super) struct Taken<'a, T> {
    /// Taken by drop only.
    slot: Option<MutexGuard<'a, RingSlot<T>>>,
}

impl<'a, T> Taken<'a, T> {
    /// Returns a clone of the value.
    pub(super) fn value(&self) -> T
    where
        T: Clone,
    {
        let value = self.slot.as_ref().and_then(|slot| slot.value.clone());
        value.expect("a value is kept until all have it")
    }
}

impl<T> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        let mut slot = self.slot.take().expect("taken here only");
        slot.left -= 1;
        let last = if slot.left == 0 { slot.value.take() } else { None };
        // The lock is released first, because the destructor of the value may use the channel.
        drop(slot);
        drop(last);
    }
}
