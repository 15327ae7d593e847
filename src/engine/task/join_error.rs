//! Why a task gave no output.

use super::id::TaskId;
use std::any::Any;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send + 'static>;

/// Called with the payload of each panic of a task, after the panic hook. The runtimes set it before their
/// first task. std's, as no model has one that lives in a static, and there is nothing to explore here.
pub(crate) static ON_PANIC: OnceLock<fn(&(dyn Any + Send))> = OnceLock::new();

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

pub(crate) enum Cause {
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

    /// Every panic of a task comes through here.
    pub(super) fn panic(id: TaskId, payload: Payload) -> Self {
        if let Some(on_panic) = ON_PANIC.get() {
            on_panic(&*payload);
        }
        Self { inner: Box::new(JoinErrorInner { id, cause: Cause::Panic(Mutex::new(payload)) }) }
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

    pub(crate) fn cause(&self) -> &Cause {
        &self.inner.cause
    }
}
