//! The owner's end of a task: JoinHandle and AbortHandle.
#![allow(unsafe_code)]

use super::budget;
use super::header::TaskRef;
use super::join_error::JoinError;
use super::origin::TaskId;
use super::state::DropJoin;
use super::waiting::Wait;
use super::waker;
use crate::engine::wakers;
use crate::impls::{impl_debug, impl_unwind_safe};
use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

/// The owner's end of a spawned task: a future of the task's result.
///
/// Awaiting it gives `Ok` with what the task returned, or a [`JoinError`] if the task panicked or was
/// cancelled. Dropping it does not end the task: the task is *detached* and runs on.
///
/// # Cancel safety
///
/// Awaiting `&mut handle` in a `select!` loses nothing when another branch wins: the result stays in the
/// task until it is taken.
///
/// # Panics
///
/// Polling a handle again after it has returned the result panics.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let handle = liten::spawn(async { 6 * 7 });
/// assert_eq!(handle.await.unwrap(), 42);
/// # });
/// ```
pub struct JoinHandle<T> {
    /// Taken by drop.
    task: ManuallyDrop<TaskRef>,
    /// The output moves through the handle, so the handle is Send and Sync if `T` is Send, as a lock
    /// around a `T` would be.
    output: PhantomData<Mutex<Option<T>>>,
}

impl<T> JoinHandle<T> {
    pub(super) fn new(task: TaskRef) -> Self {
        Self { task: ManuallyDrop::new(task), output: PhantomData }
    }

    /// Asks the task to end: its future is dropped when the task runs next, instead of being polled.
    ///
    /// A task that is being polled finishes that poll; if the poll completes the task, the abort has no
    /// effect. Blocking work ([`spawn_blocking`](crate::spawn_blocking)) can be aborted only before it
    /// starts.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let handle = liten::spawn(std::future::pending::<()>());
    /// handle.abort();
    /// assert!(handle.await.unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Returns a handle that can abort the task and outlives this one.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle { task: TaskRef::clone(&self.task) }
    }

    /// Returns whether the task has ended; `true` means that awaiting the handle returns at once.
    pub fn is_finished(&self) -> bool {
        self.task.header().state.is_complete()
    }

    /// Returns the task's id.
    pub fn id(&self) -> TaskId {
        self.task.header().id
    }

    /// Waits until the output is there. Stores this poll's waker with the task.
    fn poll_complete(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let header = self.task.header();
        let state = &header.state;
        if state.has_join_waker() {
            let same = header.join_waker.with(|slot| {
                // SAFETY: JOIN_WAKER is 1, so the slot is only read, by us and by the task.
                let waker = unsafe { &*slot }.as_ref();
                waker.is_some_and(|waker| waker.will_wake(cx.waker()))
            });
            if same {
                // `pending` is right: had the task completed, its wake of this waker is still to come or
                // has come.
                return if state.is_complete() { Poll::Ready(()) } else { Poll::Pending };
            }
        }
        // Cloned before the slot is touched: a waker's clone is user code, and may panic.
        let waker = cx.waker().clone();
        if state.has_join_waker() && state.flip_join_waker().is_ready() {
            return Poll::Ready(());
        }
        // SAFETY: JOIN_WAKER is 0, so the slot is ours alone until `flip_join_waker` gives it to the task,
        // whether or not the task is complete.
        let old = header.join_waker.with_mut(|slot| unsafe { (*slot).replace(waker) });
        let given = state.flip_join_waker();
        if let Some(old) = &old {
            waker::clear(old, Wait::Join, header.id.to_bits());
        }
        wakers::drop_all(old);
        given
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the end of the task, as one operation of the budget.
    #[inline]
    pub(crate) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        budget::poll_leaf(cx, |cx| {
            if !self.is_finished() && self.poll_complete(cx).is_pending() {
                waker::set(cx.waker(), Wait::Join, self.id().to_bits());
                return Poll::Pending;
            }
            Poll::Ready(())
        })
    }

    /// The result of a task that has ended.
    pub(crate) fn into_result(self) -> Result<T, JoinError> {
        assert!(self.is_finished());
        // SAFETY: the task is complete, and `T` is as below.
        match unsafe { self.task.take_output() } {
            Poll::Ready(result) => result,
            Poll::Pending => unreachable!("it has ended"),
        }
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.poll_end(cx) {
            // SAFETY: the task is complete, and `T` is its output type: `new` is called with that of the
            // future.
            Poll::Ready(()) => unsafe { self.task.take_output() },
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        unsafe { ManuallyDrop::take(&mut self.task) }.drop_join();
    }
}

impl TaskRef {
    /// The JoinHandle goes away: drops what it owned, and its reference.
    fn drop_join(self) {
        let this = ManuallyDrop::new(self);
        let header = this.header();
        match header.state.drop_join() {
            DropJoin::Released => return,
            DropJoin::DropWaker => {
                // SAFETY: JOIN_WAKER and JOIN_INTEREST are 0 now, so the task never looks at the slot again.
                let waker = unsafe { header.take_join_waker() };
                if let Some(waker) = &waker {
                    // The task that waited may be cold, and have given the handle away.
                    waker::clear(waker, Wait::Join, header.id.to_bits());
                }
                wakers::drop_all(waker);
            }
            DropJoin::Complete { slot_is_ours } => {
                // SAFETY: the task is complete and the JoinHandle exists (we are it): the output is ours.
                unsafe { (header.vtable.drop_output)(this.0) };
                if slot_is_ours {
                    // SAFETY: the task has handed the slot back, or never had it.
                    wakers::drop_all(unsafe { header.take_join_waker() });
                }
            }
        }
        drop(ManuallyDrop::into_inner(this));
    }
}

impl<T> Unpin for JoinHandle<T> {}
impl_unwind_safe!([T] JoinHandle<T>);
impl_debug!([T] JoinHandle<T>, this => "JoinHandle" { id: this.id() });

/// Aborts a task; does not wait for it and does not keep it running.
///
/// Made by [`JoinHandle::abort_handle`].
#[derive(Clone)]
pub struct AbortHandle {
    task: TaskRef,
}

impl AbortHandle {
    /// Asks the task to end, as [`JoinHandle::abort`] does.
    pub fn abort(&self) {
        self.task.abort();
    }

    /// Returns whether the task has ended.
    pub fn is_finished(&self) -> bool {
        self.task.header().state.is_complete()
    }

    /// Returns the task's id.
    pub fn id(&self) -> TaskId {
        self.task.header().id
    }
}

impl_debug!([] AbortHandle, this => "AbortHandle" { id: this.id() });

#[cfg(all(test, liten_loom))]
mod loom;
