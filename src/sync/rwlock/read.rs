//! The read guards.

use super::RwLock;
use crate::sync::guarded::{Shared, guards};
use crate::sync::permits::Permits;
use std::marker::PhantomData;
use std::sync::Arc;

/// The data of a [`RwLock`], or a part of it, to be read; unlocks it when it is dropped.
#[clippy::has_significant_drop]
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    inner: Shared<&'a Permits, T>,
    _data: PhantomData<&'a T>,
}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    #[inline]
    pub(super) fn new(inner: Shared<&'a Permits, T>) -> Self {
        Self { inner, _data: PhantomData }
    }

    /// Returns a guard for the part of the data that `f` picks.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::{RwLock, RwLockReadGuard};
    ///
    /// # liten::block_on(async {
    /// let lock = RwLock::new((1, "one"));
    /// let name = RwLockReadGuard::map(lock.read().await, |pair| pair.1);
    /// assert_eq!(&*name, "one");
    /// # });
    /// ```
    #[inline]
    pub fn map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        RwLockReadGuard::new(this.inner.map(f))
    }

    /// Returns a guard for the part of the data that `f` picks, if it picks one.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    #[inline]
    pub fn try_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        this.inner.try_map(f).map(RwLockReadGuard::new).map_err(Self::new)
    }
}

/// As [`RwLockReadGuard`], but keeps the lock alive and borrows nothing.
#[clippy::has_significant_drop]
pub struct OwnedRwLockReadGuard<T: ?Sized, U: ?Sized = T> {
    inner: Shared<Arc<RwLock<T>>, U>,
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    #[inline]
    pub(super) fn new(inner: Shared<Arc<RwLock<T>>, U>) -> Self {
        Self { inner }
    }

    /// Returns a guard for the part of the data that `f` picks.
    #[inline]
    pub fn map<F, V: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, V>
    where
        F: FnOnce(&U) -> &V,
    {
        OwnedRwLockReadGuard::new(this.inner.map(f))
    }

    /// Returns a guard for the part of the data that `f` picks, if it picks one.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    #[inline]
    pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, V>, Self>
    where
        F: FnOnce(&U) -> Option<&V>,
    {
        this.inner.try_map(f).map(OwnedRwLockReadGuard::new).map_err(Self::new)
    }

    /// Returns the lock that it has locked.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        this.inner.way()
    }
}

guards! {
    [T: ?Sized] RwLockReadGuard<'_, T> => T;
    [T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U> => U;
}
