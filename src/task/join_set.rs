//! A set of tasks that belong together.
//!
//! The handles stand in a [`FuturesUnordered`]: it polls only the handles that were woken, so a set of ten
//! thousand tasks costs one poll per finished task and not ten thousand. Rejected: a list of our own over
//! the join wakers, which would be the same intrusive queue a second time.
//!
//! A handle is polled when it is inserted, so that it is woken when its task ends, and stands among the woken
//! ones in that place. Otherwise the first poll of the set would find the tasks that have ended by then in
//! the order in which they were spawned.

use super::{AbortHandle, JoinError, JoinHandle, TaskId};
use crate::engine::task::budget;
use crate::engine::tokio_note::NOTE;
use crate::impls::{impl_debug, impl_default};
use crate::runtime::gauges::{Gauge, Measured};
use crate::runtime::{Handle, LocalSet};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{Location, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

/// A set of tasks whose results come in the order in which they finish.
///
/// All tasks of a set return the same type. Dropping the set aborts every task that is still in it.
///
/// # Examples
///
/// ```
/// use liten::task::JoinSet;
///
/// liten::block_on(async {
///     let mut set = JoinSet::new();
///     for number in 0..10 {
///         set.spawn(async move { number * number });
///     }
///     let mut sum = 0;
///     while let Some(square) = set.join_next().await {
///         sum += square.expect("the task does not panic");
///     }
///     assert_eq!(sum, 285);
/// });
/// ```
#[must_use = "dropping a set aborts its tasks"]
pub struct JoinSet<T> {
    /// Tasks that have not been seen to have ended.
    tasks: FuturesUnordered<Member<T>>,
    /// Those that an insertion has seen to have ended, in that order.
    ended: VecDeque<JoinHandle<T>>,
    /// The waker of the last poll that found none: an insertion keeps it in its place, or wakes it.
    waiting: Option<Waker>,
    gauge: Gauge,
}

/// Waits for the end of a task and leaves its result where it is: a large result is moved only once it has
/// left the set.
struct Member<T>(Option<JoinHandle<T>>);

impl<T> Future for Member<T> {
    type Output = JoinHandle<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<JoinHandle<T>> {
        let handle = self.0.as_mut().expect("it is polled until the task has ended");
        ready!(handle.poll_end(cx));
        Poll::Ready(self.0.take().expect("as above"))
    }
}

impl<T> JoinSet<T> {
    /// Returns an empty set.
    #[track_caller]
    pub fn new() -> Self {
        let gauge = Gauge::new(Measured::JoinSet, None, Location::caller());
        Self { tasks: FuturesUnordered::new(), ended: VecDeque::new(), waiting: None, gauge }
    }

    /// Returns how many tasks are in the set, finished ones that have not been joined included.
    pub fn len(&self) -> usize {
        self.tasks.len() + self.ended.len()
    }

    /// Returns whether no task is in the set.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.ended.is_empty()
    }

    /// Spawns `future` on the current runtime and puts the task into the set.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.insert(super::spawn(future))
    }

    /// Spawns `future` on the runtime of `handle` and puts the task into the set.
    #[track_caller]
    pub fn spawn_on<F>(&mut self, future: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.insert(handle.spawn(future))
    }

    /// Spawns `future`, which need not be `Send`, on this thread, as [`spawn_local`](super::spawn_local)
    /// does, and puts the task into the set.
    ///
    /// # Panics
    ///
    /// Panics outside a [`LocalRuntime`](crate::runtime::LocalRuntime).
    #[track_caller]
    pub fn spawn_local<F>(&mut self, future: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        self.insert(super::spawn_local(future))
    }

    /// Spawns `future`, which need not be `Send`, on `local_set` and puts the task into the set.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::task::{JoinSet, LocalSet};
    ///
    /// let (local, mut set) = (LocalSet::new(), JoinSet::new());
    /// set.spawn_local_on(async { 1 }, &local);
    /// assert_eq!(liten::block_on(local.run_until(set.join_next())).unwrap().unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, future: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        self.insert(local_set.spawn_local(future))
    }

    /// Puts a task into the set that was spawned elsewhere; the set aborts it when it is dropped.
    #[doc(hidden)]
    pub fn insert(&mut self, handle: JoinHandle<T>) -> AbortHandle {
        let abort = handle.abort_handle();
        self.tasks.push(Member(Some(handle)));
        let cx = &mut Context::from_waker(self.waiting.as_ref().unwrap_or(Waker::noop()));
        let tasks = &mut self.tasks;
        while let Poll::Ready(Some(ended)) = budget::unlimited(|| tasks.poll_next_unpin(cx)) {
            self.ended.push_back(ended);
        }
        if !self.ended.is_empty() {
            // It does not poll the set again by itself.
            self.waiting.take().into_iter().for_each(Waker::wake);
        }
        self.gauge.set_length(|| self.len());
        abort
    }

    /// Waits for the next task to finish, takes it out of the set and returns its result; `None` if the set
    /// is empty.
    ///
    /// # Errors
    ///
    /// The inner result is a [`JoinError`] if the task panicked or was aborted.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is done, no task has left the set.
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// As [`join_next`](Self::join_next), with the id of the task. The id of one that failed is in the
    /// [`JoinError`].
    ///
    /// # Errors
    ///
    /// The inner result is a [`JoinError`] if the task panicked or was aborted.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the future is dropped before it is done, no task has left the set.
    pub async fn join_next_with_id(&mut self) -> Option<Result<(TaskId, T), JoinError>> {
        poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Takes a finished task out of the set and returns its result; `None` if none has finished or the set
    /// is empty.
    ///
    /// A task that is finishing at this moment may be missed; the next call, or
    /// [`join_next`](Self::join_next), finds it.
    ///
    /// # Errors
    ///
    /// The inner result is a [`JoinError`] if the task panicked or was aborted.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.try_poll(Self::poll_join_next)
    }

    /// As [`try_join_next`](Self::try_join_next), with the id of the task.
    ///
    /// # Errors
    ///
    /// The inner result is a [`JoinError`] if the task panicked or was aborted.
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(TaskId, T), JoinError>> {
        self.try_poll(Self::poll_join_next_with_id)
    }

    fn try_poll<R>(
        &mut self,
        poll: impl FnOnce(&mut Self, &mut Context<'_>) -> Poll<Option<R>>,
    ) -> Option<R> {
        // No code would try again after a refusal, so there must be none. The waker may be a dummy, because
        // the set is borrowed exclusively: a task that waits for it polls again and leaves a real one.
        match budget::unlimited(|| poll(self, &mut Context::from_waker(Waker::noop()))) {
            Poll::Ready(result) => result,
            Poll::Pending => None,
        }
    }

    /// Polls for the next task to finish: `Ready(None)` if the set is empty.
    ///
    /// `Pending` means that the waker of `cx` will be woken; only the one of the last call is.
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_ended(cx).map(|ended| ended.map(JoinHandle::into_result))
    }

    /// As [`poll_join_next`](Self::poll_join_next), with the id of the task.
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(TaskId, T), JoinError>>> {
        let Poll::Ready(ended) = self.poll_ended(cx) else { return Poll::Pending };
        let with_id = |task: JoinHandle<T>| {
            let id = task.id();
            task.into_result().map(|output| (id, output))
        };
        Poll::Ready(ended.map(with_id))
    }

    /// The next task that has ended.
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Option<JoinHandle<T>>> {
        let poll = match self.ended.pop_front() {
            Some(ended) => Poll::Ready(Some(ended)),
            None => self.tasks.poll_next_unpin(cx),
        };
        match poll {
            Poll::Ready(Some(_)) => {
                self.gauge.set_length(|| self.len());
                self.gauge.note_user();
            }
            Poll::Ready(None) => {}
            Poll::Pending => match &mut self.waiting {
                Some(waiting) => waiting.clone_from(cx.waker()),
                None => self.waiting = Some(cx.waker().clone()),
            },
        }
        poll
    }

    /// Waits for all tasks and returns their outputs in the order in which they finished.
    ///
    /// # Panics
    ///
    /// If a task panicked, the panic goes on in the caller; if one was aborted, this panics. The remaining
    /// tasks are aborted then. Use [`join_next`](Self::join_next) to handle failures one by one.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: dropping the future aborts the remaining tasks and drops the outputs received so far.
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(result) = self.join_next().await {
            match result.map_err(JoinError::try_into_panic) {
                Ok(output) => outputs.push(output),
                Err(Ok(payload)) => resume_unwind(payload),
                Err(Err(cancelled)) => {
                    panic!("a task of the set did not finish: {cancelled}{NOTE}")
                }
            }
        }
        outputs
    }

    /// Aborts every task of the set.
    ///
    /// The tasks stay in the set: [`join_next`](Self::join_next) returns a cancelled [`JoinError`] for
    /// each, or the result of one that had already finished.
    pub fn abort_all(&mut self) {
        // The newest one comes first. Tasks that are aborted end in the order in which they were spawned.
        let tasks: Vec<_> = self.tasks.iter().filter_map(|task| task.0.as_ref()).collect();
        tasks.into_iter().rev().for_each(JoinHandle::abort);
    }

    /// Takes every task out of the set without aborting it: they go on unattended.
    pub fn detach_all(&mut self) {
        self.tasks.clear();
        self.ended.clear();
        self.gauge.set_length(|| 0);
    }

    /// Aborts every task and waits until all of them have ended; the set is empty afterwards.
    ///
    /// Outputs and panics of the tasks are dropped.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is done, all tasks have been aborted and some are still in the
    /// set. (If it was never polled, nothing has happened.)
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.abort_all();
    }
}

impl_default!([T] JoinSet<T>);

impl_debug!([T] JoinSet<T>, this => "JoinSet" { len: this.len(), .. });

/// Spawns every future of the iterator on the current runtime.
impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn extend<I: IntoIterator<Item = F>>(&mut self, futures: I) {
        // A loop, because a closure would hide the caller from the panic message.
        for future in futures {
            self.spawn(future);
        }
    }
}

/// Spawns every future of the iterator on the current runtime.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = F>>(futures: I) -> Self {
        let mut set = Self::new();
        set.extend(futures);
        set
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
