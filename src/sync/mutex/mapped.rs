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

    parts!([&mut] T => U, MappedMutexGuard<'a>, [U, F] [U: ?Sized,];);
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

    parts!([&mut] U => S, OwnedMappedMutexGuard<T>, [S, F] [S: ?Sized,];);
}

guards_mut! {
    [T: ?Sized] MappedMutexGuard<'_, T> => T;
    [T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U> => U;
}
