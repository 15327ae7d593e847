//! `task::Builder`: liten's, with tokio's signatures.

use super::{JoinHandle, LocalSet};
use crate::runtime::{context, Handle};
use crate::spawning::blocking;
use std::future::Future;
use std::io;

/// Gives a task a name before it is spawned. liten's page and its dumps show the name.
#[derive(Default, Debug)]
pub struct Builder<'a> {
    name: Option<&'a str>,
}

impl<'a> Builder<'a> {
    /// Makes a builder without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name of the task.
    pub fn name(&self, name: &'a str) -> Self {
        Self { name: Some(name) }
    }

    fn inner(&self) -> liten::task::Builder<'a> {
        let inner = liten::task::Builder::new();
        self.name.map_or(inner, |name| inner.name(name))
    }

    /// Spawns `future` in the current runtime.
    ///
    /// # Errors
    ///
    /// None.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        context::assert_inside();
        Ok(Handle::current().spawn_named(future, self.name))
    }

    /// Spawns `future` in the runtime of `handle`.
    ///
    /// # Errors
    ///
    /// None.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        Ok(handle.spawn_named(future, self.name))
    }

    /// Spawns `future`, which may be `!Send`, on the current thread.
    ///
    /// # Errors
    ///
    /// None.
    ///
    /// # Panics
    ///
    /// Panics where no `LocalSet` and no `LocalRuntime` runs or has been entered.
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future<Output: 'static> + 'static,
    {
        Ok(super::spawn_local_named(future, self.name))
    }

    /// Spawns `future`, which may be `!Send`, into `local_set`.
    ///
    /// # Errors
    ///
    /// None.
    #[track_caller]
    pub fn spawn_local_on<F>(
        self,
        future: F,
        local_set: &LocalSet,
    ) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future<Output: 'static> + 'static,
    {
        Ok(local_set.spawn_named(future, self.name))
    }

    /// Runs `f`, which may block, on the pool for blocking work of the current runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if no thread can be made, or the runtime has ended.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn_blocking<F, R>(self, f: F) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        self.spawn_blocking_on(f, &Handle::current())
    }

    /// Runs `f`, which may block, on the pool for blocking work of the runtime of `handle`.
    ///
    /// # Errors
    ///
    /// Returns an error if no thread can be made, or the runtime has ended.
    #[track_caller]
    pub fn spawn_blocking_on<F, R>(self, f: F, handle: &Handle) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        blocking!(self.name, f: F => self.inner().spawn_blocking_on(f, handle.inner()))
    }
}
