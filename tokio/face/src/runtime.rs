//! The runtime: liten's.
#![cfg_attr(not(feature = "rt"), allow(dead_code, unused_imports))]

mod builder;
pub(crate) mod context;
mod disabled;
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
use crate::util::error::RUNTIME_SHUTTING_DOWN_ERROR;
use crate::spawning::{blocked_on, blocking, spawned};
use liten::task::JoinHandle;
use std::future::Future;
use std::io::Result;
use std::ops::Deref;
use std::panic::Location;
use std::thread;
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
    check: DropCheck,
    runtime: Ending,
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
        let check = DropCheck::new(&_extras);
        Self { check, runtime: Ending(Some(runtime)), handle, _entry, _extras }
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
        self.check.end_within(duration);
        self.runtime.into_inner().shutdown_timeout(duration);
    }

    /// Ends the runtime without waiting for its threads.
    pub fn shutdown_background(self) {
        // Nothing is waited for, so it may be called anywhere.
        self.check.waive();
        self.runtime.into_inner().shutdown_background();
    }

    /// Returns what the runtime counts.
    pub fn metrics(&self) -> RuntimeMetrics {
        self.handle.metrics()
    }
}

/// A runtime that waits for its threads when it is dropped, unless that would block async code, which is
/// unwinding then: what those threads wait for may be dropped later in the same unwinding.
#[derive(Debug)]
struct Ending(Option<liten::runtime::Runtime>);

impl Ending {
    fn into_inner(mut self) -> liten::runtime::Runtime {
        self.0.take().expect("it is there until it is taken or dropped")
    }
}

impl Deref for Ending {
    type Target = liten::runtime::Runtime;

    fn deref(&self) -> &liten::runtime::Runtime {
        self.0.as_ref().expect("it is there until it is taken or dropped")
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take().filter(|_| !liten::task::may_block()) {
            runtime.shutdown_background();
        }
    }
}

/// Panics where the end of a runtime, which waits for its threads, would block async code.
#[derive(Debug)]
struct DropCheck {
    is_waived: bool,
    #[cfg(tokio_unstable)]
    extras: std::sync::Arc<unstable::Extras>,
}

impl DropCheck {
    fn new(_extras: &Extras) -> Self {
        Self {
            is_waived: false,
            #[cfg(tokio_unstable)]
            extras: _extras.extras().clone(),
        }
    }

    /// The runtime ends and waits so long for its threads: panics now where it must not wait.
    fn end_within(self, duration: Duration) {
        if duration.is_zero() {
            self.waive();
        }
    }

    fn waive(mut self) {
        self.is_waived = true;
    }
}

impl Drop for DropCheck {
    fn drop(&mut self) {
        // The runtime begins to end.
        #[cfg(tokio_unstable)]
        self.extras.end();
        if !self.is_waived && !thread::panicking() && !liten::task::may_block() {
            panic!(
                "Cannot drop a runtime in a context where blocking is not allowed. This happens when a \
                 runtime is dropped from within an asynchronous context. (this `tokio` is liten's)"
            );
        }
    }
}

impl std::panic::UnwindSafe for Runtime {}
impl std::panic::RefUnwindSafe for Runtime {}
