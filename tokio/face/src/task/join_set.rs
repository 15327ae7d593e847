//! `JoinSet`: liten's, with tokio's signatures.

use super::{AbortHandle, Id, JoinError, JoinHandle, LocalSet};
use crate::runtime::Handle;
use std::fmt;
use std::future::Future;
use std::task::{Context, Poll};

/// Tasks with outputs of one type, which are joined in the order in which they end.
pub struct JoinSet<T> {
    tasks: liten::task::JoinSet<T>,
}

impl<T> JoinSet<T> {
    /// Makes an empty set.
    #[track_caller]
    pub fn new() -> Self {
        Self { tasks: liten::task::JoinSet::new() }
    }

    /// Returns the number of tasks that were not joined yet.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns whether all tasks were joined.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

impl<T: 'static> JoinSet<T> {
    /// Spawns `task` in the current runtime.
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(super::spawn(task))
    }

    /// Spawns `task` in the runtime of `handle`.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn(task))
    }

    /// Spawns `task`, which may be `!Send`, on the current thread.
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(super::spawn_local(task))
    }

    /// Spawns `task`, which may be `!Send`, into `local_set`.
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local_set.spawn_local(task))
    }

    /// Runs `f` on the current runtime's pool for blocking work.
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(super::spawn_blocking(f))
    }

    /// Runs `f` on the pool for blocking work of the runtime of `handle`.
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn_blocking(f))
    }

    fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        self.tasks.insert(handle)
    }

    /// Waits for the next task that ends; `None` if there is none.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.tasks.join_next().await
    }

    /// As [`join_next`](Self::join_next), with the id of the task.
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        self.tasks.join_next_with_id().await
    }

    /// Returns the output of a task that has ended, if there is one.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.tasks.try_join_next()
    }

    /// As [`try_join_next`](Self::try_join_next), with the id of the task.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        self.tasks.try_join_next_with_id()
    }

    /// Polls for the next task that ends.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.tasks.poll_join_next(cx)
    }

    /// As [`poll_join_next`](Self::poll_join_next), with the id of the task.
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        self.tasks.poll_join_next_with_id(cx)
    }

    /// Aborts all tasks and waits for their end.
    pub async fn shutdown(&mut self) {
        self.tasks.shutdown().await;
    }

    /// Waits for all tasks and returns their outputs in the order in which they ended.
    ///
    /// # Panics
    ///
    /// Panics if one of the tasks has panicked, with its payload, or was aborted.
    pub async fn join_all(self) -> Vec<T> {
        self.tasks.join_all().await
    }

    /// Aborts all tasks.
    pub fn abort_all(&mut self) {
        self.tasks.abort_all();
    }

    /// Takes all tasks out of the set and lets them go on.
    pub fn detach_all(&mut self) {
        self.tasks.detach_all();
    }
}

impl<T> Default for JoinSet<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}

impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(tasks: I) -> Self {
        let mut set = Self::new();
        set.extend(tasks);
        set
    }
}

impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn extend<I: IntoIterator<Item = F>>(&mut self, tasks: I) {
        tasks.into_iter().for_each(|task| {
            self.spawn(task);
        });
    }
}

/// Gives a task a name before it is spawned into a set.
#[cfg(all(tokio_unstable, feature = "tracing"))]
pub struct Builder<'a, T> {
    set: &'a mut JoinSet<T>,
    builder: super::Builder<'a>,
}

#[cfg(all(tokio_unstable, feature = "tracing"))]
impl<T> JoinSet<T> {
    /// Begins a task that gets a name.
    pub fn build_task(&mut self) -> Builder<'_, T> {
        Builder { set: self, builder: super::Builder::new() }
    }
}

/// Each of these spawns into the set as the method of that name of [`task::Builder`](super::Builder) does.
#[cfg(all(tokio_unstable, feature = "tracing"))]
impl<'a, T: 'static> Builder<'a, T> {
    /// Sets the name of the task.
    pub fn name(self, name: &'a str) -> Self {
        Self { builder: self.builder.name(name), ..self }
    }

    #[track_caller]
    pub fn spawn<F>(self, future: F) -> std::io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn(future)?))
    }

    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> std::io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_on(future, handle)?))
    }

    #[track_caller]
    pub fn spawn_blocking<F>(self, f: F) -> std::io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_blocking(f)?))
    }

    #[track_caller]
    pub fn spawn_blocking_on<F>(self, f: F, handle: &Handle) -> std::io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_blocking_on(f, handle)?))
    }

    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> std::io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        Ok(self.set.insert(self.builder.spawn_local(future)?))
    }

    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, local_set: &LocalSet) -> std::io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        Ok(self.set.insert(self.builder.spawn_local_on(future, local_set)?))
    }
}

#[cfg(all(tokio_unstable, feature = "tracing"))]
impl<T> fmt::Debug for Builder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("join_set::Builder").field("builder", &self.builder).finish_non_exhaustive()
    }
}
