//! A lock for data that one task at a time may use.

mod guard;
mod mapped;

pub use self::guard::{MutexGuard, OwnedMutexGuard};
pub use self::mapped::{MappedMutexGuard, OwnedMappedMutexGuard};

use super::await_place::awaited_here;
use super::guarded::{Guarded, Held, One};
use super::try_lock_error::TryLockError;
use crate::engine::sync_shim::const_fn;
use crate::runtime::block_on::wait_outside;
use std::sync::Arc;

/// Guards data that one task at a time may use; a guard may be held across an await.
///
/// The lock is fair: it goes to the waiting futures in the order in which they came.
///
/// # Which mutex?
///
/// Take [`std::sync::Mutex`] if the guard is not held across an await. It is faster, and the compiler refuses
/// its guard across an await in a task that has to be `Send`. What tasks share is often a map or a counter
/// that is locked for a few instructions:
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
///
/// struct Cache(Mutex<HashMap<String, String>>);
///
/// impl Cache {
///     fn get(&self, key: &str) -> Option<String> {
///         self.0.lock().unwrap().get(key).cloned()
///     }
/// }
/// ```
///
/// Take this mutex if the data is used across an await, for example a connection on which a request and its
/// answer must not mix with others. A task that owns the connection and takes requests from a channel is
/// often simpler.
///
/// # Panics in the task that holds it
///
/// The guard is dropped, and the next task gets the lock, which is never poisoned. If a panic may leave the
/// data half changed, the program has to note that in the data.
///
/// # Examples
///
/// State that tasks share, changed across an await:
///
/// ```
/// use liten::sync::Mutex;
/// use std::sync::Arc;
///
/// # liten::block_on(async {
/// let total = Arc::new(Mutex::new(0));
/// let tasks: Vec<_> = (1..=10)
///     .map(|i| {
///         let total = total.clone();
///         liten::spawn(async move {
///             let mut total = total.lock().await;
///             let before = *total;
///             liten::task::yield_now().await;
///             // No other task has changed it meanwhile.
///             *total = before + i;
///         })
///     })
///     .collect();
/// for task in tasks {
///     task.await.unwrap();
/// }
/// assert_eq!(*total.lock().await, 55);
/// # });
/// ```
pub struct Mutex<T: ?Sized> {
    pub(super) guarded: Guarded<T, One>,
}

impl<T> Mutex<T> {
    /// Returns an unlocked mutex.
    pub fn new(data: T) -> Self {
        Self { guarded: Guarded::exclusive(data) }
    }

    const_fn! {
        /// Returns an unlocked mutex, for a static.
        ///
        /// # Examples
        ///
        /// ```
        /// use liten::sync::Mutex;
        ///
        /// static LOG: Mutex<Vec<String>> = Mutex::const_new(Vec::new());
        ///
        /// # liten::block_on(async {
        /// LOG.lock().await.push("started".into());
        /// assert_eq!(LOG.lock().await.len(), 1);
        /// # });
        /// ```
        pub fn const_new(data: T) -> Self {
            Self { guarded: Guarded::exclusive(data) }
        }
    }

    /// Returns the data.
    pub fn into_inner(self) -> T {
        self.guarded.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock; the guard that it returns unlocks when it is dropped.
    ///
    /// A task that holds the lock and asks for it a second time waits for itself, and never goes on.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped loses its place among those that wait. If it had just been given the lock,
    /// the lock goes to the next future.
    #[track_caller]
    pub fn lock(&self) -> impl Future<Output = MutexGuard<'_, T>> {
        awaited_here(async move { MutexGuard::new(Held::all(self).await) })
    }

    /// As [`lock`](Self::lock), but the guard keeps the mutex alive and borrows nothing.
    ///
    /// # Cancel safety
    ///
    /// As [`lock`](Self::lock).
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::Mutex;
    /// use std::sync::Arc;
    ///
    /// # liten::block_on(async {
    /// let lock = Arc::new(Mutex::new(1));
    /// let mut guard = lock.clone().lock_owned().await;
    /// liten::spawn(async move { *guard += 1 }).await.unwrap();
    /// assert_eq!(*lock.lock().await, 2);
    /// # });
    /// ```
    #[track_caller]
    pub fn lock_owned(self: Arc<Self>) -> impl Future<Output = OwnedMutexGuard<T>> {
        awaited_here(async move { OwnedMutexGuard::new(Held::all(self).await) })
    }

    /// Blocks the thread until it has the lock; for threads that run no tasks, and for `spawn_blocking`.
    ///
    /// # Panics
    ///
    /// In async code: inside a task, and in the future of a `block_on`.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::Mutex;
    /// use std::sync::Arc;
    ///
    /// # liten::block_on(async {
    /// let lock = Arc::new(Mutex::new(1));
    /// let blocking = {
    ///     let lock = lock.clone();
    ///     liten::spawn_blocking(move || *lock.blocking_lock() += 1)
    /// };
    /// blocking.await.unwrap();
    /// assert_eq!(*lock.lock().await, 2);
    /// # });
    /// ```
    #[track_caller]
    #[doc(alias = "lock_blocking")]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        wait_outside("blocking_lock", self.lock())
    }

    /// As [`blocking_lock`](Self::blocking_lock), but the guard keeps the mutex alive and borrows nothing.
    ///
    /// # Panics
    ///
    /// As [`blocking_lock`](Self::blocking_lock).
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        wait_outside("blocking_lock_owned", self.lock_owned())
    }

    /// Locks the mutex if it is unlocked.
    ///
    /// # Errors
    ///
    /// [`TryLockError`] if it is locked.
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        Held::try_all(self).map(MutexGuard::new)
    }

    /// As [`try_lock`](Self::try_lock), but the guard keeps the mutex alive and borrows nothing.
    ///
    /// # Errors
    ///
    /// [`TryLockError`] if it is locked.
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        Held::try_all(self).map(OwnedMutexGuard::new)
    }

    /// Returns the data without locking: no guard can exist while the mutex is borrowed mutably.
    pub fn get_mut(&mut self) -> &mut T {
        self.guarded.get_mut()
    }
}

lock_impls!(Mutex, "Mutex", try_lock);

#[cfg(all(test, liten_loom))]
mod loom;
