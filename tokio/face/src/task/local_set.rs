//! `LocalSet`: liten's, with tokio's signatures.

use crate::runtime::Runtime;
use liten::runtime::door::boxed_if_large;
use liten::task::JoinHandle;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

pub use liten::task::LocalEnterGuard;

/// Tasks that may be `!Send`, which run on the thread that polls the set.
pub struct LocalSet {
    tasks: liten::task::LocalSet,
}

impl LocalSet {
    /// Makes an empty set.
    pub fn new() -> Self {
        Self { tasks: liten::task::LocalSet::new() }
    }

    pub(super) fn tasks(&self) -> &liten::task::LocalSet {
        &self.tasks
    }

    /// Lets [`spawn_local`](crate::task::spawn_local) spawn into the set until the guard is dropped.
    pub fn enter(&self) -> LocalEnterGuard {
        self.tasks.enter()
    }

    /// Spawns `future` into the set.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        let origin = Location::caller();
        boxed_if_large!(task future: F, origin => self.tasks.spawn_local_from(future, origin))
    }

    /// Spawns `future` into the set as a task with a name.
    #[cfg(all(tokio_unstable, feature = "tracing"))]
    #[track_caller]
    pub(super) fn spawn_named<F>(&self, future: F, name: Option<&str>) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        let Some(name) = name else { return self.spawn_local(future) };
        let origin = (Location::caller(), std::sync::Arc::<str>::from(name));
        boxed_if_large!(task future: F, origin => self.tasks.spawn_local_from(future, origin))
    }

    /// Runs `future` and the tasks on this thread, in `runtime`, and returns the output of `future`.
    #[track_caller]
    pub fn block_on<F>(&self, runtime: &Runtime, future: F) -> F::Output
    where
        F: Future,
    {
        boxed_if_large!(root future: F => runtime.block_on(self.run_until(future)))
    }

    /// Runs `future` and the tasks, and returns the output of `future`.
    pub fn run_until<F>(&self, future: F) -> impl Future<Output = F::Output> + use<'_, F>
    where
        F: Future,
    {
        self.tasks.run_until(future)
    }

    /// Returns the id of the set.
    pub fn id(&self) -> crate::runtime::Id {
        self.tasks.id()
    }
}

/// Runs the tasks until all have ended.
impl Future for LocalSet {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.tasks).poll(cx)
    }
}

impl Default for LocalSet {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSet").finish_non_exhaustive()
    }
}
