//! A lock for data that either many tasks read at the same time, or one task changes.

mod read;
mod write;

pub use self::read::{OwnedRwLockReadGuard, RwLockReadGuard};
pub use self::write::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard, RwLockMappedWriteGuard, RwLockWriteGuard,
};

use super::await_place::awaited_here;
use super::guarded::{Guarded, Held};
use super::try_lock_error::TryLockError;
use crate::engine::sync_shim::const_fn;
use crate::engine::tokio_note::{NOTE, noted};
use crate::runtime::block_on::wait_outside;
use std::sync::Arc;

/// How many can read at the same time, unless the program asks for fewer; tokio's number.
const MAX_READERS: u32 = u32::MAX >> 3;

/// Guards data that either many tasks read at the same time, or one task changes; a guard may be held across
/// an await.
///
/// The lock is fair: it goes to the waiting futures in the order in which they came. A reader that comes
/// while a writer waits gets the lock after that writer. So a task that holds a read guard must not wait for
/// a second one: if a writer has come in between, the task and the writer wait for each other for ever.
///
/// If no guard is held across an await, [`std::sync::RwLock`] or [`std::sync::Mutex`] is faster. Like
/// [`Mutex`](super::Mutex), this lock is not poisoned when a task that holds it panics.
///
/// # Examples
///
/// ```
/// use liten::sync::RwLock;
///
/// # liten::block_on(async {
/// let routes = RwLock::new(vec!["/"]);
/// {
///     let (one, other) = (routes.read().await, routes.read().await);
///     assert_eq!(one.len() + other.len(), 2);
/// }
/// routes.write().await.push("/status");
/// assert_eq!(*routes.read().await, ["/", "/status"]);
/// # });
/// ```
pub struct RwLock<T: ?Sized> {
    pub(super) guarded: Guarded<T, u32>,
}

impl<T> RwLock<T> {
    /// Returns an unlocked lock.
    pub fn new(value: T) -> Self {
        Self { guarded: Guarded::shared(value, MAX_READERS) }
    }

    /// Returns an unlocked lock, with at most `max_reads` readers at the same time.
    ///
    /// # Panics
    ///
    /// If `max_reads` is 0, or more than `u32::MAX >> 3`.
    ///
    /// # Examples
    ///
    /// ```
    /// let lock = liten::sync::RwLock::with_max_readers((), 2);
    /// let guards = (lock.try_read().unwrap(), lock.try_read().unwrap());
    /// assert!(lock.try_read().is_err());
    /// # drop(guards);
    /// ```
    #[track_caller]
    pub fn with_max_readers(value: T, max_reads: u32) -> Self {
        assert!(max_reads > 0, noted!("a RwLock may not be created with 0 readers"));
        assert!(
            max_reads <= MAX_READERS,
            "a RwLock has at most {MAX_READERS} readers, not {max_reads}{NOTE}"
        );
        Self { guarded: Guarded::shared(value, max_reads) }
    }

    const_fn! {
        /// Returns an unlocked lock, for a static.
        ///
        /// # Examples
        ///
        /// ```
        /// use liten::sync::RwLock;
        ///
        /// static LEVEL: RwLock<u32> = RwLock::const_new(1);
        ///
        /// # liten::block_on(async {
        /// *LEVEL.write().await += 1;
        /// assert_eq!(*LEVEL.read().await, 2);
        /// # });
        /// ```
        pub fn const_new(value: T) -> Self {
            Self { guarded: Guarded::shared(value, MAX_READERS) }
        }
    }

    const_fn! {
        /// Returns an unlocked lock, for a static, with at most `max_reads` readers at the same time.
        ///
        /// # Panics
        ///
        /// If `max_reads` is 0, or more than `u32::MAX >> 3`; in a static, that is an error of the compiler.
        pub fn const_with_max_readers(value: T, max_reads: u32) -> Self {
            assert!(max_reads > 0, noted!("a RwLock may not be created with 0 readers"));
            assert!(max_reads <= MAX_READERS, noted!("a RwLock has at most u32::MAX >> 3 readers"));
            Self { guarded: Guarded::shared(value, max_reads) }
        }
    }

    /// Returns the data.
    pub fn into_inner(self) -> T {
        self.guarded.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until the data can be read; the guard that it returns unlocks when it is dropped.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped loses its place among those that wait. If it had just been given the lock,
    /// the lock goes to the next future.
    #[track_caller]
    pub fn read(&self) -> impl Future<Output = RwLockReadGuard<'_, T>> {
        awaited_here(async move { RwLockReadGuard::new(Held::one(self).await.shared().narrow()) })
    }

    /// Waits until the data can be changed; the guard that it returns unlocks when it is dropped.
    ///
    /// # Cancel safety
    ///
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn write(&self) -> impl Future<Output = RwLockWriteGuard<'_, T>> {
        awaited_here(
            async move { RwLockWriteGuard::new(Held::all(self).await.exclusive().narrow()) },
        )
    }

    /// As [`read`](Self::read), but the guard keeps the lock alive and borrows nothing.
    ///
    /// # Cancel safety
    ///
    /// As [`read`](Self::read).
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::RwLock;
    /// use std::sync::Arc;
    ///
    /// # liten::block_on(async {
    /// let lock = Arc::new(RwLock::new(7));
    /// let guard = lock.clone().read_owned().await;
    /// liten::spawn(async move { assert_eq!(*guard, 7) }).await.unwrap();
    /// # });
    /// ```
    #[track_caller]
    pub fn read_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockReadGuard<T>> {
        awaited_here(async move { OwnedRwLockReadGuard::new(Held::one(self).await.shared()) })
    }

    /// As [`write`](Self::write), but the guard keeps the lock alive and borrows nothing.
    ///
    /// # Cancel safety
    ///
    /// As [`read`](Self::read).
    #[track_caller]
    pub fn write_owned(self: Arc<Self>) -> impl Future<Output = OwnedRwLockWriteGuard<T>> {
        awaited_here(async move { OwnedRwLockWriteGuard::new(Held::all(self).await.exclusive()) })
    }

    /// Blocks the thread until the data can be read; for threads that run no tasks, and for
    /// `spawn_blocking`.
    ///
    /// # Panics
    ///
    /// In async code: inside a task, and in the future of a `block_on`.
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        wait_outside("blocking_read", self.read())
    }

    /// Blocks the thread until the data can be changed; for threads that run no tasks, and for
    /// `spawn_blocking`.
    ///
    /// # Panics
    ///
    /// In async code: inside a task, and in the future of a `block_on`.
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        wait_outside("blocking_write", self.write())
    }

    /// Locks it for reading if no writer holds the lock or waits for it.
    ///
    /// # Errors
    ///
    /// [`TryLockError`] if a writer holds the lock or waits for it, or if there are already as many readers
    /// as the lock allows.
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        Held::try_one(self).map(|held| RwLockReadGuard::new(held.shared().narrow()))
    }

    /// Locks it for changing if it is unlocked.
    ///
    /// # Errors
    ///
    /// [`TryLockError`] if it is locked.
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        Held::try_all(self).map(|held| RwLockWriteGuard::new(held.exclusive().narrow()))
    }

    /// As [`try_read`](Self::try_read), but the guard keeps the lock alive and borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`try_read`](Self::try_read).
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        Held::try_one(self).map(|held| OwnedRwLockReadGuard::new(held.shared()))
    }

    /// As [`try_write`](Self::try_write), but the guard keeps the lock alive and borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`try_write`](Self::try_write).
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        Held::try_all(self).map(|held| OwnedRwLockWriteGuard::new(held.exclusive()))
    }

    /// Returns the data without locking: no guard can exist while the lock is borrowed mutably.
    pub fn get_mut(&mut self) -> &mut T {
        self.guarded.get_mut()
    }
}

lock_impls!(RwLock, "RwLock", try_read);
