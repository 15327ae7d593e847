//! Waiting for tasks that wait.

use super::guard::until;
use liten::insight::TaskState;
use liten::runtime::Runtime;

/// Waits until so many tasks of the runtime have waited, and all those that are listed wait now: a task is
/// counted in the poll before its first wait.
pub(crate) fn until_waiting(runtime: &Runtime, count: usize) {
    until(|| runtime.metrics().num_cold_tasks() == count);
    until(|| runtime.handle().tasks().all(|task| task.state() == TaskState::Waiting));
}
