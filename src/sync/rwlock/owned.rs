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

    /// Returns a guard for the part of the data that `f` picks.
    #[inline]
    pub fn map<F, U: ?Sized>(this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        OwnedRwLockMappedWriteGuard::new(this.inner.map(f))
    }

    /// Returns a guard for the part of the data that `f` picks, if it picks one.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    #[inline]
    pub fn try_map<F, U: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        this.inner.try_map(f).map(OwnedRwLockMappedWriteGuard::new).map_err(Self::new)
    }

    /// Returns a read guard for the part of the data that `f` picks. No writer gets the lock in between.
    #[inline]
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, U>
    where
        F: FnOnce(&T) -> &U,
    {
        OwnedRwLockReadGuard::new(this.inner.downgrade(f))
    }

    /// Returns a read guard for the part of the data that `f` picks, if it picks one. No writer gets the lock
    /// in between.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    #[inline]
    pub fn try_downgrade_map<F, U: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockReadGuard<T, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        this.inner.try_downgrade(f).map(OwnedRwLockReadGuard::new).map_err(Self::new)
    }

    /// Returns a guard of the type that [`map`](Self::map) makes, for all of the data.
    #[inline]
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T> {
        OwnedRwLockMappedWriteGuard::new(this.inner)
    }

    /// Returns a read guard. No writer gets the lock in between.
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        Self::downgrade_map(self, |data| data)
    }

    /// Returns the lock that it has locked.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        this.inner.way()
    }
}

guards_mut! {
    [T: ?Sized] OwnedRwLockWriteGuard<T> => T;
}
