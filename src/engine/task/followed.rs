//! Tasks whose wait for a poll is measured, as the task sees it.
//!
//! An observer marks a task while it is polled or new (FOLLOWED in state.rs). Whatever wakes the task next,
//! on any thread, finds the mark and says that the task is ready. The poll that answers the wake finds the
//! mark too, on whatever worker, and tells its runner. So what is measured depends neither on where a task
//! was woken nor on the worker that polls it. A task without the mark pays nothing: both sides read the word
//! anyway. What becomes of that, only the observer knows: it gives its functions before it marks a task.
//!
//! The first call sets the functions. They are in std's `OnceLock`, as that of `join_error` is.
//!
//! Rejected: a time in the header of each task, for which it has no room, and which each wake would write.

use super::origin::TaskId;
use std::sync::OnceLock;

static WAITS: OnceLock<Waits> = OnceLock::new();

/// An observer's functions for the waits of tasks that are followed.
pub(crate) struct Waits {
    /// The task is ready from now on, and its wait counts so many times.
    pub(crate) ready: fn(TaskId, u64),
    /// The task has ended without the poll that it was ready for.
    pub(crate) ended: fn(TaskId),
}

/// From now on these functions are called.
pub(crate) fn measure_by(waits: Waits) {
    WAITS.get_or_init(|| waits);
}

/// See [`Waits::ready`].
pub(super) fn ready(task: TaskId, stands_for: u64) {
    if let Some(waits) = WAITS.get() {
        (waits.ready)(task, stands_for);
    }
}

/// See [`Waits::ended`].
pub(super) fn ended(task: TaskId) {
    if let Some(waits) = WAITS.get() {
        (waits.ended)(task);
    }
}
