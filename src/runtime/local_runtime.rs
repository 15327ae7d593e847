//! A runtime on one thread: a [`LocalExecutor`] with a driver of its own.

use super::block_on::{self, refuse_in_task};
use super::context::EnterGuard;
use super::handle::Handle;
use super::local::LocalExecutor;
use super::{Builder, RuntimeMetrics, tokio_context};
use crate::driver::Driver;
use crate::scoped::Scoped;
use crate::sync_shim::atomic::{AtomicBool, Ordering};
use crate::sync_shim::{Arc, thread_local};
use crate::task::{JoinHandle, budget, hint};
use crate::wakers;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc as StdArc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

thread_local! {
    /// The executor whose runtime runs on this thread, for `spawn_local`.
    static EXECUTOR: Scoped<LocalExecutor<'static>> = const { Scoped::new() };
}

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
    /// `None` only while the runtime is being dropped.
    executor: Option<LocalExecutor<'static>>,
}

impl LocalRuntime {
    /// Returns a runtime with the default settings.
    ///
    /// # Errors
    ///
    /// See [`Builder::build_local`].
    pub fn new() -> io::Result<Self> {
        Builder::new_current_thread().build_local()
    }

    pub(super) fn from_parts(handle: Handle, executor: LocalExecutor<'static>) -> Self {
        Self { handle, executor: Some(executor) }
    }

    fn executor(&self) -> &LocalExecutor<'static> {
        self.executor.as_ref().expect("taken by drop only")
    }

    /// Starts a task on this thread. It runs while [`LocalRuntime::block_on`] does.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.executor().spawn(future)
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
        refuse_in_task("block_on");
        let _entered = self.handle.enter();
        let executor = self.executor();
        let run = || drive(self.handle.driver(), executor.run(future));
        EXECUTOR.with(|slot| slot.set(executor, || hint::explained(run)))
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
        EXECUTOR.with(|slot| slot.set(executor, || drive(self.handle.driver(), executor.drain())));
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
        {
            // Destructors of tasks may use the runtime for the last time.
            let _entered = self.handle.enter();
            drop(self.executor.take());
        }
        self.handle.shutdown(None);
    }
}

impl fmt::Debug for LocalRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalRuntime").finish_non_exhaustive()
    }
}

/// Calls `f` with the executor of the LocalRuntime that runs on this thread.
pub(crate) fn with_executor<R>(f: impl FnOnce(Option<&LocalExecutor<'static>>) -> R) -> R {
    Scoped::with(&EXECUTOR, f)
}

/// Wakes a thread that is, or is about to be, blocked in its own driver.
struct DriverWaker {
    woken: AtomicBool,
    driver: Arc<Driver>,
}

impl Wake for DriverWaker {
    fn wake(self: StdArc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &StdArc<Self>) {
        // Ordering: AcqRel: Release for the thread's Acquire swap; the first setter alone wakes the
        // poller, and the driver keeps a wake that comes before the poll.
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.driver.wake();
        }
    }
}

/// Polls `future`, and the driver in between, until the future is ready.
fn drive<F: Future>(driver: &Arc<Driver>, future: F) -> F::Output {
    let flag = StdArc::new(DriverWaker { woken: AtomicBool::new(false), driver: driver.clone() });
    let waker = Waker::from(flag.clone());
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(tokio_context::without_budget(future));
    let mut wakes = Vec::new();
    loop {
        // Ordering: Acquire pairs with `wake`: the poll that follows answers every wake so far and sees
        // what was written before it.
        flag.woken.swap(false, Ordering::Acquire);
        let polled = block_on::in_local(|| budget::with_budget(|| future.as_mut().poll(&mut cx)));
        if let Poll::Ready(output) = polled {
            return output;
        }
        // Ordering: Acquire pairs with `wake`. A wake after this load finds the flag false and wakes the
        // poller.
        let woken = flag.woken.load(Ordering::Acquire);
        turn(driver, woken.then_some(Duration::ZERO), &mut wakes);
    }
}

/// One round of the driver, and the wakes it brings.
fn turn(driver: &Driver, limit: Option<Duration>, wakes: &mut Vec<Waker>) {
    let Some(mut seat) = driver.try_seat() else {
        // Another `block_on` on another thread cannot be: the runtime is not Sync.
        unreachable!("a LocalRuntime's seat is taken by its own thread only");
    };
    seat.turn(limit, wakes);
    drop(seat);
    wakers::wake_all(wakes);
}

#[cfg(all(test, liten_loom))]
mod loom;
