//! A runtime on one thread: a [`LocalExecutor`] with a driver of its own.

use super::RuntimeMetrics;
use super::block_on::{AnyRoot, block_on, refuse_in_task};
use super::context::EnterGuard;
use super::door::boxed_if_large;
use super::drive::{OthersIdle, drive};
use super::handle::Handle;
use super::local::LocalExecutor;
use super::tokio_words;
use crate::engine::task::origin::Origin;
use crate::engine::task::{JoinHandle, RunningTask};
use crate::impls::impl_debug;
use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::time::Duration;

/// A runtime that lives on one thread and runs `!Send` tasks.
///
/// Tasks, sockets and timers make progress while [`LocalRuntime::block_on`] runs. It has a blocking
/// pool, but no worker and no driver thread.
///
/// # Examples
///
/// ```
/// use std::rc::Rc;
/// let runtime = liten::runtime::LocalRuntime::new().unwrap();
/// let shared = Rc::new(1);
/// let sum = runtime.block_on(async {
///     let theirs = shared.clone();
///     liten::task::spawn_local(async move { *theirs + 1 }).await.unwrap() + *shared
/// });
/// assert_eq!(sum, 3);
/// ```
pub struct LocalRuntime {
    handle: Handle,
    /// `None` only while the runtime ends.
    executor: Option<LocalExecutor<'static>>,
}

impl LocalRuntime {
    pub(super) fn from_parts(handle: Handle, executor: LocalExecutor<'static>) -> Self {
        Self { handle, executor: Some(executor) }
    }

    fn executor(&self) -> &LocalExecutor<'static> {
        self.executor.as_ref().expect("taken by the end only")
    }

    /// Starts a task on this thread. It runs while [`LocalRuntime::block_on`] does.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let origin = Location::caller();
        boxed_if_large!(task future: F, origin => self.spawn_local_from(future, origin))
    }

    /// As [`LocalRuntime::spawn_local`], on behalf of another caller.
    #[doc(hidden)]
    pub fn spawn_local_from<F>(&self, future: F, origin: impl Origin) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        self.executor().spawn_at(future, origin)
    }

    /// Runs `future`, and the tasks, on the calling thread until `future` is done; returns its output.
    ///
    /// Tasks that are alive then make progress again at the next call.
    ///
    /// # Panics
    ///
    /// If called inside a task. If `future` panics.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on!(future: F, self.handle.watched_root(), |root| self.run(root))
    }

    #[track_caller]
    fn run(&self, root: AnyRoot<'_>) {
        refuse_in_task("block_on");
        let _entered = self.handle.enter();
        let executor = self.executor();
        executor.lend(|| tokio_words::explained(|| self.drive(pin!(executor.run(root)))));
    }

    fn drive(&self, mut future: AnyRoot<'_>) {
        let blocking = &self.handle.inner.blocking;
        let others_idle = || OthersIdle::alone(blocking.has_no_job());
        let (driver, around) = (self.handle.driver(), self.handle.around_sleeps());
        drive(driver, around, &others_idle, |cx| future.as_mut().poll(cx));
    }

    /// Runs the tasks until none is alive; returns at once if none is.
    ///
    /// # Panics
    ///
    /// If called inside a task.
    #[track_caller]
    pub fn block_until_completion(&self) {
        refuse_in_task("block_until_completion");
        let _entered = self.handle.enter();
        let executor = self.executor();
        executor.lend(|| self.drive(pin!(executor.run_until_completion())));
    }

    /// Runs `f` on the runtime's blocking pool. See [`liten::spawn_blocking`](crate::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        boxed_if_large!(function f: F => self.handle.spawn_blocking(f))
    }

    /// Ends the runtime as dropping it does, but waits for blocking work for `timeout` at most. Returns the
    /// blocking work that is still running then; nothing if the runtime has ended.
    ///
    /// The tasks are dropped on this thread, before the wait: their destructors are outside of the timeout.
    /// Threads that are stuck longer are left behind; they end when they come back.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let runtime = liten::runtime::LocalRuntime::new().unwrap();
    /// runtime.spawn_blocking(|| { /* … */ });
    /// for work in runtime.shutdown_timeout(Duration::from_secs(5)) {
    ///     eprintln!("left behind: {work}");
    /// }
    /// ```
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Vec<RunningTask> {
        self.end(Some(timeout))
    }

    /// Ends the runtime without waiting for blocking work. The tasks are dropped on this thread.
    pub fn shutdown_background(self) {
        self.shutdown_timeout(Duration::ZERO);
    }

    /// Waits for `timeout` at most, and returns what still runs, like the multithreaded runtime's.
    fn end(&mut self, timeout: Option<Duration>) -> Vec<RunningTask> {
        {
            // Destructors of tasks may use the runtime for the last time.
            let _entered = self.handle.enter();
            drop(self.executor.take());
        }
        self.handle.shutdown(timeout)
    }

    /// Returns the handle, with which other threads spawn `Send` tasks here.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Makes this the runtime of the calling thread until the guard is dropped.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Returns numbers about what the runtime is doing.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }
}

impl Drop for LocalRuntime {
    fn drop(&mut self) {
        if self.executor.is_some() {
            self.end(None);
        }
    }
}

impl_debug!([] LocalRuntime, "LocalRuntime");
