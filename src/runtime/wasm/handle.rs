//! A handle to a runtime: cheap to clone, outlives the runtime without harm.

use super::door::boxed_if_large;
use super::id::Id;
use super::local::Settled;
use super::local_thread;
use crate::engine::driver::Driver;
use crate::engine::sync_shim::Arc;
use crate::engine::task::JoinHandle;
use crate::engine::task::origin::Origin;
use crate::impls::{impl_debug, impl_unwind_safe};
use std::future::Future;
use std::panic::Location;

/// Spawns into a runtime from anywhere.
///
/// A handle does not keep the runtime running. After the runtime's end, what is spawned is cancelled at
/// once.
#[derive(Clone)]
pub struct Handle {
    id: Id,
    driver: Arc<Driver>,
    local: Settled,
}

impl Handle {
    pub(super) fn new(driver: Arc<Driver>, local: Settled) -> Self {
        Self { id: Id::next(), driver, local }
    }

    /// The tasks of the runtime.
    pub(crate) fn settled(&self) -> Option<&Settled> {
        Some(&self.local)
    }

    /// Starts a task in this runtime. See [`liten::spawn`](crate::spawn).
    ///
    /// After the runtime's end the task is cancelled before it has run.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let origin = Location::caller();
        boxed_if_large!(task future: F, origin => self.spawn_from(future, origin))
    }

    /// As [`Handle::spawn`], on behalf of another caller.
    #[doc(hidden)]
    pub fn spawn_from<F>(&self, future: F, origin: impl Origin) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.local.shared().spawn_send(future, origin)
    }

    /// Starts a task that need not be `Send`. See
    /// [`liten::task::spawn_pinned`](crate::task::spawn_pinned).
    #[track_caller]
    pub fn spawn_pinned<F, Fut>(&self, make: F) -> JoinHandle<Fut::Output>
    where
        F: FnOnce() -> Fut + Send + 'static,
        Fut: Future + 'static,
        Fut::Output: Send + 'static,
    {
        self.local.shared().spawn_made(make, Location::caller())
    }

    /// Returns what tells this runtime from others.
    pub fn id(&self) -> Id {
        self.id
    }

    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Whether anything notices when this runtime has nothing to do, so that its clock may be stopped.
    pub(crate) fn knows_quiescent_points(&self) -> bool {
        true
    }

    /// Waits, while the clock stands still, for the first quiescent point after the `seen`th: a moment at
    /// which every task waits. Ready at once where nothing notices when that is.
    pub(crate) async fn wait_for_quiescent_point(&self, seen: u64) {
        if local_thread::runs_here(self.local.shared()) {
            self.driver.quiescent_points().wait(seen).await;
        }
    }
}

// A panic leaves a runtime as it was, if it does not end the program.
impl_unwind_safe!([] Handle);

impl_debug!([] Handle, _this => "Handle" { flavor: "current_thread", .. });
