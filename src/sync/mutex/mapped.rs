//! The guards that give access to a part of a mutex's data.

use super::Mutex;
use crate::sync::guarded::{Exclusive, One, guards_mut};
use crate::sync::permits::Permits;
use std::marker::PhantomData;
use std::sync::Arc;

/// A part of the data of a locked [`Mutex`]; unlocks it when it is dropped.
///
/// Made by [`MutexGuard::map`](super::MutexGuard::map).
#[clippy::has_significant_drop]
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    inner: Exclusive<&'a Permits, One, T>,
    _data: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    #[inline]
    pub(super) fn new(inner: Exclusive<&'a Permits, One, T>) -> Self {
        Self { inner, _data: PhantomData }
    }

    /// Returns a guard for the part that `f` picks out of this guard's part.
    #[inline]
    pub fn map<U, F>(this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        MappedMutexGuard::new(this.inner.map(f))
    }

    /// Returns a guard for the part that `f` picks out of this guard's part, if it picks one.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    #[inline]
    pub fn try_map<U, F>(this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        this.inner.try_map(f).map(MappedMutexGuard::new).map_err(Self::new)
    }
}

/// As [`MappedMutexGuard`], but keeps the mutex alive and borrows nothing.
///
/// Made by [`OwnedMutexGuard::map`](super::OwnedMutexGuard::map).
#[clippy::has_significant_drop]
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized = T> {
    inner: Exclusive<Arc<Mutex<T>>, One, U>,
    /// The guard is `Sync` as `T` is.
    _data: PhantomData<Box<T>>,
}

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    #[inline]
    pub(super) fn new(inner: Exclusive<Arc<Mutex<T>>, One, U>) -> Self {
        Self { inner, _data: PhantomData }
    }

    /// Returns a guard for the part that `f` picks out of this guard's part.
    #[inline]
    pub fn map<S, F>(this: Self, f: F) -> OwnedMappedMutexGuard<T, S>
    where
        S: ?Sized,
        F: FnOnce(&mut U) -> &mut S,
    {
        OwnedMappedMutexGuard::new(this.inner.map(f))
    }

    /// Returns a guard for the part that `f` picks out of this guard's part, if it picks one.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    #[inline]
    pub fn try_map<S, F>(this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, S>, Self>
    where
        S: ?Sized,
        F: FnOnce(&mut U) -> Option<&mut S>,
    {
        this.inner.try_map(f).map(OwnedMappedMutexGuard::new).map_err(Self::new)
    }
}

guards_mut! {
    [T: ?Sized] MappedMutexGuard<'_, T> => T;
    [T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U> => U;
}
