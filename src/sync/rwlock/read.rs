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

    parts! {
        [&] T => U, RwLockReadGuard<'a>;
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

    parts!([&] U => V, OwnedRwLockReadGuard<T>;);

    /// Returns the lock that it has locked.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        this.inner.way()
    }
}

guards! {
    [T: ?Sized] RwLockReadGuard<'_, T> => T;
    [T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U> => U;
}
