//! What the user wants to be told of tasks, and what is said of them.

use super::id::TaskId;
use super::running::RunningTask;
use crate::engine::impls::impl_debug;
use std::panic::Location;
use std::sync::Arc;

/// A task, as the functions of the runtime's builder see it that are called when it is spawned, polled, or
/// has ended, such as [`Builder::on_task_spawn`](crate::runtime::Builder::on_task_spawn).
#[derive(Debug, Clone, Copy)]
pub struct TaskMeta<'a> {
    task: RunningTask,
    name: Option<&'a str>,
}

impl<'a> TaskMeta<'a> {
    pub(super) fn new(task: RunningTask, name: Option<&'a str>) -> Self {
        Self { task, name }
    }

    /// Returns the task's id, which is also its [`JoinHandle`](super::JoinHandle)'s.
    pub fn id(&self) -> TaskId {
        self.task.id()
    }

    /// Returns the place in the source from which the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.task.spawned_at()
    }

    /// Returns the name that [`task::Builder::name`](crate::task::Builder::name) has given to the task.
    pub fn name(&self) -> Option<&'a str> {
        self.name
    }
}

/// A function that is called with a task.
pub(crate) type TaskHook = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;

/// The functions that a runtime calls for each of its tasks.
#[derive(Clone, Default)]
pub(crate) struct TaskHooks {
    pub(crate) spawn: Option<TaskHook>,
    pub(crate) before_poll: Option<TaskHook>,
    pub(crate) after_poll: Option<TaskHook>,
    pub(crate) terminate: Option<TaskHook>,
}

impl TaskHooks {
    /// `None` if there is none to be called, so that the tasks do without.
    pub(crate) fn if_any(&self) -> Option<Self> {
        let Self { spawn, before_poll, after_poll, terminate } = self;
        let all = [spawn, before_poll, after_poll, terminate];
        all.into_iter().any(Option::is_some).then(|| self.clone())
    }
}

impl_debug!([] TaskHooks, "TaskHooks");
