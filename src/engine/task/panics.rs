//! Who is told that a task has panicked.
//!
//! A recording notes it, and a flight recorder keeps what came before. Where a task's panic becomes its
//! output is the coldest place for that: a task that does not panic passes no look and has no field for it.
//! Rejected: a function in the table of each type of tasks, which all programs would have for each of their
//! futures; and the panic hook of std, which is the program's, knows no task, and is called for panics that
//! the task itself catches.

use super::running::RunningTask;
use std::sync::OnceLock;

/// Called by the runtimes' half above, on the thread of the panic. It must not panic, because it may be
/// called while a panic unwinds. std's, as no model has one that lives in a static.
static TOLD: OnceLock<fn(RunningTask)> = OnceLock::new();

/// From now on `told` is called for each panic of a task; the first call decides.
pub(crate) fn tell_of_each(told: fn(RunningTask)) {
    TOLD.get_or_init(|| told);
}

/// `task` has panicked on this thread.
pub(super) fn tell(task: RunningTask) {
    if let Some(told) = TOLD.get() {
        told(task);
    }
}
