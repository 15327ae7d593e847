//! The primitives that are shipped on wasm, where there is one thread: std alone. No deque, and no count of
//! CPUs.

pub(crate) use super::plain::*;
/// A lock that lives in a static.
pub(crate) use Mutex as StaticMutex;
pub(crate) use MutexGuard as StaticMutexGuard;
use std::sync::PoisonError;
pub(crate) use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// std's lock with parking_lot's interface. It is a flag here: no thread waits for it, and there is no
/// poison, because a panic ends the program.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    // Not inlined: the check that it is free is larger than a call.
    #[inline(never)]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As [`Mutex`], with readers.
#[derive(Debug)]
pub(crate) struct RwLock<T>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        self.0.try_read().ok()
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks `lock` for reading. There is no other thread that could be overtaken.
pub(crate) fn read_or_overtake<T>(
    lock: &RwLock<T>,
    _: std::time::Duration,
) -> Option<(RwLockReadGuard<'_, T>, bool)> {
    Some((lock.read(), false))
}

/// The lock of the lists of waiting futures: the same here.
pub(crate) use self::{Mutex as SpinMutex, MutexGuard as SpinMutexGuard};

/// Locks what is held for a short time.
pub(crate) fn lock_briefly<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
