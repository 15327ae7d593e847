//! The write guards, of all the data and of a part of it.

use super::{OwnedRwLockReadGuard, RwLock, RwLockReadGuard};
use crate::sync::guarded::{Exclusive, guards_mut};
use crate::sync::permits::Permits;
use std::marker::PhantomData;
use std::panic::RefUnwindSafe;
use std::sync::Arc;

/// The data of a [`RwLock`], to be changed; unlocks it when it is dropped.
#[clippy::has_significant_drop]
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    inner: Exclusive<&'a Permits, u32, T>,
    /// It can become a read guard, so it is `Send` as a reference to the lock is.
    _lock: PhantomData<&'a RwLock<T>>,
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    #[inline]
    pub(super) fn new(inner: Exclusive<&'a Permits, u32, T>) -> Self {
        Self { inner, _lock: PhantomData }
    }

    parts! {
        [&mut] T => U, RwLockMappedWriteGuard<'a>;
        ///
        /// # Examples
        ///
        /// ```
        /// use liten::sync::{RwLock, RwLockWriteGuard};
        ///
        /// # liten::block_on(async {
        /// let lock = RwLock::new((1, "one"));
        /// *RwLockWriteGuard::map(lock.write().await, |pair| &mut pair.0) = 2;
        /// assert_eq!(*lock.read().await, (2, "one"));
        /// # });
        /// ```
    }
    downgrades!(RwLockMappedWriteGuard<'a, T>, RwLockReadGuard<'a, T>, RwLockReadGuard<'a, U>);
}

/// As [`RwLockWriteGuard`], but keeps the lock alive and borrows nothing.
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

/// A part of the data of a [`RwLock`], to be changed; unlocks it when it is dropped.
///
/// Made by [`RwLockWriteGuard::map`]. It cannot become a read guard, because the part may be an exclusive
/// reference to something that readers of the whole would see at the same time.
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

    parts!([&mut] T => U, RwLockMappedWriteGuard<'a>;);
}

/// As [`RwLockMappedWriteGuard`], but keeps the lock alive and borrows nothing.
///
/// Made by [`OwnedRwLockWriteGuard::map`].
#[clippy::has_significant_drop]
pub struct OwnedRwLockMappedWriteGuard<T: ?Sized, U: ?Sized = T> {
    inner: Exclusive<Arc<RwLock<T>>, u32, U>,
}

impl<T: ?Sized, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    #[inline]
    pub(super) fn new(inner: Exclusive<Arc<RwLock<T>>, u32, U>) -> Self {
        Self { inner }
    }

    parts!([&mut] U => V, OwnedRwLockMappedWriteGuard<T>;);

    /// Returns the lock that it has locked.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        this.inner.way()
    }
}

// Shared, they only lend the data to be read.
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for RwLockWriteGuard<'_, T> {}
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for RwLockMappedWriteGuard<'_, T> {}

guards_mut! {
    [T: ?Sized] RwLockWriteGuard<'_, T> => T;
    [T: ?Sized] OwnedRwLockWriteGuard<T> => T;
    [T: ?Sized] RwLockMappedWriteGuard<'_, T> => T;
    [T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U> => U;
}
