//! A runtime on the one thread: a [`LocalExecutor`], timers, and a reactor for what waits for the host.

use super::context::EnterGuard;
use super::door::boxed_if_large;
use super::handle::Handle;
use super::local::{LocalExecutor, Settled};
use super::local_thread::is_in_local;
use super::timekeeper::Timekeeper;
use crate::component::{self, Deadlock, Reactor};
use crate::engine::driver::Driver;
use crate::engine::task::JoinHandle;
use crate::engine::task::origin::Origin;
use crate::engine::wakers;
use crate::impls::impl_debug;
use std::future::Future;
use std::io;
use std::panic::Location;

/// A runtime that lives on one thread and runs `!Send` tasks.
///
/// Tasks, sockets and timers make progress while [`LocalRuntime::block_on`] runs.
pub struct LocalRuntime {
    handle: Handle,
    /// `None` only while the runtime is being dropped.
    executor: Option<LocalExecutor<'static>>,
    reactor: Reactor,
}

impl LocalRuntime {
    /// Returns a runtime with the default settings.
    ///
    /// # Errors
    ///
    /// None on wasm.
    pub fn new() -> io::Result<Self> {
        Ok(Self::on(Reactor::new()))
    }

    /// A runtime whose tasks wait for the host through `reactor`.
    pub(super) fn on(reactor: Reactor) -> Self {
        let executor = LocalExecutor::of_runtime();
        let handle = Handle::new(Driver::new(), Settled::of(&executor));
        Self { handle, executor: Some(executor), reactor }
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

    /// Runs `future`, and the tasks, on this thread until `future` is done; returns its output.
    ///
    /// Tasks that are alive then make progress again at the next call.
    ///
    /// # Panics
    ///
    /// If called inside a task, if `future` panics, or if it waits although nothing can wake it any more.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        refuse_in_task("block_on");
        boxed_if_large!(root future: F => self.run(|_| future))
    }

    /// Runs the tasks until none is alive; returns at once if none is.
    ///
    /// # Panics
    ///
    /// If called inside a task, or if the tasks wait although nothing can wake them any more.
    #[track_caller]
    pub fn block_until_completion(&self) {
        refuse_in_task("block_until_completion");
        if let Err(deadlock) = self.inside(|executor| self.drive(executor.run_until_completion())) {
            deadlock.report();
        }
    }

    /// Runs the future that `make` returns, and the tasks, until the future is done.
    #[track_caller]
    pub(super) fn run<F, Fut>(&self, make: F) -> Fut::Output
    where
        F: FnOnce(Reactor) -> Fut,
        Fut: Future,
    {
        match self.inside(|executor| self.drive(executor.run(make(self.reactor.clone())))) {
            Ok(output) => output,
            Err(deadlock) => deadlock.report(),
        }
    }

    /// Calls `f` where spawns, timers and sockets belong to this runtime.
    fn inside<R>(&self, f: impl FnOnce(&LocalExecutor<'static>) -> R) -> R {
        let _entered = self.handle.enter();
        let _current = component::enter(self.reactor.clone());
        let executor = self.executor();
        executor.lend(|| f(executor))
    }

    fn drive<F: Future>(&self, future: F) -> Result<F::Output, Deadlock> {
        let keeper = Timekeeper::new(self.handle.driver());
        component::drive(&self.reactor, &keeper, keeper.observe(future))
    }

    /// Returns the handle, with which tasks are spawned from anywhere.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Makes this the runtime of the thread until the guard is dropped.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }
}

impl Drop for LocalRuntime {
    fn drop(&mut self) {
        // Destructors of tasks may use the runtime for the last time.
        let _entered = self.handle.enter();
        let _current = component::enter(self.reactor.clone());
        drop(self.executor.take());
        // Timers held outside the runtime's tasks: a future that waits for one learns that it waits in vain.
        let mut wakes = Vec::new();
        self.handle.driver().close(&mut wakes);
        wakers::wake_all(&mut wakes);
    }
}

impl_debug!([] LocalRuntime, "LocalRuntime");

/// Panics, at the caller, inside a task or a root.
#[track_caller]
pub(super) fn refuse_in_task(what: &str) {
    if is_in_local() {
        panic!(
            "{what} called inside a task: it would block the thread that runs the tasks it waits for; \
             use .await"
        );
    }
}
