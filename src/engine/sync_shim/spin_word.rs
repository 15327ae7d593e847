//! A lock for what is held for a few dozen instructions at a time, whose release is a plain store.
//!
//! A lock that wakes its waiters has to find out at each release whether there are any, by a
//! read-modify-write. That is half the cost of a lock that no other thread wants. Here the release does not
//! look for waiters, so they are not woken. A waiter asks again every microsecond or two: the holder will
//! have released the lock by then, unless the system has taken its core away. After some attempts the waiter
//! sleeps between its attempts, so that the holder gets a core even if it has a lower priority.
//!
//! | locked | step | then |
//! |---|---|---|
//! | no | `lock`, `try_lock`: exchange, Acquire | yes; the caller is the holder |
//! | yes | `try_lock` | yes; the caller is refused |
//! | yes | `lock` | yes; the caller asks again, at last every [`LONGEST_SLEEP`] |
//! | yes | `unlock`, by the holder: store, Release | no |
//!
//! No thread waits for ever, because none waits for a message: each attempt looks at the lock itself. There
//! is no queue. A thread can be overtaken, but the others spend more time without the lock than with it.
//!
//! What it brought, beside parking_lot's lock with as many attempts before the first sleep (liten's time with
//! this / with that, medians of two runs): unbounded channel 0.85, Notify with a thousand tasks 0.82, sixteen
//! senders of one channel 0.89; the other rows of `versus -- sync` the same within their noise.
//!
//! Rejected: to park and wake by means of a barrier in all threads (`membarrier`), which keeps the store, but
//! is there on Linux and Windows alone.

use super::{ATTEMPTS, back_off, const_fn, pause};
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The first sleep is as short as Linux makes one; each is twice as long as the one before.
const FIRST_SLEEP: Duration = Duration::from_micros(50);
/// The longest sleep between two attempts. A waiter whose holder had lost its core sees the release no later
/// than this.
const LONGEST_SLEEP: Duration = Duration::from_micros(800);

/// Whether it is locked.
pub(super) struct SpinWord(AtomicBool);

impl SpinWord {
    const_fn! {
        pub(super) fn new() -> Self {
            Self(AtomicBool::new(false))
        }
    }

    #[inline]
    pub(super) fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    #[inline]
    pub(super) fn try_lock(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `unlock`: the holder sees what the last one did.
        // Relaxed on failure, because nothing is read then.
        //
        // A swap would do, too. loom cannot follow it: a swap that finds the lock held stores as well, and
        // loom does not know that the release comes after that store.
        let exchanged = self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        exchanged.is_ok()
    }

    /// To be called by the holder.
    #[inline]
    pub(super) fn unlock(&self) {
        // Ordering: Release pairs with the Acquire in `try_lock` of the next holder.
        self.0.store(false, Ordering::Release);
    }

    #[inline]
    pub(super) fn is_locked(&self) -> bool {
        // Ordering: Relaxed, `unlock` is not acquired here: the exchange in `try_lock` that follows decides.
        self.0.load(Ordering::Relaxed)
    }

    #[cold]
    fn lock_contended(&self) {
        let mut sleep = FIRST_SLEEP;
        while ask_for_some_time(|| self.is_locked(), || self.try_lock().then_some(())).is_none() {
            pause(sleep);
            sleep = LONGEST_SLEEP.min(2 * sleep);
        }
    }
}

/// Asks for a lock for some microseconds; returns what `try_lock` does when it has it.
pub(super) fn ask_for_some_time<G>(
    is_locked: impl Fn() -> bool,
    try_lock: impl Fn() -> Option<G>,
) -> Option<G> {
    for attempt in 0..ATTEMPTS {
        back_off(attempt);
        // It is looked at first: an exchange takes the cache line away from the holder.
        if !is_locked() {
            if let Some(guard) = try_lock() {
                return Some(guard);
            }
        }
    }
    None
}

#[cfg(all(test, liten_loom))]
mod loom;
