//! What can be said of one live task.

use crate::engine::task::header::ListEntry;
use crate::engine::task::{RunningTask, TaskId};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A task that was alive at the time of the look. It may have ended since.
#[derive(Debug, Clone)]
pub struct TaskInfo {
    task: RunningTask,
    name: Option<Arc<str>>,
    future: Option<(&'static str, usize)>,
    state: TaskState,
    is_stuck: bool,
    is_of_workers: bool,
}

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskState {
    /// It is being polled.
    Running,
    /// It has been woken, and is in a queue.
    Ready,
    /// It waits until a waker is called.
    Waiting,
}

impl TaskInfo {
    /// One that has waited before.
    pub(super) fn listed(entry: ListEntry, is_polled: bool, is_of_workers: bool) -> Self {
        let ListEntry { task, name, type_name, future_size, is_hot, is_stuck } = entry;
        let state = match is_hot {
            false => TaskState::Waiting,
            true if is_polled => TaskState::Running,
            true => TaskState::Ready,
        };
        Self { task, name, future: Some((type_name, future_size)), state, is_stuck, is_of_workers }
    }

    /// One that is being polled and has not waited before: its worker's note is all that is known of it.
    pub(super) fn noted(task: RunningTask, is_of_workers: bool) -> Self {
        let state = TaskState::Running;
        Self { task, name: None, future: None, state, is_stuck: false, is_of_workers }
    }

    /// Whether workers run it, and not the thread in `block_on` or that of a pinned task.
    pub(super) fn is_of_workers(&self) -> bool {
        self.is_of_workers
    }

    pub(super) fn task(&self) -> RunningTask {
        self.task
    }

    pub(super) fn shared_name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    /// Returns the task's id, which is also its [`JoinHandle`](crate::task::JoinHandle)'s.
    pub fn id(&self) -> TaskId {
        self.task.id()
    }

    /// Returns the name that [`task::Builder::name`](crate::task::Builder::name) has given to the task.
    /// `None` also for a task in the poll before its first wait.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the place in the source from which the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.task.spawned_at()
    }

    /// Returns the name of the future's type, as [`std::any::type_name`] gives it. `None` for a task in the
    /// poll before its first wait.
    pub fn type_name(&self) -> Option<&'static str> {
        self.future.map(|(type_name, _)| type_name)
    }

    /// Returns how many bytes the future takes. `None` for a task in the poll before its first wait.
    pub fn future_size(&self) -> Option<usize> {
        self.future.map(|(_, size)| size)
    }

    /// Returns whether the task is proven to be stuck: it waits, and no waker of it exists any more, so that
    /// it is never polled again. It can be aborted, and ends with the runtime.
    ///
    /// Either what it waited for is gone and has not woken it, or its future has left its waker nowhere, as
    /// that of [`std::future::pending`]. The answer `true` is never wrong. A task can be stuck without it: if
    /// an [`AbortHandle`](crate::task::AbortHandle) of it exists, which counts as a waker; if it owns a waker
    /// of its own; if tasks wait for each other.
    pub fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Returns what the task does.
    pub fn state(&self) -> TaskState {
        self.state
    }
}

impl fmt::Display for TaskInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.id())?;
        if let Some(name) = self.name() {
            write!(f, " {name:?}")?;
        }
        let stuck = if self.is_stuck { " for ever" } else { "" };
        write!(f, ", {}{stuck}, spawned at {}", self.state, self.spawned_at())?;
        if let Some((type_name, size)) = self.future {
            write!(f, ", {type_name}, {size} bytes")?;
        }
        Ok(())
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Ready => "ready",
            Self::Waiting => "waiting",
        })
    }
}
