//! A handle that ends its task when it goes away.

use crate::engine::task::{AbortHandle, JoinError, JoinHandle, TaskId};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The owner's end of a task that does not outlive it: dropping the handle aborts the task.
///
/// So a task that is spawned by a request ends with the request, also if that is dropped half-way.
/// Awaiting the handle gives the task's result, as with a [`JoinHandle`].
///
/// Dropping does not wait for the end of the task: a task that is being polled finishes that poll, and its
/// destructors run on its worker. To wait for several tasks, or for the end of those that are aborted, use a
/// [`JoinSet`](crate::task::JoinSet).
///
/// # Cancel safety
///
/// Awaiting `&mut handle` in a `select!` loses nothing when another branch wins. Awaiting the handle
/// itself aborts the task then.
///
/// # Panics
///
/// Polling a handle again after it has returned the result panics.
///
/// # Examples
///
/// ```
/// use liten::task::AbortOnDropHandle;
///
/// # liten::block_on(async {
/// let answer = AbortOnDropHandle::new(liten::spawn(async { 42 }));
/// assert_eq!(answer.await.unwrap(), 42);
///
/// let endless = liten::spawn(std::future::pending::<()>());
/// let aborted = endless.abort_handle();
/// drop(AbortOnDropHandle::new(endless));
/// # while !aborted.is_finished() { liten::task::yield_now().await; }
/// # });
/// ```
#[must_use = "dropping the handle aborts the task"]
#[derive(Debug)]
pub struct AbortOnDropHandle<T>(Option<JoinHandle<T>>);

impl<T> AbortOnDropHandle<T> {
    /// Makes the task of `handle` end when the new handle is dropped.
    pub fn new(handle: JoinHandle<T>) -> Self {
        Self(Some(handle))
    }

    fn handle(&self) -> &JoinHandle<T> {
        self.0.as_ref().expect("taken by detach and drop only")
    }

    /// Asks the task to end, as [`JoinHandle::abort`] does.
    pub fn abort(&self) {
        self.handle().abort();
    }

    /// Returns a handle that can abort the task and outlives this one.
    pub fn abort_handle(&self) -> AbortHandle {
        self.handle().abort_handle()
    }

    /// Returns whether the task has ended; `true` means that awaiting the handle returns at once.
    pub fn is_finished(&self) -> bool {
        self.handle().is_finished()
    }

    /// Returns the task's id.
    pub fn id(&self) -> TaskId {
        self.handle().id()
    }

    /// Returns the ordinary handle: the task runs on when that is dropped.
    pub fn detach(mut self) -> JoinHandle<T> {
        self.0.take().expect("taken by detach and drop only")
    }
}

impl<T> Future for AbortOnDropHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(self.0.as_mut().expect("taken by detach and drop only")).poll(cx)
    }
}

impl<T> Drop for AbortOnDropHandle<T> {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.abort();
        }
    }
}
