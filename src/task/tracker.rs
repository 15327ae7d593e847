//! Counting tasks, and waiting until none is left.
//!
//! A [`JoinSet`](super::JoinSet) keeps what its tasks return; a tracker keeps a number. The books are under
//! one lock, taken once when a task is counted and once when it is gone.

use super::waiters::{Place, Waiters};
use super::{JoinHandle, spawn, spawn_local};
use crate::runtime::Handle;
use crate::sync_shim::{Arc, Mutex};
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
    inner: Arc<Inner>,
}

struct Inner {
    books: Mutex<Books>,
    waiters: Waiters,
}

#[derive(Default)]
struct Books {
    closed: bool,
    tasks: usize,
    /// How often it has become closed and empty: a wait that has missed the moment sees that it was there.
    ends: u64,
}

impl Books {
    fn is_over(&self) -> bool {
        self.closed && self.tasks == 0
    }
}

impl Inner {
    /// Changes the books; wakes who waits if it is over now and was not before. Returns what `change` does.
    fn change<R>(&self, change: impl FnOnce(&mut Books) -> R) -> R {
        let mut books = self.books.lock();
        let was_over = books.is_over();
        let result = change(&mut books);
        let ends = !was_over && books.is_over();
        books.ends += u64::from(ends);
        drop(books);
        if ends {
            self.waiters.wake_all();
        }
        result
    }
}

impl TaskTracker {
    /// Returns a tracker that is open and counts nothing yet.
    pub fn new() -> Self {
        let inner = Inner { books: Mutex::new(Books::default()), waiters: Waiters::new() };
        Self { inner: Arc::new(inner) }
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
        let books = self.inner.books.lock();
        // The end that lasts at this moment is one to come, in case it is over before the first poll.
        let ends = books.ends - u64::from(books.is_over());
        drop(books);
        TaskTrackerWaitFuture { tracker: self, ends, place: Place::default() }
    }

    /// Closes the tracker, so that a [`wait`](Self::wait) ends when it is empty. Returns whether it was open.
    ///
    /// Tasks can be added to a closed tracker, too.
    pub fn close(&self) -> bool {
        self.inner.change(|books| !std::mem::replace(&mut books.closed, true))
    }

    /// Opens the tracker again. Returns whether it was closed.
    pub fn reopen(&self) -> bool {
        self.inner.change(|books| std::mem::replace(&mut books.closed, false))
    }

    /// Returns whether the tracker is closed.
    pub fn is_closed(&self) -> bool {
        self.inner.books.lock().closed
    }

    /// Returns how many tasks and [tokens](Self::token) it counts.
    pub fn len(&self) -> usize {
        self.inner.books.lock().tasks
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
        self.inner.change(|books| books.tasks += 1);
        TaskTrackerToken { tracker: self.clone() }
    }
}

impl Default for TaskTracker {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TaskTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let books = self.inner.books.lock();
        f.debug_struct("TaskTracker")
            .field("len", &books.tasks)
            .field("is_closed", &books.closed)
            .finish_non_exhaustive()
    }
}

// A panic leaves the books as they were: no user code runs under their lock.
impl std::panic::UnwindSafe for TaskTracker {}
impl std::panic::RefUnwindSafe for TaskTracker {}

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
        self.tracker.inner.change(|books| books.tasks -= 1);
    }
}

impl fmt::Debug for TaskTrackerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskTrackerToken").finish_non_exhaustive()
    }
}

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

/// Ready when a tracker is closed and empty; made by [`TaskTracker::wait`].
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub struct TaskTrackerWaitFuture<'a> {
    tracker: &'a TaskTracker,
    /// How often it had ended, and was so no more, when this was made.
    ends: u64,
    place: Place,
}

impl Future for TaskTrackerWaitFuture<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let inner = &this.tracker.inner;
        inner.waiters.poll(&mut this.place, cx, || {
            let books = inner.books.lock();
            books.is_over() || books.ends != this.ends
        })
    }
}

impl Drop for TaskTrackerWaitFuture<'_> {
    fn drop(&mut self) {
        self.tracker.inner.waiters.leave(&mut self.place);
    }
}

impl fmt::Debug for TaskTrackerWaitFuture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskTrackerWaitFuture").finish_non_exhaustive()
    }
}
