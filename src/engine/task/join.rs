//! The owner's end of a task: JoinHandle, AbortHandle, JoinError.
#![allow(unsafe_code)]

use super::budget;
use super::cell::TaskRef;
use super::id::TaskId;
use crate::engine::hint;
use crate::engine::wakers;
use crate::engine::words::{self, NOTE};
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

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
    /// Taken only by drop.
    task: Option<TaskRef>,
    /// The output moves through the handle, so the handle is Send and Sync if `T` is Send, as a lock
    /// around a `T` would be.
    output: PhantomData<Mutex<Option<T>>>,
}

impl<T> JoinHandle<T> {
    pub(super) fn new(task: TaskRef) -> Self {
        Self { task: Some(task), output: PhantomData }
    }

    fn task(&self) -> &TaskRef {
        self.task.as_ref().expect("taken by drop only")
    }

    /// Asks the task to end: its future is dropped at its next turn instead of being polled.
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
        self.task().abort();
    }

    /// Returns a handle that can abort the task and outlives this one.
    pub fn abort_handle(&self) -> AbortHandle {
        AbortHandle { task: self.task().clone() }
    }

    /// Returns whether the task has ended; `true` means that awaiting the handle returns at once.
    pub fn is_finished(&self) -> bool {
        self.task().header().state.is_complete()
    }

    /// Returns the task's id.
    pub fn id(&self) -> TaskId {
        self.task().header().id
    }

    /// Leaves this poll's waker with the task. `true`: the task completed meanwhile, the output is there.
    fn register(&mut self, cx: &mut Context<'_>) -> bool {
        let header = self.task().header();
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
                return state.is_complete();
            }
        }
        // Cloned before the slot is touched: a waker's clone is user code, and may panic.
        let waker = cx.waker().clone();
        if state.has_join_waker() && !state.unset_join_waker() {
            return true;
        }
        // SAFETY: JOIN_WAKER is 0 and the task was not complete when it became so: the slot is ours
        // alone until `set_join_waker` gives it to the task.
        let old = header.join_waker.with_mut(|slot| unsafe { (*slot).replace(waker) });
        let complete = !state.set_join_waker();
        wakers::drop_all(old);
        complete
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        budget::poll_leaf(cx, |cx| {
            if !self.task().header().state.is_complete() && !self.register(cx) {
                return Poll::Pending;
            }
            // SAFETY: the task is complete, and `T` is its output type: `new` is called with that of the
            // future.
            unsafe { self.task().take_output() }
        })
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.drop_join();
        }
    }
}

impl<T> Unpin for JoinHandle<T> {}
impl<T> std::panic::UnwindSafe for JoinHandle<T> {}
impl<T> std::panic::RefUnwindSafe for JoinHandle<T> {}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("id", &self.id()).finish_non_exhaustive()
    }
}

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

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("id", &self.id()).finish()
    }
}

/// Why a task gave no output: it panicked or was cancelled.
///
/// Where a panic does not unwind (on wasm mostly, and with `panic = "abort"`) it ends the program, so that
/// there is no handle left to be told.
///
/// `Display` and `Debug` show the message of the panic. If it says that a crate has looked for tokio in vain,
/// they say what to do about it (see [Crates that need tokio](crate::runtime#crates-that-need-tokio)).
pub struct JoinError {
    /// Boxed, so that `Result<T, JoinError>` is one word for small `T` and a task's cell stays small.
    inner: Box<Inner>,
}

struct Inner {
    id: TaskId,
    cause: Cause,
}

enum Cause {
    Cancelled,
    /// It was not begun, and this is why.
    Refused(String),
    /// Behind a lock only to be Sync: payloads are Send, but need not be Sync.
    Panic(Mutex<Payload>),
}

impl JoinError {
    pub(super) fn cancelled(id: TaskId) -> Self {
        Self { inner: Box::new(Inner { id, cause: Cause::Cancelled }) }
    }

    /// It counts as cancelled.
    pub(super) fn refused(id: TaskId, why: String) -> Self {
        Self { inner: Box::new(Inner { id, cause: Cause::Refused(why) }) }
    }

    /// Every panic of a task comes through here.
    pub(super) fn panic(id: TaskId, payload: Payload) -> Self {
        hint::tell(&*payload);
        Self { inner: Box::new(Inner { id, cause: Cause::Panic(Mutex::new(payload)) }) }
    }

    /// Returns whether the task was aborted, or dropped because its runtime was shut down, or, if it is
    /// [blocking work](crate::spawn_blocking), not begun because there is no thread for it. `Display` tells
    /// what the operating system says to the last.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.inner.cause, Cause::Cancelled | Cause::Refused(_))
    }

    /// Returns whether the task panicked.
    pub fn is_panic(&self) -> bool {
        matches!(self.inner.cause, Cause::Panic(_))
    }

    /// Returns the payload of the panic, for [`std::panic::resume_unwind`].
    ///
    /// # Panics
    ///
    /// If the task did not panic; [`JoinError::try_into_panic`] does not.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let error = liten::spawn(async { panic!("boom") }).await.unwrap_err();
    /// assert_eq!(error.into_panic().downcast_ref(), Some(&"boom"));
    /// # });
    /// ```
    #[track_caller]
    pub fn into_panic(self) -> Box<dyn Any + Send + 'static> {
        // No closure, in which the caller would be another one.
        match self.try_into_panic() {
            Ok(payload) => payload,
            Err(error) => panic!("into_panic called on a task that did not panic: {error}{NOTE}"),
        }
    }

    /// Returns the payload of the panic, or the error back if the task did not panic.
    ///
    /// # Errors
    ///
    /// The error itself, when the task was cancelled.
    pub fn try_into_panic(self) -> Result<Box<dyn Any + Send + 'static>, JoinError> {
        match self.inner.cause {
            Cause::Panic(payload) => {
                Ok(payload.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            Cause::Cancelled | Cause::Refused(_) => Err(self),
        }
    }

    /// Returns the id of the task.
    pub fn id(&self) -> TaskId {
        self.inner.id
    }

    /// The message of the panic, if it has one, and what to do about it.
    fn message(payload: &Mutex<Payload>) -> Option<String> {
        let payload = payload.lock().unwrap_or_else(PoisonError::into_inner);
        let message = hint::message(&**payload)?;
        Some(match hint::about(message) {
            Some(hint) => format!("{message} ({hint})"),
            None => message.to_owned(),
        })
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.inner.id;
        match &self.inner.cause {
            Cause::Cancelled => write!(f, "task {id} was cancelled"),
            Cause::Refused(why) => write!(f, "task {id} was cancelled: {why}"),
            Cause::Panic(payload) => match Self::message(payload) {
                Some(message) => {
                    write!(f, "task {id}")?;
                    words::panicked(f, &message)
                }
                None => write!(f, "task {id} panicked"),
            },
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.inner.id;
        match &self.inner.cause {
            Cause::Panic(payload) => {
                words::debug_panicked(f, id, Self::message(payload).as_deref(), self)
            }
            Cause::Cancelled | Cause::Refused(_) => words::debug_cancelled(f, id, self),
        }
    }
}

impl std::error::Error for JoinError {}

impl From<JoinError> for std::io::Error {
    fn from(error: JoinError) -> Self {
        std::io::Error::other(error)
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
