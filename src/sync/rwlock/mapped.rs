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

    parts!([&mut] T => U, RwLockMappedWriteGuard<'a>;);
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

    parts!([&mut] U => V, OwnedRwLockMappedWriteGuard<T>;);

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
