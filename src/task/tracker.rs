//! Counting tasks, and waiting until none is left.
//!
//! A [`JoinSet`](super::JoinSet) keeps what its tasks return; a tracker keeps a number. The counts and the
//! list of waiting futures are under one lock, taken once when a task is counted and once when it is gone.
//!
//! An *end* is the moment when a tracker becomes closed and empty. The ends are counted, too. The word of a
//! place is the number of ends that were over when its future was made, so the future is ready when the count
//! is another one. A call that brings an end takes out, in rounds, the places with older numbers. A future
//! that joins during the rounds has the new number or a later one, stands behind those places and ends the
//! rounds.
//!
//! No wait is lost: a future looks and joins under the lock, so the rounds of the next end find it. One that
//! is polled before they do sees that the end is over, and leaves by itself.

use super::{JoinHandle, spawn, spawn_local};
use crate::engine::sync_shim::Arc;
use crate::engine::task::waker::set_note;
use crate::engine::wakers::{self, Locked, Place, WaitList};
use crate::impls::{impl_debug, impl_default, impl_unwind_safe};
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::Handle;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Counts tasks, and says when the last one is gone: for an orderly end, mostly together with a
/// [`CancellationToken`](super::CancellationToken).
///
/// A tracker keeps no task and no output, so it may count tasks for as long as the program runs. Clones are
/// the same tracker. Dropping it does nothing to the tasks.
///
/// # Examples
///
/// ```
/// use liten::task::{CancellationToken, TaskTracker};
///
/// # liten::block_on(async {
/// let (tracker, token) = (TaskTracker::new(), CancellationToken::new());
/// for _ in 0..10 {
///     let token = token.clone();
///     tracker.spawn(async move { token.cancelled().await });
/// }
/// token.cancel();
/// tracker.close();
/// tracker.wait().await;
/// assert!(tracker.is_empty());
/// # });
/// ```
#[derive(Clone)]
pub struct TaskTracker {
    counts: Arc<WaitList<Counts>>,
}

#[derive(Default)]
struct Counts {
    closed: bool,
    tasks: usize,
    /// How often it has become closed and empty.
    ends: usize,
}

impl Counts {
    fn is_over(&self) -> bool {
        self.closed && self.tasks == 0
    }
}

impl TaskTracker {
    /// Applies `change`, and wakes the waiting futures if the tracker has just become closed and empty.
    /// Returns what `change` does.
    fn change<R>(&self, change: impl FnOnce(&mut Counts) -> R) -> R {
        let mut counts = self.counts.lock();
        let was_over = counts.is_over();
        let result = change(&mut counts);
        if !was_over && counts.is_over() {
            let now = counts.ends.wrapping_add(1);
            counts.ends = now;
            self.counts.wake(counts, now, |word| wakers::is_before(word, now));
        }
        result
    }

    /// Returns a tracker that is open and counts nothing yet.
    pub fn new() -> Self {
        Self { counts: Arc::new(WaitList::new(Counts::default())) }
    }

    /// Waits until the tracker is closed and empty; returns at once if it is.
    ///
    /// If that is so for a moment only, because the tracker is opened again, every wait that was there before
    /// the moment, or was made in it, ends all the same.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future loses nothing.
    pub fn wait(&self) -> TaskTrackerWaitFuture<'_> {
        let counts = self.counts.lock();
        // An end that lasts is not counted yet: the future is ready, also if it is polled after a `reopen`.
        let ends = counts.ends.wrapping_sub(usize::from(counts.is_over()));
        drop(counts);
        TaskTrackerWaitFuture { tracker: self, ends, place: Place::new(ends) }
    }

    /// Closes the tracker, so that a [`wait`](Self::wait) ends when it is empty. Returns whether it was open.
    ///
    /// Tasks can be added to a closed tracker, too.
    pub fn close(&self) -> bool {
        self.change(|counts| !std::mem::replace(&mut counts.closed, true))
    }

    /// Opens the tracker again. Returns whether it was closed.
    pub fn reopen(&self) -> bool {
        self.change(|counts| std::mem::replace(&mut counts.closed, false))
    }

    /// Returns whether the tracker is closed.
    pub fn is_closed(&self) -> bool {
        self.counts.lock().closed
    }

    /// Returns how many tasks and [tokens](Self::token) it counts.
    pub fn len(&self) -> usize {
        self.counts.lock().tasks
    }

    /// Returns whether it counts nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts a task in the current runtime and counts it. See [`liten::spawn`](crate::spawn).
    ///
    /// # Panics
    ///
    /// If called outside a runtime.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn(self.track_future(future))
    }

    /// Starts a task in the runtime of `handle` and counts it.
    #[track_caller]
    pub fn spawn_on<F>(&self, future: F, handle: &Handle) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        handle.spawn(self.track_future(future))
    }

    /// Starts a task that need not be `Send` on this thread and counts it. See
    /// [`spawn_local`].
    ///
    /// # Panics
    ///
    /// If called outside a [`LocalRuntime`](crate::runtime::LocalRuntime).
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        spawn_local(self.track_future(future))
    }

    /// Wraps `future`, which is counted from now on until the wrapper is dropped.
    ///
    /// It is not over when it is ready: a task drops its future then.
    pub fn track_future<F: Future>(&self, future: F) -> TrackedFuture<F> {
        TrackedFuture { future, token: self.token() }
    }

    /// Returns something that is counted until it is dropped.
    pub fn token(&self) -> TaskTrackerToken {
        self.change(|counts| counts.tasks += 1);
        TaskTrackerToken { tracker: self.clone() }
    }
}

impl_default!([] TaskTracker);

impl fmt::Debug for TaskTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.counts.lock();
        f.debug_struct("TaskTracker")
            .field("len", &counts.tasks)
            .field("is_closed", &counts.closed)
            .finish_non_exhaustive()
    }
}

// A panic leaves the counts as they were: no user code runs under their lock.
impl_unwind_safe!([] TaskTracker);

/// Is counted by a [`TaskTracker`] until it is dropped.
pub struct TaskTrackerToken {
    tracker: TaskTracker,
}

impl TaskTrackerToken {
    /// Returns the tracker that counts it.
    pub fn task_tracker(&self) -> &TaskTracker {
        &self.tracker
    }
}

impl Clone for TaskTrackerToken {
    /// Returns a second one, which is counted too.
    fn clone(&self) -> Self {
        self.tracker.token()
    }
}

impl Drop for TaskTrackerToken {
    fn drop(&mut self) {
        self.tracker.change(|counts| counts.tasks -= 1);
    }
}

impl_debug!([] TaskTrackerToken, "TaskTrackerToken");

pin_project! {
    /// A future that a [`TaskTracker`] counts; made by [`TaskTracker::track_future`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct TrackedFuture<F> {
        // First, so that it is gone when it is not counted any more.
        #[pin]
        future: F,
        token: TaskTrackerToken,
    }
}

impl<F: Future> Future for TrackedFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().future.poll(cx)
    }
}

pin_project! {
    /// Ready when a tracker is closed and empty; made by [`TaskTracker::wait`].
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct TaskTrackerWaitFuture<'a> {
        tracker: &'a TaskTracker,
        // The number of ends that were over when this was made.
        ends: usize,
        #[pin]
        place: Place,
    }

    impl PinnedDrop for TaskTrackerWaitFuture<'_> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.tracker.counts.leave(this.place.as_ref());
        }
    }
}

impl Future for TaskTrackerWaitFuture<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let (place, ends) = (this.place.as_ref(), *this.ends);
        if place.given().is_some_and(|word| word != ends) {
            // The rounds of an end have reached it.
            return Poll::Ready(());
        }
        let mut left = None;
        let poll = this.tracker.counts.poll(place, cx, |counts: &mut Locked<'_, Counts>| {
            if counts.ends == ends {
                return Poll::Pending;
            }
            left = counts.leave(place);
            Poll::Ready(())
        });
        if poll.is_pending() {
            set_note(cx.waker(), PrimitiveKind::TaskTracker, &raw const *this.tracker.counts);
        }
        wakers::drop_all(left);
        poll
    }
}

impl_debug!([] TaskTrackerWaitFuture<'_>, "TaskTrackerWaitFuture");

#[cfg(all(test, liten_loom))]
mod loom;
