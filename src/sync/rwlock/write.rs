//! The write guard that borrows the lock.

use super::{RwLock, RwLockMappedWriteGuard, RwLockReadGuard};
use crate::sync::guarded::{Exclusive, guards_mut};
use crate::sync::permits::Permits;
use std::marker::PhantomData;
use std::panic::RefUnwindSafe;

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

    /// Returns a guard for the part of the data that `f` picks.
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
    #[inline]
    pub fn map<F, U: ?Sized>(this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        RwLockMappedWriteGuard::new(this.inner.map(f))
    }

    /// Returns a guard for the part of the data that `f` picks, if it picks one.
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

    /// Returns a read guard for the part of the data that `f` picks. No writer gets the lock in between.
    #[inline]
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        RwLockReadGuard::new(this.inner.downgrade(f))
    }

    /// Returns a read guard for the part of the data that `f` picks, if it picks one. No writer gets the lock
    /// in between.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    #[inline]
    pub fn try_downgrade_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        this.inner.try_downgrade(f).map(RwLockReadGuard::new).map_err(Self::new)
    }

    /// Returns a guard of the type that [`map`](Self::map) makes, for all of the data.
    #[inline]
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        RwLockMappedWriteGuard::new(this.inner)
    }

    /// Returns a read guard. No writer gets the lock in between.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::RwLock;
    ///
    /// # liten::block_on(async {
    /// let lock = RwLock::new(1);
    /// let mut writes = lock.write().await;
    /// *writes += 1;
    /// let reads = writes.downgrade();
    /// // Other tasks may read now, too.
    /// assert_eq!((*reads, *lock.read().await), (2, 2));
    /// # });
    /// ```
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        Self::downgrade_map(self, |data| data)
    }
}

// Shared, it only lends the data to be read.
impl<T: ?Sized + RefUnwindSafe> RefUnwindSafe for RwLockWriteGuard<'_, T> {}

guards_mut! {
    [T: ?Sized] RwLockWriteGuard<'_, T> => T;
}
