//! `Handle`: liten's, with tokio's signatures and words.

use super::{context, EnterGuard, Id, RuntimeFlavor, RuntimeMetrics};
use crate::util::error::{CONTEXT_MISSING_ERROR, THREAD_LOCAL_DESTROYED_ERROR};
use crate::LITEN;
use crate::spawning::{blocked_on, blocking, spawned};
use liten::task::JoinHandle;
use std::fmt;
use std::future::Future;
use std::panic::Location;

/// A handle of a runtime.
#[derive(Clone, Debug)]
pub struct Handle {
    inner: liten::runtime::Handle,
}

impl Handle {
    pub(super) fn from_inner(inner: liten::runtime::Handle) -> Self {
        Self { inner }
    }

    pub(crate) fn inner(&self) -> &liten::runtime::Handle {
        &self.inner
    }

    /// Enters the runtime until the guard is dropped.
    pub fn enter(&self) -> EnterGuard<'_> {
        EnterGuard::new(self.inner.enter())
    }

    /// Returns the handle of the current runtime.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn current() -> Self {
        match Self::try_current() {
            Ok(handle) => handle,
            Err(_) => context::outside(),
        }
    }

    /// Returns the handle of the current runtime.
    ///
    /// # Errors
    ///
    /// Returns an error outside a runtime.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        liten::runtime::Handle::try_current().map(Self::from_inner).map_err(TryCurrentError)
    }

    /// Spawns `future` as a task.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let place = Location::caller();
        let origin = place;
        spawned!("task", None, super::unstable::Extras::rare_of(self), future: F, place, origin =>
            self.inner.spawn_from(future, origin))
    }

    /// Spawns `future` as a task with a name.
    #[cfg(all(tokio_unstable, feature = "tracing"))]
    #[track_caller]
    pub(crate) fn spawn_named<F>(&self, future: F, name: Option<&str>) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let Some(name) = name else { return self.spawn(future) };
        let place = Location::caller();
        let origin = (place, std::sync::Arc::<str>::from(name));
        spawned!("task", Some(name), super::unstable::Extras::rare_of(self), future: F, place, origin =>
            self.inner.spawn_from(future, origin))
    }

    /// Runs `f`, which may block, on the pool for blocking work.
    #[track_caller]
    pub fn spawn_blocking<F, R>(&self, f: F) -> JoinHandle<R>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        blocking!(None, f: F => self.inner.spawn_blocking(f))
    }

    /// Runs `future` on this thread and returns its output.
    ///
    /// # Panics
    ///
    /// Panics inside a task, and with a panic of `future`.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        context::assert_may_block();
        blocked_on!(of_handle self, future: F => self.inner.block_on(future))
    }

    /// Returns what tells the runtime from others.
    pub fn id(&self) -> Id {
        self.inner.id()
    }

    /// Returns the name that the builder was given.
    pub fn name(&self) -> Option<&str> {
        self.inner.name()
    }

    /// Returns the kind of the runtime.
    pub fn runtime_flavor(&self) -> RuntimeFlavor {
        self.inner.runtime_flavor()
    }

    /// Returns what the runtime counts.
    pub fn metrics(&self) -> RuntimeMetrics {
        RuntimeMetrics::of(self)
    }
}

impl std::panic::UnwindSafe for Handle {}
impl std::panic::RefUnwindSafe for Handle {}

/// There is no current runtime.
#[derive(Debug)]
pub struct TryCurrentError(liten::runtime::TryCurrentError);

impl TryCurrentError {
    /// Returns whether the thread is in no runtime.
    pub fn is_missing_context(&self) -> bool {
        self.0.is_missing_context()
    }

    /// Returns whether the thread has forgotten its runtime because it is ending.
    pub fn is_thread_local_destroyed(&self) -> bool {
        self.0.is_thread_local_destroyed()
    }
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.is_missing_context() {
            true => CONTEXT_MISSING_ERROR,
            false => THREAD_LOCAL_DESTROYED_ERROR,
        };
        write!(f, "{text} ({LITEN})")
    }
}

impl std::error::Error for TryCurrentError {}
