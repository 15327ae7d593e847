//! The runtime: liten's.
#![cfg_attr(not(feature = "rt"), allow(dead_code, unused_imports))]

mod builder;
pub(crate) mod context;
mod disabled;
mod ending;
mod enter;
mod handle;
mod local_runtime;
mod metrics;

cfg_io_driver_impl! {
    pub(crate) mod io;
}

#[cfg(tokio_unstable)]
pub(crate) mod unstable;

cfg_taskdump! {
    pub mod dump;
    pub(crate) mod task {
        pub(crate) mod trace;
    }
    pub use self::dump::Dump;
}

pub use self::builder::Builder;
#[cfg(tokio_unstable)]
pub use self::metrics::histogram::{
    HistogramConfiguration, HistogramScale, InvalidHistogramConfiguration, LogHistogram, LogHistogramBuilder,
};
#[cfg(tokio_unstable)]
pub use self::unstable::{RngSeed, TaskMeta, UnhandledPanic};
pub use self::enter::EnterGuard;
pub use self::handle::{Handle, TryCurrentError};
pub use self::local_runtime::{LocalOptions, LocalRuntime};
pub use self::metrics::RuntimeMetrics;
pub use liten::runtime::{Id, RuntimeFlavor};

use self::disabled::{Disabled, Entry};
use self::ending::Ending;
use crate::util::error::RUNTIME_SHUTTING_DOWN_ERROR;
use crate::spawning::{blocked_on, blocking, spawned};
use liten::task::JoinHandle;
use std::future::Future;
use std::io::Result;
use std::panic::Location;
use std::time::Duration;

/// Under the name that tokio's files know.
pub(crate) mod scheduler {
    pub(crate) use super::Handle;
}

/// Returns the index of the worker that the calling thread is, below [`RuntimeMetrics::num_workers`].
///
/// A spare worker, which runs while the task of another one blocks, has none: its number at liten is above
/// those, and programs that keep something for each worker index by this.
pub fn worker_index() -> Option<usize> {
    let index = liten::runtime::worker_index()?;
    let workers = Handle::try_current().map_or(0, |handle| handle.metrics().num_workers());
    (index < workers).then_some(index)
}

/// Returns whether `error` says that the operation was not done because the runtime has ended, or is ending.
pub fn is_rt_shutdown_err(error: &std::io::Error) -> bool {
    let is_of_tokios_files =
        || error.get_ref().is_some_and(|inner| inner.to_string() == RUNTIME_SHUTTING_DOWN_ERROR);
    liten::runtime::is_rt_shutdown_err(error) || is_of_tokios_files()
}

/// A runtime of liten's.
#[derive(Debug)]
pub struct Runtime {
    runtime: Ending<liten::runtime::Runtime>,
    handle: Handle,
    _entry: Entry,
    _extras: Extras,
}

/// What keeps a runtime in the list of those that have more than liten's.
#[cfg(tokio_unstable)]
type Extras = unstable::extras::Entry;
#[cfg(not(tokio_unstable))]
type Extras = ();

impl Runtime {
    fn from_inner(
        runtime: liten::runtime::Runtime,
        disabled: Disabled,
        _extras: Extras,
    ) -> Self {
        let handle = Handle::from_inner(runtime.handle().clone());
        let _entry = Entry::new(handle.id(), disabled);
        let runtime = Ending::new(runtime, &_extras);
        Self { runtime, handle, _entry, _extras }
    }

    /// Makes a runtime with a worker per processor.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    #[cfg(feature = "rt-multi-thread")]
    pub fn new() -> Result<Self> {
        Builder::new_multi_thread().enable_all().build()
    }

    /// Returns the handle of the runtime.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns `future` as a task.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let place = Location::caller();
        let origin = place;
        spawned!("task", None, unstable::Extras::rare_of(&self.handle), future: F, place, origin =>
            self.runtime.handle().spawn_from(future, origin))
    }

    /// Runs `f`, which may block, on the pool for blocking work.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        blocking!(None, f: F => self.runtime.spawn_blocking(f))
    }

    /// Runs `future` on this thread and returns its output.
    ///
    /// # Panics
    ///
    /// Panics inside a task, and with a panic of `future`.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        context::assert_may_block();
        #[cfg(tokio_unstable)]
        self._extras.runs_here(self.handle.runtime_flavor());
        blocked_on!(of_runtime &self.handle, future: F => self.runtime.block_on(future))
    }

    /// Enters the runtime until the guard is dropped.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// Ends the runtime, and waits so long for its threads.
    ///
    /// # Panics
    ///
    /// Panics in async code, unless nothing is waited for.
    pub fn shutdown_timeout(self, duration: Duration) {
        self.runtime.end_within(duration);
    }

    /// Ends the runtime without waiting for its threads.
    pub fn shutdown_background(self) {
        self.runtime.end_in_background();
    }

    /// Returns what the runtime counts.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }
}

impl std::panic::UnwindSafe for Runtime {}
impl std::panic::RefUnwindSafe for Runtime {}
