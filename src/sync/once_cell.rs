//! A value that is made once, by async code.
//!
//! A [`Semaphore`] with one permit lets one task at a time make the value. It is closed when the value is
//! there:
//!
//! | semaphore | value | read by | written by |
//! |---|---|---|---|
//! | open, permit there | `None` | | |
//! | open, permit held | `None`, then `Some` | | the holder of the permit |
//! | closed | `Some` for ever | all | |
//!
//! Closing the semaphore is a Release, and seeing it closed is an Acquire, so a task that sees it closed sees
//! the value.
//!
//! Rejected: std's `OnceLock` beside the semaphore. A `const fn` cannot make a `OnceLock` with a value, which
//! `const_new_with` needs, and each cell would be larger by the lock's state.
#![allow(unsafe_code)]

use super::await_place::awaited_at;
use super::{Semaphore, SemaphorePermit, TryAcquireError};
use crate::engine::sync_shim::const_fn;
use crate::impls::{impl_debug, impl_default, impl_display};
use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// A value that is made once, by whichever task needs it first, while the others wait.
///
/// If the code that makes it is not async, [`std::sync::OnceLock`] or [`std::sync::LazyLock`] is enough.
///
/// # Examples
///
/// ```
/// use liten::sync::OnceCell;
///
/// static SETTINGS: OnceCell<String> = OnceCell::const_new();
///
/// async fn settings() -> &'static String {
///     SETTINGS.get_or_init(|| async { "read from a file".to_string() }).await
/// }
///
/// # liten::block_on(async {
/// assert_eq!(settings().await, "read from a file");
/// # });
/// ```
pub struct OnceCell<T> {
    /// One permit, for the task that makes the value; closed when there is one.
    making: Semaphore,
    value: UnsafeCell<Option<T>>,
}

// SAFETY: references to the value go to several threads, for which it is `Sync`, and a value that one thread
// has made is dropped by another, for which it is `Send`. The table above says when it is written.
unsafe impl<T: Send + Sync> Sync for OnceCell<T> {}

impl<T> OnceCell<T> {
    /// Returns an empty cell.
    pub fn new() -> Self {
        Self { making: Semaphore::new(1), value: UnsafeCell::new(None) }
    }

    const_fn! {
        /// Returns an empty cell, for a static.
        pub fn const_new() -> Self {
            Self { making: Semaphore::const_new(1), value: UnsafeCell::new(None) }
        }
    }

    /// Returns a cell with this value, if there is one.
    pub fn new_with(value: Option<T>) -> Self {
        value.map_or_else(Self::new, Self::from)
    }

    const_fn! {
        /// Returns a cell with this value, for a static.
        ///
        /// # Examples
        ///
        /// ```
        /// use liten::sync::OnceCell;
        ///
        /// static ANSWER: OnceCell<u32> = OnceCell::const_new_with(42);
        /// assert_eq!(ANSWER.get(), Some(&42));
        /// ```
        pub fn const_new_with(value: T) -> Self {
            Self { making: Semaphore::closed(), value: UnsafeCell::new(Some(value)) }
        }
    }

    /// Returns whether the cell has its value.
    pub fn initialized(&self) -> bool {
        self.making.is_closed()
    }

    /// Returns the value, if the cell has one.
    pub fn get(&self) -> Option<&T> {
        if !self.initialized() {
            return None;
        }
        // SAFETY: closed, so the value is not written any more while the cell is borrowed.
        unsafe { &*self.value.get() }.as_ref()
    }

    /// Returns a mutable reference to the value, if the cell has one.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.value.get_mut().as_mut()
    }

    /// Gives the cell its value.
    ///
    /// # Errors
    ///
    /// [`SetError`], with `value`, if the cell has a value or a task is making it.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::{OnceCell, SetError};
    ///
    /// let cell = OnceCell::new();
    /// assert_eq!(cell.set(1), Ok(()));
    /// assert_eq!(cell.set(2), Err(SetError::AlreadyInitializedError(2)));
    /// ```
    pub fn set(&self, value: T) -> Result<(), SetError<T>> {
        match self.making.try_acquire() {
            Ok(permit) => {
                self.fill(value, permit);
                Ok(())
            }
            Err(TryAcquireError::NoPermits) => Err(SetError::InitializingError(value)),
            Err(TryAcquireError::Closed) => Err(SetError::AlreadyInitializedError(value)),
        }
    }

    /// Stores the value. The permit is that of this cell.
    fn fill(&self, value: T, permit: SemaphorePermit<'_>) -> &T {
        assert!(std::ptr::eq(permit.semaphore(), &self.making) && permit.num_permits() == 1);
        // SAFETY: this is the only permit, and nothing reads before it is closed. Shared from here on: others
        // read as soon as it is closed, while an exclusive reference would claim the value for itself.
        let value: &T = unsafe { (*self.value.get()).insert(value) };
        self.making.close();
        permit.forget();
        value
    }

    /// Returns the value, which `f` makes if there is none. While one task makes it, others wait.
    ///
    /// If the future that makes it is dropped or panics, the next task that waits makes it.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the work that `f` has done so far is lost, and nothing else.
    ///
    /// # Deadlock
    ///
    /// If `f` waits for the same cell, it waits for itself, and never ends.
    #[track_caller]
    pub fn get_or_init<F, Fut>(&self, f: F) -> impl Future<Output = &T>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = T>,
    {
        let place = Location::caller();
        async move {
            match self.make(place, || async { Ok::<T, Infallible>(f().await) }).await {
                Ok(value) => value,
                Err(never) => match never {},
            }
        }
    }

    /// As [`get_or_init`](Self::get_or_init), but `f` may fail; the next task that waits then tries its own
    /// `f`.
    ///
    /// # Cancel safety
    ///
    /// As [`get_or_init`](Self::get_or_init).
    ///
    /// # Errors
    ///
    /// The error of `f`.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::OnceCell;
    ///
    /// # liten::block_on(async {
    /// let cell = OnceCell::new();
    /// let parse = |text: &'static str| cell.get_or_try_init(move || async { text.parse::<u32>() });
    /// assert!(parse("seven").await.is_err());
    /// assert_eq!(parse("7").await, Ok(&7));
    /// assert_eq!(parse("never looked at").await, Ok(&7));
    /// # });
    /// ```
    #[track_caller]
    pub fn get_or_try_init<E, F, Fut>(&self, f: F) -> impl Future<Output = Result<&T, E>>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        self.make(Location::caller(), f)
    }

    /// As [`get_or_try_init`](Self::get_or_try_init), called at `place`.
    async fn make<E, F, Fut>(&self, place: &'static Location<'static>, f: F) -> Result<&T, E>
    where
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        // What `f` waits for has places of its own.
        match awaited_at(place, self.making.acquire()).await {
            Ok(permit) => {
                let value = f().await?;
                Ok(self.fill(value, permit))
            }
            Err(_) => Ok(self.get().expect("closed after the value was stored")),
        }
    }

    /// Returns the value, if the cell has one.
    pub fn into_inner(self) -> Option<T> {
        self.value.into_inner()
    }

    /// Takes the value out and returns it, if the cell has one; the cell is empty then.
    pub fn take(&mut self) -> Option<T> {
        std::mem::take(self).into_inner()
    }
}

impl_default!([T] OnceCell<T>);

impl<T> From<T> for OnceCell<T> {
    fn from(value: T) -> Self {
        Self { making: Semaphore::closed(), value: UnsafeCell::new(Some(value)) }
    }
}

impl<T: Clone> Clone for OnceCell<T> {
    fn clone(&self) -> Self {
        Self::new_with(self.get().cloned())
    }
}

impl<T: PartialEq> PartialEq for OnceCell<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl<T: Eq> Eq for OnceCell<T> {}

impl_debug!([T: fmt::Debug] OnceCell<T>, this => "OnceCell" { value: this.get() });

/// Why [`OnceCell::set`] did not set the value; contains that value.
#[derive(Debug, PartialEq, Eq)]
pub enum SetError<T> {
    /// The cell has a value.
    AlreadyInitializedError(T),
    /// A task is making the value.
    InitializingError(T),
}

impl<T> SetError<T> {
    /// Returns whether the cell has a value.
    pub fn is_already_init_err(&self) -> bool {
        matches!(self, Self::AlreadyInitializedError(_))
    }

    /// Returns whether a task is making the value.
    pub fn is_initializing_err(&self) -> bool {
        matches!(self, Self::InitializingError(_))
    }
}

impl_display!([T] SetError<T>, this => match this {
    Self::AlreadyInitializedError(_) => "AlreadyInitializedError",
    Self::InitializingError(_) => "InitializingError",
});

impl<T: fmt::Debug> Error for SetError<T> {}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
