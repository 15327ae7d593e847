//! Why a task gave no output, and what is called when it has panicked.

use super::current::RunningTask;
use super::origin::TaskId;
use std::any::Any;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The payload of a panic.
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

pub(crate) enum Cause {
    /// With the reason, if there is a particular one.
    Cancelled(Option<String>),
    /// Behind a lock only to be Sync: payloads are Send, but need not be Sync.
    Panic(Mutex<Payload>),
}

impl JoinError {
    /// `why`: the reason, if there is a particular one.
    pub(super) fn cancelled(id: TaskId, why: Option<String>) -> Self {
        Self { inner: Box::new(JoinErrorInner { id, cause: Cause::Cancelled(why) }) }
    }

    /// Every panic of a task comes through here, on the thread of the panic.
    #[cold]
    pub(super) fn panic(task: RunningTask, payload: Payload) -> Self {
        if let Some(on_panic) = ON_PANIC.get() {
            on_panic(task, &*payload);
        }
        let cause = Cause::Panic(Mutex::new(payload));
        Self { inner: Box::new(JoinErrorInner { id: task.id(), cause }) }
    }

    /// Returns whether the task was aborted, or dropped because its runtime was shut down, or, if it is
    /// [blocking work](crate::spawn_blocking), not begun because there is no thread for it. In the last case
    /// `Display` gives the system's error.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.inner.cause, Cause::Cancelled(_))
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
            Cause::Cancelled(_) => Err(self),
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

/// What is called with a task that has panicked, and with what the panic carries: on the thread of the panic,
/// after the panic hook. It must not panic, because a panic may unwind there.
///
/// Where a task's panic becomes its output is the coldest place for that: a task that does not panic is not
/// asked and has no field for it. Rejected: a function in the table of each type of tasks, which all programs
/// would have for each of their futures; and the panic hook of std, which is the program's, knows no task,
/// and is called for panics that the task itself catches.
///
/// It is std's `OnceLock`, as no model has one that lives in a static, and there is nothing to explore here.
static ON_PANIC: OnceLock<fn(RunningTask, &(dyn Any + Send))> = OnceLock::new();

/// From now on `f` is called when a task has panicked. The first call sets it.
pub(crate) fn call_on_panic(f: fn(RunningTask, &(dyn Any + Send))) {
    ON_PANIC.get_or_init(|| f);
}
