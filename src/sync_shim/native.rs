//! What is shipped: std, with parking_lot's locks and crossbeam's deques.

pub(crate) use crossbeam_deque as deque;
pub(crate) use num_cpus::get as cpus;
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};
/// A flag that the whole process shares.
pub(crate) use std::sync::atomic::AtomicBool as ProcessFlag;
pub(crate) use std::sync::{Arc, atomic};
pub(crate) use std::thread::{self, LocalKey};
pub(crate) use std::thread_local;

pub(crate) fn park_timeout(limit: std::time::Duration) {
    thread::park_timeout(limit);
}

/// Whether a thread has run its closure to the end.
pub(crate) fn has_ended<T>(thread: &thread::JoinHandle<T>) -> bool {
    thread.is_finished()
}

/// Lets other threads run for about so long.
pub(crate) fn pause(time: std::time::Duration) {
    thread::sleep(time);
}

/// Calls `wait`, which blocks in the system for `limit` at most; its `true` says that something came.
pub(crate) fn block<E>(
    limit: Option<std::time::Duration>,
    mut wait: impl FnMut(Option<std::time::Duration>) -> Result<bool, E>,
) -> Result<(), E> {
    wait(limit).map(drop)
}

pub(crate) mod clock {
    use std::time::Instant;

    #[inline]
    pub(crate) fn now() -> Instant {
        Instant::now()
    }
}

/// std's cell with loom's closure interface, so that loom can watch each access.
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}
