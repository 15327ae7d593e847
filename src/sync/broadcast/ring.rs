//! The part that senders and receivers of a broadcast channel share: a ring of values and a line of
//! receivers.
//!
//! Values are numbered from 0; number `n` lies in slot `n mod capacity`. A slot is under a lock of its own,
//! so that receivers at different places do not meet. A send and a receiver that finds no value take the
//! tail's lock first, then a slot's; no thread takes the tail's while it holds a slot's. The lock of the line
//! that waits for the last receiver to go comes before the tail's.
//!
//! | a receiver that wants `n` finds the slot at | that is |
//! |---|---|
//! | `n` | its value |
//! | `n - capacity` | a value that was sent one round earlier: `n` has not been sent |
//! | more than `n` | overwritten: the receiver has lagged |
//!
//! No wake is lost: a send changes the slot and the tail under the tail's lock, and takes the line out then.
//! A receiver joins under the same lock, after it has looked at the slot again.
//!
//! A crowd is woken in rounds, with the lock released in between. A place's word is the number that its
//! receiver waits for, so a round stops at the first receiver that has come back for the next value.
//!
//! A value is dropped when the last of the receivers that it was sent to has taken it, or when it is
//! overwritten; never under a lock, because its destructor is user code. To clone it is user code too, and
//! happens under the slot's lock: the alternative is a copy on the heap for each value.

use crate::runtime::context;
use crate::sync_shim::atomic::{AtomicUsize, Ordering};
use crate::sync_shim::{Mutex, MutexGuard, lock_briefly};
use crate::wakers::{Batch, WaitList};

/// The most receivers that a channel may have.
pub(super) const MAX_RECEIVERS: usize = usize::MAX >> 2;

pub(super) struct Ring<T> {
    slots: Box<[Mutex<Slot<T>>]>,
    /// The number of slots is a power of two.
    mask: u64,
    pub(super) tail: WaitList<Tail>,
    /// The last bits of the number of the next value: spares a receiver that has taken all the slot's lock.
    sent: AtomicUsize,
    pub(super) senders: AtomicUsize,
    pub(super) weak_senders: AtomicUsize,
    /// Tasks in [`Sender::closed`](super::Sender::closed).
    pub(super) unheard: WaitList<()>,
}

pub(super) struct Tail {
    /// The number of the next value.
    pub(super) next: u64,
    pub(super) receivers: usize,
    /// The last sender is gone.
    pub(super) closed: bool,
}

impl Tail {
    /// Whether a receiver that wants value `number` has to wait.
    pub(super) fn is_waited_for(&self, number: u64) -> bool {
        number == self.next && !self.closed
    }
}

/// One place for a value.
pub(super) struct Slot<T> {
    number: u64,
    /// Receivers that have not taken it.
    left: usize,
    value: Option<T>,
}

/// What a receiver finds.
pub(super) enum Found<'a, T> {
    Value(Taken<'a, T>),
    /// Nothing has been sent since.
    Empty,
    Closed,
    /// So many values were overwritten.
    Lagged(u64),
}

impl<T> Ring<T> {
    /// Returns a ring with room for at least `capacity` values, for one sender.
    #[track_caller]
    pub(super) fn new(capacity: usize, receivers: usize) -> Self {
        assert!(capacity > 0, "a broadcast channel needs room for one value at least");
        assert!(
            capacity <= usize::MAX >> 1,
            "a broadcast channel has at most usize::MAX / 2 places"
        );
        let places = capacity.next_power_of_two() as u64;
        let slot = |index: u64| Slot { number: index.wrapping_sub(places), left: 0, value: None };
        Self {
            slots: (0..places).map(|index| Mutex::new(slot(index))).collect(),
            mask: places - 1,
            tail: WaitList::new(Tail { next: 0, receivers, closed: false }),
            sent: AtomicUsize::new(0),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            unheard: WaitList::new(()),
        }
    }

    fn slot(&self, number: u64) -> MutexGuard<'_, Slot<T>> {
        // The mask makes it smaller than the count of slots.
        lock_briefly(&self.slots[(number & self.mask) as usize])
    }

    /// Stores `value` for the receivers there are, and wakes those that wait; returns how many there are.
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
        // Ordering: Relaxed, a hint: a receiver that reads an old one looks again under the tail's lock.
        self.sent.store(tail.next as usize, Ordering::Relaxed);
        // Words are as long as addresses: what is left of a number is enough to tell it from the next.
        context::wake_together(|| self.tail.wake(tail, 0, |word| !is_later(word, number)));
        drop(old);
        Ok(receivers)
    }

    /// The last sender is gone: receivers end when they have taken what there is.
    pub(super) fn close(&self) {
        let mut tail = self.tail.lock();
        tail.closed = true;
        context::wake_together(|| self.tail.wake(tail, 0, |_| true));
    }

    /// Whether value `number` has been sent, as far as can be seen without a lock.
    pub(super) fn seems_sent(&self, number: u64) -> bool {
        // Ordering: Relaxed, as above.
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
        let oldest = tail.next.wrapping_sub(self.mask + 1);
        Found::Lagged(oldest.wrapping_sub(number))
    }

    fn take(&self, number: u64) -> Option<Taken<'_, T>> {
        let slot = self.slot(number);
        (slot.number == number).then(|| Taken { slot: Some(slot) })
    }

    /// Adds a receiver; returns the number of its first value.
    #[track_caller]
    pub(super) fn enter(&self) -> u64 {
        let mut tail = self.tail.lock();
        assert!(tail.receivers < MAX_RECEIVERS, "a broadcast channel has too many receivers");
        tail.receivers += 1;
        tail.next
    }

    /// Takes a receiver away; returns the number behind the last value that was sent to it, and whether it
    /// was the last receiver.
    pub(super) fn leave(&self) -> (u64, bool) {
        let mut tail = self.tail.lock();
        tail.receivers -= 1;
        (tail.next, tail.receivers == 0)
    }

    /// Wakes the tasks that wait for the last receiver to go, unless there is one again: they go on waiting
    /// for that one, and would come back after each round, for ever.
    pub(super) fn tell_unheard(&self) {
        let mut batch = Batch::new();
        loop {
            let mut locked = self.unheard.lock();
            if self.tail.lock().receivers > 0 {
                return;
            }
            let done = locked.pop_into(&mut batch, 0, |_| true);
            drop(locked);
            batch.wake();
            if done {
                return;
            }
        }
    }

    /// How many values are kept for receivers.
    pub(super) fn len(&self) -> usize {
        let tail = self.tail.lock();
        // Receivers take values in order, so the values that are still wanted are the last ones.
        let (mut wanted, mut taken) = (0, self.mask + 1);
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
        // Ordering: Relaxed, the exchange decides.
        let mut senders = self.senders.load(Ordering::Relaxed);
        while senders != 0 {
            // Ordering: Relaxed, as for the count of an Arc: the caller has a handle already.
            let exchanged = self.senders.compare_exchange_weak(
                senders,
                senders + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            match exchanged {
                Ok(_) => return true,
                Err(now) => senders = now,
            }
        }
        false
    }
}

/// Whether the number whose last bits are `word` comes after `until`.
fn is_later(word: usize, until: u64) -> bool {
    let after = word.wrapping_sub(until as usize);
    after != 0 && after < usize::MAX >> 1
}

/// A value that a receiver takes; counted as taken when this is dropped, also by a panic of its clone.
pub(super) struct Taken<'a, T> {
    /// Taken by drop only.
    slot: Option<MutexGuard<'a, Slot<T>>>,
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
        // Before the value, whose destructor may come back here.
        drop(slot);
        drop(last);
    }
}
