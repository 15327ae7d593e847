//! What is called when a task has panicked.
//!
//! The runtimes' half above explains the panic, a recording notes it, and a flight recorder keeps what came
//! before. Where a task's panic becomes its output is the coldest place for that: a task that does not panic
//! passes no look and has no field for it. Rejected: a function in the table of each type of tasks, which all
//! programs would have for each of their futures; and the panic hook of std, which is the program's, knows no
//! task, and is called for panics that the task itself catches.

use super::running::RunningTask;
use std::any::Any;
use std::sync::OnceLock;

/// Called with the task and what its panic carries, on the thread of the panic, after the panic hook.
pub(crate) type OnPanic = fn(RunningTask, &(dyn Any + Send));

/// It must not panic, because it may be called while a panic unwinds. std's, as no model has one that lives in
/// a static, and there is nothing to explore here.
static ON_PANIC: OnceLock<OnPanic> = OnceLock::new();

/// From now on `on_panic` is called for each panic of a task; the first call decides. The runtimes make it
/// before their first task.
pub(crate) fn follow(on_panic: OnPanic) {
    ON_PANIC.get_or_init(|| on_panic);
}

/// `task` has panicked on this thread.
pub(super) fn tell(task: RunningTask, payload: &(dyn Any + Send)) {
    if let Some(on_panic) = ON_PANIC.get() {
        on_panic(task, payload);
    }
}
