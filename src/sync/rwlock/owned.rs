//! The write guard that keeps the lock alive.

use super::{OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, RwLock};
use crate::sync::guarded::{Exclusive, guards_mut};
use std::sync::Arc;

/// As [`RwLockWriteGuard`](super::RwLockWriteGuard), but keeps the lock alive and borrows nothing.
#[clippy::has_significant_drop]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    inner: Exclusive<Arc<RwLock<T>>, u32, T>,
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    #[inline]
    pub(super) fn new(inner: Exclusive<Arc<RwLock<T>>, u32, T>) -> Self {
        Self { inner }
    }

    parts!([&mut] T => U, OwnedRwLockMappedWriteGuard<T>;);
    downgrades!(
        OwnedRwLockMappedWriteGuard<T>,
        OwnedRwLockReadGuard<T>,
        OwnedRwLockReadGuard<T, U>
    );

    /// Returns the lock that it has locked.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        this.inner.way()
    }
}

guards_mut! {
    [T: ?Sized] OwnedRwLockWriteGuard<T> => T;
}
