//! The write guards of a part of the data.

use super::RwLock;
use crate::sync::guarded::{Exclusive, guards_mut};
use crate::sync::permits::Permits;
use std::marker::PhantomData;
use std::panic::RefUnwindSafe;
use std::sync::Arc;

/// A part of the data of a [`RwLock`], to be changed; unlocks it when it is dropped.
///
/// Made by [`RwLockWriteGuard::map`](super::RwLockWriteGuard::map). It cannot become a read guard, because
/// the part may be an exclusive reference to something that readers of the whole would see at the same time.
#[clippy::has_significant_drop]
pub struct RwLockMappedWriteGuard<'a, T: ?Sized> {
    inner: Exclusive<&'a Permits, u32, T>,
    /// The guard is `Send` as the guard that it was made from is.
    _lock: PhantomData<&'a RwLock<T>>,
}

impl<'a, T: ?Sized> RwLockMappedWriteGuard<'a, T> {
    #[inline]
    pub(super) fn new(inner: Exclusive<&'a Permits, u32, T>) -> Self {
        Self { inner, _lock: PhantomData }
    }

    /// Returns a guard for the part that `f` picks out of this guard's part.
    #[inline]
    pub fn map<F, U: ?Sized>(this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        RwLockMappedWriteGuard::new(this.inner.map(f))
    }

    /// Returns a guard for the part that `f` picks out of this guard's part, if it picks one.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    #[inline]
    pub fn try_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        this.inner.try_map(f).map(RwLockMappedWriteGuard::new).map_err(Self::new)
    }
}

/// As [`RwLockMappedWriteGuard`], but keeps the lock alive and borrows nothing.
///
/// Made by [`OwnedRwLockWriteGuard::map`](super::OwnedRwLockWriteGuard::map).
#[clippy::has_significant_drop]
pub struct OwnedRwLockMappedWriteGuard<T: ?Sized, U: ?Sized = T> {
    inner: Exclusive<Arc<RwLock<T>>, u32, U>,
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    #[inline]
    pub(super) fn new(inner: Exclusive<Arc<RwLock<T>>, u32, U>) -> Self {
        Self { inner }
    }

    /// Returns a guard for the part that `f` picks out of this guard's part.
    #[inline]
    pub fn map<F, V: ?Sized>(this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, V>
    where
        F: FnOnce(&mut U) -> &mut V,
    {
        OwnedRwLockMappedWriteGuard::new(this.inner.map(f))
    }

    /// Returns a guard for the part that `f` picks out of this guard's part, if it picks one.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    #[inline]
    pub fn try_map<F, V: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, V>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut V>,
    {
        this.inner.try_map(f).map(OwnedRwLockMappedWriteGuard::new).map_err(Self::new)
    }

    /// Returns the lock that it has locked.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        this.inner.way()
    }
}

// Shared, it only lends the data to be read.
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for RwLockMappedWriteGuard<'_, T> {}

guards_mut! {
    [T: ?Sized] RwLockMappedWriteGuard<'_, T> => T;
    [T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U> => U;
}
