//! What the program says that a task works on.

use crate::engine::task::{RunningTask, TaskId};
use crate::insight::task_state::TaskState;
use crate::observe::NamedTask;
use crate::short::end;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

type Describe = dyn Fn(TaskId, TaskState) -> Option<String> + Send + Sync;

static DESCRIBE: OnceLock<Box<Describe>> = OnceLock::new();

/// Sets the function that says what a task works on, such as the request that it answers.
///
/// Insight calls it for a task that it shows, when it shows it: in the sentences of a [`Dump`](super::Dump),
/// in the list of tasks of a [page](super::serve), and in
/// [`TaskInfo::description`](super::TaskInfo::description). The function is told what the task does, as far
/// as insight knows: running, ready or waiting. It returns what holds at the time of the call, because
/// insight keeps no answer. Nothing is called while nothing is shown.
///
/// The function is called on the thread that looks, often while tasks are blocked. So it must not wait for a
/// lock that a task may hold for long. If it panics, the panic hook reports that, and the task has no
/// description. Of a description that is long, the end is shown.
///
/// The package `liten-tracing` sets a function that returns the span of `tracing` in which a task is.
///
/// # Errors
///
/// A process has one such function. If it has one already, `describe` is returned.
///
/// # Examples
///
/// ```
/// use liten::task::TaskId;
/// use std::collections::HashMap;
/// use std::sync::Mutex;
///
/// static REQUESTS: Mutex<Option<HashMap<TaskId, String>>> = Mutex::new(None);
///
/// let request = |task, _state| REQUESTS.lock().unwrap().as_ref()?.get(&task).cloned();
/// assert!(liten::insight::describe_tasks(request).is_ok());
/// assert!(liten::insight::describe_tasks(request).is_err());
/// ```
pub fn describe_tasks<F>(describe: F) -> Result<(), F>
where
    F: Fn(TaskId, TaskState) -> Option<String> + Send + Sync + 'static,
{
    let mut rejected = Some(describe);
    DESCRIBE.get_or_init(|| Box::new(rejected.take().expect("called once at most")));
    rejected.map_or(Ok(()), Err)
}

pub(super) fn description(task: TaskId, state: TaskState) -> Option<String> {
    let describe = DESCRIBE.get()?;
    catch_unwind(AssertUnwindSafe(|| describe(task, state))).unwrap_or(None)
}

/// A task with its name and its description, in a sentence.
pub(super) struct DescribedTask<'a> {
    pub(super) task: RunningTask,
    pub(super) name: Option<&'a str>,
    pub(super) state: TaskState,
}

impl<'a> DescribedTask<'a> {
    /// One that is in a poll.
    pub(super) fn running(task: RunningTask, name: Option<&'a str>) -> Self {
        Self { task, name, state: TaskState::Running }
    }

    /// One that waits.
    pub(super) fn waiting(task: RunningTask, name: Option<&'a str>) -> Self {
        Self { task, name, state: TaskState::Waiting }
    }
}

impl fmt::Display for DescribedTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NamedTask(self.task, self.name).fmt(f)?;
        write_description(self.task.id(), self.state, f)
    }
}

/// Writes the description in brackets, if there is one. What a client has sent may be in it, so control
/// characters are replaced: they could end the line, or change a terminal's state.
pub(super) fn write_description(
    task: TaskId,
    state: TaskState,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match description(task, state) {
        Some(text) => write!(f, " (in {})", end(&text).replace(char::is_control, "\u{fffd}")),
        None => Ok(()),
    }
}
