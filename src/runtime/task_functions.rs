//! The functions that a program has given to be called for each task of a runtime.
//!
//! | function | is called |
//! |---|---|
//! | `spawn` | once, first, before the task is queued |
//! | `before_poll`, `after_poll` | around each poll of the future, and of nothing else |
//! | `terminate` | once, last: the future is dropped, and the JoinHandle does not know yet |

use crate::engine::task::header::TaskHooks;
use crate::engine::task::{RunningTask, TaskId};
use crate::engine::wakers;
use crate::impls::impl_debug;
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
    /// Returns the task's id, which is also its [`JoinHandle`](crate::task::JoinHandle)'s.
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
type TaskFunction = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;

/// See the header of this file.
#[derive(Clone, Default)]
pub(super) struct TaskFunctions {
    pub(super) spawn: Option<TaskFunction>,
    pub(super) before_poll: Option<TaskFunction>,
    pub(super) after_poll: Option<TaskFunction>,
    pub(super) terminate: Option<TaskFunction>,
}

impl TaskFunctions {
    /// `None` if there is none to be called, so that the tasks do without.
    pub(super) fn if_any(&self) -> Option<Box<dyn TaskHooks>> {
        let Self { spawn, before_poll, after_poll, terminate } = self;
        let all = [spawn, before_poll, after_poll, terminate];
        let boxed = || -> Box<dyn TaskHooks> { Box::new(self.clone()) };
        all.into_iter().any(Option::is_some).then(boxed)
    }
}

impl_debug!([] TaskFunctions, "TaskFunctions");

impl TaskHooks for TaskFunctions {
    fn spawned(&self, task: RunningTask, name: Option<&str>) {
        call(self.spawn.as_ref(), task, name);
    }

    fn before_poll(&self, task: RunningTask, name: Option<&str>) {
        call(self.before_poll.as_ref(), task, name);
    }

    fn after_poll(&self, task: RunningTask, name: Option<&str>) {
        call(self.after_poll.as_ref(), task, name);
    }

    fn terminated(&self, task: RunningTask, name: Option<&str>) {
        call(self.terminate.as_ref(), task, name);
    }
}

/// Calls `f`, if there is one. Its panic is no reason to lose the task, or a worker.
fn call(f: Option<&TaskFunction>, task: RunningTask, name: Option<&str>) {
    let task = TaskMeta { task, name };
    f.into_iter().for_each(|f| wakers::guard(|| f(&task)));
}
