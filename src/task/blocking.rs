//! Work that blocks, on the pool for it: alone, in a set, counted.

use super::{AbortHandle, JoinHandle, JoinSet, TaskTracker};
use crate::runtime::door::boxed_if_large;
use crate::runtime::{Handle, context};
use std::io;

/// Runs `f`, which may block, on the blocking pool, and returns the JoinHandle of its result.
///
/// For file operations, name resolution, long computations: whatever would keep a worker from other tasks.
/// The pool is bounded ([`Builder::max_blocking_threads`](crate::runtime::Builder::max_blocking_threads));
/// more jobs wait in a queue. A job that has started cannot be aborted. If the runtime ends while the job
/// waits in the queue, or if no thread can be made, its JoinHandle says that it was cancelled, and why no
/// thread could be made. A job that a thread has already been started or woken for is run all the same.
///
/// # Panics
///
/// If called outside a runtime. A panic of `f` reaches the JoinHandle.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let text = liten::spawn_blocking(|| std::fs::read_to_string("Cargo.toml")).await.unwrap();
/// assert!(text.unwrap().contains("liten"));
/// # });
/// ```
#[track_caller]
pub fn spawn_blocking<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    boxed_if_large!(function f: F => context::spawn_blocking(f))
}

/// Runs `f` as [`spawn_blocking`] does, and the end of the runtime does not cancel it: for what has been
/// promised already, such as the writes of a file of the package named `tokio`.
///
/// # Errors
///
/// Returns an error if the runtime is shutting down, or no thread can be made.
///
/// # Panics
///
/// Panics outside a runtime.
#[track_caller]
pub fn spawn_unfailing<F, T>(f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    boxed_if_large!(function f: F => context::start_blocking("spawn_blocking", true, f))
}

impl<T> JoinSet<T> {
    /// Runs `f` on the current runtime's pool for blocking work and puts the job into the set.
    ///
    /// A job that has begun cannot be aborted.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::task::JoinSet;
    ///
    /// liten::block_on(async {
    ///     let mut set = JoinSet::new();
    ///     set.spawn_blocking(|| std::fs::read_to_string("Cargo.toml"));
    ///     let text = set.join_next().await.expect("one job").expect("no panic");
    ///     # let _ = text;
    /// });
    /// ```
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.insert(spawn_blocking(f))
    }

    /// Runs `f` on the pool for blocking work of the runtime of `handle` and puts the job into the set.
    ///
    /// A job that has begun cannot be aborted.
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.insert(handle.spawn_blocking(f))
    }
}

impl TaskTracker {
    /// Runs `f` on the current runtime's blocking pool and counts it. See
    /// [`spawn_blocking`].
    ///
    /// # Panics
    ///
    /// If called outside a runtime.
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn_blocking(self.track_call(f))
    }

    /// As [`spawn_blocking`](Self::spawn_blocking), on the blocking pool of the runtime of `handle`.
    #[track_caller]
    pub fn spawn_blocking_on<F, T>(&self, f: F, handle: &Handle) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        handle.spawn_blocking(self.track_call(f))
    }

    /// `f`, which is counted until it has returned, or is dropped.
    fn track_call<F: FnOnce() -> T, T>(&self, f: F) -> impl FnOnce() -> T + use<F, T> {
        let token = self.token();
        move || {
            let result = f();
            drop(token);
            result
        }
    }
}
