//! `LocalRuntime`: liten's, with tokio's signatures.

use super::disabled::{Disabled, Entry};
use super::ending::Ending;
use super::{context, Builder, EnterGuard, Extras, Handle, RuntimeMetrics};
use crate::spawning::{blocked_on, blocking, spawned};
use liten::task::JoinHandle;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::Location;
use std::time::Duration;

/// What can be chosen for a [`LocalRuntime`]: nothing yet.
#[derive(Default, Debug)]
#[non_exhaustive]
pub struct LocalOptions {
    /// As in tokio, neither `Send` nor `Sync`.
    _phantom: PhantomData<*mut u8>,
}

/// A runtime that stays on its thread, with tasks that may be `!Send`.
#[derive(Debug)]
pub struct LocalRuntime {
    runtime: Ending<liten::runtime::LocalRuntime>,
    handle: Handle,
    _entry: Entry,
    _extras: Extras,
}

impl LocalRuntime {
    /// Makes a runtime with I/O and timers.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn new() -> io::Result<Self> {
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default())
    }

    pub(super) fn from_inner(
        runtime: liten::runtime::LocalRuntime,
        disabled: Disabled,
        _extras: Extras,
    ) -> Self {
        let handle = Handle::from_inner(runtime.handle().clone());
        let _entry = Entry::new(handle.id(), disabled);
        let runtime = Ending::new(runtime, &_extras);
        Self { runtime, handle, _entry, _extras }
    }

    /// Returns the handle of the runtime.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Spawns `future`, which may be `!Send`.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        let place = Location::caller();
        let origin = place;
        spawned!("local", None, super::unstable::Extras::rare_of(&self.handle), future: F, place, origin =>
            self.runtime.spawn_local_from(future, origin))
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

    /// Runs `future` and the tasks, and returns the output of `future`.
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

impl std::panic::UnwindSafe for LocalRuntime {}
impl std::panic::RefUnwindSafe for LocalRuntime {}
