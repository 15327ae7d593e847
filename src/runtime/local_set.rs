//! tokio's name for an executor of tasks that need not be `Send`: a face on [`LocalExecutor`].

use super::door::boxed_if_large;
use super::id::Id;
use super::local::LocalExecutor;
use super::local_thread::{Entered, enter};
use crate::engine::task::JoinHandle;
use crate::engine::task::origin::Origin;
use crate::impls::{impl_debug, impl_default};
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// Runs tasks that need not be `Send`, with tokio's names: a [`LocalExecutor`] whose tasks borrow nothing.
///
/// Its tasks run while [`LocalSet::run_until`] or the set itself is being polled; the set is a future that is
/// ready when no task is alive. In the tasks [`spawn_local`](crate::task::spawn_local) adds tasks to the set.
/// Dropping the set drops the tasks that are left.
///
/// # Cancel safety
///
/// Awaiting `&mut set` in a `select!` loses nothing when another branch wins: the tasks stay in the set.
///
/// # Examples
///
/// ```
/// use liten::task::{LocalSet, spawn_local};
/// use std::rc::Rc;
///
/// # liten::block_on(async {
/// let set = LocalSet::new();
/// let kept = Rc::new(1);
/// let sum = set.run_until(async {
///     let theirs = kept.clone();
///     spawn_local(async move { *theirs + 1 }).await.unwrap() + *kept
/// });
/// assert_eq!(sum.await, 3);
/// # });
/// ```
pub struct LocalSet {
    /// Shared with `completion` alone.
    executor: Rc<LocalExecutor<'static>>,
    id: Id,
    /// What the set is as a future; made by its first poll.
    completion: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl LocalSet {
    /// Returns a set without tasks.
    pub fn new() -> Self {
        Self { executor: Rc::new(LocalExecutor::new()), id: Id::next(), completion: None }
    }

    /// Starts a task in this set. It runs when the set, or [`LocalSet::run_until`], is polled next.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::task::LocalSet;
    ///
    /// let set = LocalSet::new();
    /// let task = set.spawn_local(async { 1 });
    /// liten::block_on(set);
    /// assert!(task.is_finished());
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let origin = Location::caller();
        boxed_if_large!(task future: F, origin => self.spawn_local_from(future, origin))
    }

    /// As [`LocalSet::spawn_local`], on behalf of another caller.
    #[doc(hidden)]
    pub fn spawn_local_from<F>(&self, future: F, origin: impl Origin) -> JoinHandle<F::Output>
    where
        F: Future<Output: 'static> + 'static,
    {
        self.executor.spawn_at(future, origin)
    }

    /// Runs `future` and, whenever it waits, the tasks; returns the future's output. Tasks that are left run
    /// on when the set is polled again.
    ///
    /// # Cancel safety
    ///
    /// Dropping the returned future drops `future`; the tasks stay in the set.
    pub fn run_until<F: Future>(&self, future: F) -> impl Future<Output = F::Output> {
        self.executor.run(future)
    }

    /// Makes [`spawn_local`](crate::task::spawn_local) add tasks to this set, on this thread and until the
    /// guard is dropped. It runs none.
    ///
    /// Where an executor begins to run after that on the thread, it goes before. After the set is dropped the
    /// guard is without effect.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::task::{LocalSet, spawn_local};
    ///
    /// let set = LocalSet::new();
    /// let entered = set.enter();
    /// let task = spawn_local(async { 1 });
    /// drop(entered);
    /// assert_eq!(liten::block_on(set.run_until(task)).unwrap(), 1);
    /// ```
    pub fn enter(&self) -> LocalEnterGuard {
        LocalEnterGuard { _entered: enter(&self.executor) }
    }

    /// Returns what tells this set from other sets and from runtimes.
    pub fn id(&self) -> Id {
        self.id
    }
}

impl Future for LocalSet {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Self { executor, completion, .. } = &mut *self;
        let polled = completion
            .get_or_insert_with(|| {
                let executor = executor.clone();
                Box::pin(async move { executor.run_until_completion().await })
            })
            .as_mut()
            .poll(cx);
        if polled.is_ready() {
            *completion = None;
        }
        polled
    }
}

impl_default!([] LocalSet);

impl_debug!([] LocalSet, this => "LocalSet" { id: this.id, .. });

/// Keeps a [`LocalSet`] the one that [`spawn_local`](crate::task::spawn_local) adds tasks to; made by
/// [`LocalSet::enter`].
#[must_use = "the set is left when the guard is dropped"]
pub struct LocalEnterGuard {
    _entered: Entered,
}

impl_debug!([] LocalEnterGuard, "LocalEnterGuard");
