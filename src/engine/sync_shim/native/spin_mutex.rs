//! Locks that are held for a short time: [`SpinWord`] behind the interface of lock_api, whose protocol is in
//! the file of the word, and a lock of parking_lot that is worth some waiting before the thread sleeps.
#![allow(unsafe_code)]

use crate::engine::sync_shim::spin_word::{SpinWord, ask_for_some_time};
use parking_lot::lock_api::{self, GuardNoSend, RawMutex};
use parking_lot::{Mutex, MutexGuard};

/// A lock that is held for a few dozen instructions at a time, and never while user code runs.
///
/// The holder waits for nothing, with two exceptions, in which a waiter may sleep.
/// [`broadcast`](crate::sync::broadcast)'s `send` waits, under the lock of the tail, for a receiver that
/// clones a value in the slot that it overwrites. And a root that waits until no pinned task is alive looks
/// at the threads of those tasks, which may be about to get one more.
pub(crate) type SpinMutex<T> = lock_api::Mutex<RawSpinMutex, T>;
pub(crate) type SpinMutexGuard<'a, T> = lock_api::MutexGuard<'a, RawSpinMutex, T>;

pub(crate) struct RawSpinMutex(SpinWord);

// SAFETY: of the threads whose exchange finds `false`, each is followed by its own `unlock` before another
// exchange finds `false`, so one at a time is the holder.
unsafe impl RawMutex for RawSpinMutex {
    #[allow(clippy::declare_interior_mutable_const, reason = "the trait asks for it")]
    const INIT: Self = Self(SpinWord::new());

    type GuardMarker = GuardNoSend;

    #[inline]
    fn lock(&self) {
        self.0.lock();
    }

    #[inline]
    fn try_lock(&self) -> bool {
        self.0.try_lock()
    }

    #[inline]
    unsafe fn unlock(&self) {
        self.0.unlock();
    }
}

/// Locks what is mostly held for a few dozen instructions, such as a slot of `sync::broadcast`.
///
/// Tries for some microseconds before the thread sleeps: the holder will have released the lock by then,
/// unless the system has taken its core away, or it clones a large value. parking_lot gives its core away
/// after fourteen pauses.
#[inline]
pub(crate) fn lock_briefly<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.try_lock().unwrap_or_else(|| lock_after_some_time(mutex))
}

#[cold]
fn lock_after_some_time<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    ask_for_some_time(|| mutex.is_locked(), || mutex.try_lock()).unwrap_or_else(|| mutex.lock())
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::SpinMutex;

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
                        (0..32).for_each(|_| std::hint::spin_loop());
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
                // Ordering: Release pairs with the Acquire below. What is tested goes by the lock alone.
                asked.store(true, Ordering::Release);
                *lock.lock()
            });
            // Ordering: Acquire pairs with the Release above.
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
