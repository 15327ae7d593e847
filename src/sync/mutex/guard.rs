//! The guards that give access to all of a mutex's data.

use super::{MappedMutexGuard, Mutex, OwnedMappedMutexGuard};
use crate::sync::guarded::{Held, One, guards_mut};
use std::marker::PhantomData;
use std::sync::Arc;

/// The data of a locked [`Mutex`]; unlocks it when it is dropped.
#[clippy::has_significant_drop]
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    inner: Held<&'a Mutex<T>, One>,
    /// The guard is `Send` and `Sync` as `&mut T` is.
    _data: PhantomData<&'a mut T>,
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    #[inline]
    pub(super) fn new(inner: Held<&'a Mutex<T>, One>) -> Self {
        Self { inner, _data: PhantomData }
    }

    /// Returns a guard for the part of the data that `f` picks.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::{Mutex, MutexGuard};
    ///
    /// # liten::block_on(async {
    /// let lock = Mutex::new((1, "one"));
    /// let mut number = MutexGuard::map(lock.lock().await, |pair| &mut pair.0);
    /// *number = 2;
    /// drop(number);
    /// assert_eq!(*lock.lock().await, (2, "one"));
    /// # });
    /// ```
    #[inline]
    pub fn map<U, F>(this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        MappedMutexGuard::new(this.inner.exclusive().narrow().map(f))
    }

    /// Returns a guard for the part of the data that `f` picks, if it picks one.
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
        match this.inner.exclusive().try_map(f) {
            Ok(part) => Ok(MappedMutexGuard::new(part.narrow())),
            Err(whole) => Err(Self::new(whole.into_held())),
        }
    }

    /// Returns the mutex that it has locked.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::{Mutex, MutexGuard};
    ///
    /// # liten::block_on(async {
    /// async fn release_and_lock_again<'a>(guard: MutexGuard<'a, i32>) -> MutexGuard<'a, i32> {
    ///     let lock = MutexGuard::mutex(&guard);
    ///     drop(guard);
    ///     lock.lock().await
    /// }
    ///
    /// let lock = Mutex::new(1);
    /// assert_eq!(*release_and_lock_again(lock.lock().await).await, 1);
    /// # });
    /// ```
    #[inline]
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.inner.way()
    }
}

/// As [`MutexGuard`], but keeps the mutex alive and borrows nothing.
#[clippy::has_significant_drop]
pub struct OwnedMutexGuard<T: ?Sized> {
    inner: Held<Arc<Mutex<T>>, One>,
    /// The guard is `Send` and `Sync` as `T` is.
    _data: PhantomData<Box<T>>,
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    #[inline]
    pub(super) fn new(inner: Held<Arc<Mutex<T>>, One>) -> Self {
        Self { inner, _data: PhantomData }
    }

    /// Returns a guard for the part of the data that `f` picks.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::{Mutex, OwnedMutexGuard};
    /// use std::sync::Arc;
    ///
    /// # liten::block_on(async {
    /// let lock = Arc::new(Mutex::new((1, "one")));
    /// let number = OwnedMutexGuard::map(lock.lock_owned().await, |pair| &mut pair.0);
    /// assert_eq!(*number, 1);
    /// # });
    /// ```
    #[inline]
    pub fn map<U, F>(this: Self, f: F) -> OwnedMappedMutexGuard<T, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        OwnedMappedMutexGuard::new(this.inner.exclusive().map(f))
    }

    /// Returns a guard for the part of the data that `f` picks, if it picks one.
    ///
    /// # Errors
    ///
    /// The guard itself, if `f` returns `None`.
    #[inline]
    pub fn try_map<U, F>(this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match this.inner.exclusive().try_map(f) {
            Ok(part) => Ok(OwnedMappedMutexGuard::new(part)),
            Err(whole) => Err(Self::new(whole.into_held())),
        }
    }

    /// Returns the mutex that it has locked.
    #[inline]
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        this.inner.way()
    }
}

guards_mut! {
    [T: ?Sized] MutexGuard<'_, T> => T;
    [T: ?Sized] OwnedMutexGuard<T> => T;
}
