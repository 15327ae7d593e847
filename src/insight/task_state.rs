//! What a task does.

use crate::impls::impl_display;

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

impl TaskState {
    /// All there are, first those in which something happens to the task.
    pub(super) const ALL: [Self; 3] = [Self::Running, Self::Ready, Self::Waiting];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ready => "ready",
            Self::Waiting => "waiting",
        }
    }
}

impl_display!([] TaskState, this => this.word());
