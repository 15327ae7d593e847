//! `LocalSet`: liten's, with tokio's signatures.

use crate::runtime::Runtime;
#[cfg(tokio_unstable)]
use crate::runtime::unstable::{fate::{self, Ending}, Extras, UnhandledPanic};
use crate::spawning::spawned;
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
    /// What ends it when one of its tasks panics.
    #[cfg(tokio_unstable)]
    extras: Option<std::sync::Arc<Extras>>,
}

/// What the set has that this thread polls, or else the current runtime.
#[cfg(tokio_unstable)]
pub(super) fn extras() -> Option<std::sync::Arc<Extras>> {
    fate::local().or_else(Extras::rare_current)
}

impl LocalSet {
    /// Makes an empty set.
    pub fn new() -> Self {
        Self {
            tasks: liten::task::LocalSet::new(),
            #[cfg(tokio_unstable)]
            extras: None,
        }
    }

    /// Chooses what happens when a task of the set panics.
    #[cfg(tokio_unstable)]
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        self.extras = match behavior {
            UnhandledPanic::ShutdownRuntime => Some(Extras::of_local_set()),
            UnhandledPanic::Ignore => None,
        };
        self
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
        let place = Location::caller();
        let origin = place;
        spawned!("local", None, self.extras.clone(), future: F, place, origin =>
            self.tasks.spawn_local_from(future, origin))
    }

    /// Spawns `future` into the set as a task with a name.
    #[cfg(all(tokio_unstable, feature = "tracing"))]
    #[track_caller]
    pub(super) fn spawn_named<F>(&self, future: F, name: Option<&str>) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        let Some(name) = name else { return self.spawn_local(future) };
        let place = Location::caller();
        let origin = (place, std::sync::Arc::<str>::from(name));
        spawned!("local", Some(name), self.extras.clone(), future: F, place, origin =>
            self.tasks.spawn_local_from(future, origin))
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
        #[cfg(tokio_unstable)]
        return Ending::set(self.tasks.run_until(future), self.extras.clone());
        #[cfg(not(tokio_unstable))]
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
        #[cfg(tokio_unstable)]
        if let Some(extras) = self.extras.clone() {
            return std::pin::pin!(Ending::set(&mut self.tasks, Some(extras))).poll(cx);
        }
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
