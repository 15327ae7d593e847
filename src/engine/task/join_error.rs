//! Why a task gave no output.

use super::id::TaskId;
use super::panics;
use super::running::RunningTask;
use crate::engine::hint;
use crate::engine::words::{self, NOTE};
use std::any::Any;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// Why a task gave no output: it panicked or was cancelled.
///
/// Where a panic does not unwind (on wasm mostly, and with `panic = "abort"`) it ends the program, so that
/// there is no handle left to be told.
///
/// `Display` and `Debug` show the message of the panic. If it says that a crate has looked for tokio in vain,
/// they say what to do about it (see [Crates that need tokio](crate::runtime#crates-that-need-tokio)).
pub struct JoinError {
    /// Boxed, so that `Result<T, JoinError>` is one word for small `T` and a task's cell stays small.
    inner: Box<JoinErrorInner>,
}

struct JoinErrorInner {
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
        Self { inner: Box::new(JoinErrorInner { id, cause: Cause::Cancelled }) }
    }

    /// It counts as cancelled.
    pub(super) fn refused(id: TaskId, why: String) -> Self {
        Self { inner: Box::new(JoinErrorInner { id, cause: Cause::Refused(why) }) }
    }

    /// Every panic of a task comes through here, on the thread of the panic.
    #[cold]
    pub(super) fn panic(task: RunningTask, payload: Payload) -> Self {
        hint::tell(&*payload);
        panics::tell(task);
        let cause = Cause::Panic(Mutex::new(payload));
        Self { inner: Box::new(JoinErrorInner { id: task.id(), cause }) }
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
