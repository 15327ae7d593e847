//! What is called when a task has panicked.
//!
//! The runtimes above explain the panic if they can, and a recording notes it. Where a task's panic becomes
//! its output is the coldest place for that: a task that does not panic is not asked and has no field for
//! it. Rejected: a function in the table of each type of tasks, which all programs would have for each of
//! their futures; and the panic hook of std, which is the program's, knows no task, and is called for panics
//! that the task itself catches.
//!
//! The functions are called on the thread of the panic, after the panic hook, and must not panic, because a
//! panic may unwind there. The first call sets each of them. They are std's `OnceLock`s, as no model has one
//! that lives in a static, and there is nothing to explore here.

use super::running::RunningTask;
use std::any::Any;
use std::sync::OnceLock;

static EXPLAIN: OnceLock<fn(&(dyn Any + Send))> = OnceLock::new();
static NOTE: OnceLock<fn(RunningTask)> = OnceLock::new();

/// From now on `explain` is called with what each panic of a task carries.
pub(crate) fn explain_by(explain: fn(&(dyn Any + Send))) {
    EXPLAIN.get_or_init(|| explain);
}

/// From now on `note` is called with each task that has panicked.
pub(crate) fn note_by(note: fn(RunningTask)) {
    NOTE.get_or_init(|| note);
}

/// `task` has panicked on this thread.
pub(super) fn tell(task: RunningTask, payload: &(dyn Any + Send)) {
    if let Some(explain) = EXPLAIN.get() {
        explain(payload);
    }
    if let Some(note) = NOTE.get() {
        note(task);
    }
}
