//! A lock for what is held for a few dozen instructions at a time, whose release is a plain store.
//!
//! A lock that wakes its waiters has to find out at each release whether there are any, by a
//! read-modify-write. That is half the cost of a lock that no other thread wants. Here the release does not
//! look for waiters, so they are not woken. A waiter asks again and again for some microseconds: the holder
//! will have released the lock by then, unless the system has taken its core away. After that the waiter
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
//! is no queue. A thread can be overtaken, but the others spend more time outside the lock than under it.
//!
//! What it brought, beside parking_lot's lock with as many attempts before the first sleep (liten's time with
//! this / with that, medians of two runs): unbounded channel 0.85, Notify with a thousand tasks 0.82, sixteen
//! senders of one channel 0.89; the other rows of `versus -- sync` the same within their noise.
//!
//! Rejected: to park and wake by means of a barrier in all threads (`membarrier`), which keeps the store, but
//! is there on Linux and Windows alone.
#![allow(unsafe_code)]

use crate::sync_shim::atomic::{AtomicBool, Ordering};
use crate::sync_shim::thread;
use parking_lot::lock_api::{self, GuardNoSend, RawMutex};
use std::hint;
use std::time::Duration;

/// A lock that is never held while user code runs, or while the holder waits for anything.
pub(crate) type SpinMutex<T> = lock_api::Mutex<RawSpinMutex, T>;
pub(crate) type SpinMutexGuard<'a, T> = lock_api::MutexGuard<'a, RawSpinMutex, T>;

/// Attempts before a thread sleeps, and pauses before each of them: 256 pauses are 3 to 10 microseconds.
const ATTEMPTS: u32 = 32;
const PAUSES: u32 = 8;
/// The first sleep is as short as Linux makes one; each is twice as long as the one before.
const FIRST_SLEEP: Duration = Duration::from_micros(50);
/// So late at most does a thread see that a holder which had lost its core has released the lock.
const LONGEST_SLEEP: Duration = Duration::from_micros(800);

/// Whether it is locked.
pub(crate) struct RawSpinMutex(AtomicBool);

// SAFETY: of the threads whose exchange finds `false`, each is followed by its own `unlock` before another
// exchange finds `false`, so one at a time is the holder.
unsafe impl RawMutex for RawSpinMutex {
    #[allow(clippy::declare_interior_mutable_const, reason = "the trait asks for it")]
    const INIT: Self = Self(AtomicBool::new(false));

    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    #[inline]
    fn try_lock(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `unlock`: the holder sees what the last one did.
        !self.0.swap(true, Ordering::Acquire)
    }

    #[inline]
    unsafe fn unlock(&self) {
        // Ordering: Release, for the next holder.
        self.0.store(false, Ordering::Release);
    }

    #[inline]
    fn is_locked(&self) -> bool {
        // Ordering: Relaxed, a hint before an exchange.
        self.0.load(Ordering::Relaxed)
    }
}

impl RawSpinMutex {
    #[cold]
    fn lock_contended(&self) {
        let mut sleep = FIRST_SLEEP;
        while ask_for_some_time(|| self.is_locked(), || self.try_lock().then_some(())).is_none() {
            thread::sleep(sleep);
            sleep = LONGEST_SLEEP.min(2 * sleep);
        }
    }
}

/// Asks for a lock for some microseconds; returns what `try_lock` does when it has it.
pub(super) fn ask_for_some_time<G>(
    is_locked: impl Fn() -> bool,
    try_lock: impl Fn() -> Option<G>,
) -> Option<G> {
    for _ in 0..ATTEMPTS {
        (0..PAUSES).for_each(|_| hint::spin_loop());
        // It is looked at first: an exchange takes the cache line away from the holder.
        if !is_locked() {
            if let Some(guard) = try_lock() {
                return Some(guard);
            }
        }
    }
    None
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{ATTEMPTS, SpinMutex};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn one_thread_at_a_time_is_the_holder() {
        const THREADS: usize = 4;
        const TURNS: usize = if cfg!(miri) { 20 } else { 20_000 };
        let sum = SpinMutex::new(0);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..TURNS {
                        let mut sum = sum.lock();
                        let seen = *sum;
                        // Time for another holder to add something, if there were one.
                        (0..ATTEMPTS).for_each(|_| std::hint::spin_loop());
                        *sum = seen + 1;
                    }
                });
            }
        });
        assert_eq!(sum.into_inner(), THREADS * TURNS);
    }

    #[test]
    fn a_thread_that_waits_gets_it_with_what_the_holder_wrote() {
        let (lock, asked) = (SpinMutex::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            let mut held = lock.lock();
            let waiter = scope.spawn(|| {
                asked.store(true, Ordering::Release);
                *lock.lock()
            });
            while !asked.load(Ordering::Acquire) {
                thread::yield_now();
            }
            assert!(lock.try_lock().is_none(), "it is held");
            *held = 7;
            drop(held);
            assert_eq!(waiter.join().unwrap(), 7, "the waiter sees what the holder wrote");
        });
        assert!(lock.try_lock().is_some(), "it was released");
    }
}
