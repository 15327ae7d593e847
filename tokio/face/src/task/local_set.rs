//! `LocalSet`: liten's, with tokio's signatures.

use crate::runtime::Runtime;
#[cfg(tokio_unstable)]
use crate::runtime::unstable::{fate::{Fate, InSet}, owner::Owner, UnhandledPanic};
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
    /// What ends it when one of its tasks panics. Dropped after the tasks, whose destructors may spawn.
    #[cfg(tokio_unstable)]
    owner: Option<Owner>,
}

impl LocalSet {
    /// Makes an empty set.
    pub fn new() -> Self {
        Self {
            tasks: liten::task::LocalSet::new(),
            #[cfg(tokio_unstable)]
            owner: None,
        }
    }

    /// Chooses what happens when a task of the set panics.
    #[cfg(tokio_unstable)]
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        self.owner = match behavior {
            UnhandledPanic::ShutdownRuntime => Some(Owner::new(&self.tasks)),
            UnhandledPanic::Ignore => None,
        };
        self
    }

    #[cfg(tokio_unstable)]
    fn fate(&self) -> Option<std::sync::Arc<Fate>> {
        self.owner.as_ref()?.extras().fate()
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
        spawned!("local", None, self.owner.as_ref().map(Owner::extras), future: F, place, origin =>
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
        spawned!("local", Some(name), self.owner.as_ref().map(Owner::extras), future: F, place, origin =>
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
        return InSet::new(self.tasks.run_until(future), &self.tasks, self.fate());
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
        if let Some(fate) = self.fate() {
            fate.check_in(&self.tasks, cx);
            let poll = Pin::new(&mut self.tasks).poll(cx);
            // The task that has panicked may have been the last one.
            fate.check_in(&self.tasks, cx);
            return poll;
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
