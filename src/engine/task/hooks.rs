//! The user's hooks for tasks, and the tasks of a runtime with such hooks: they have another table.
//!
//! A task calls the hooks if its table does, and the table is chosen at the spawn. So a runtime without hooks
//! pays for one look at the scheduler per spawn, and nothing per poll. The hooks lie with the scheduler, so a
//! task takes no more memory for them. Rejected: a look per poll, which every runtime would pay for; and a
//! future around the user's, whose type the lists would show, and which would be dropped before the last
//! hook.
//!
//! | hook | is called |
//! |---|---|
//! | `spawn` | once, first, before the task is queued |
//! | `before_poll`, `after_poll` | around each poll of the future, and of nothing else |
//! | `terminate` | once, last: the future is dropped, and the JoinHandle does not know yet |

use super::current::RunningTask;
use super::origin::TaskId;
use super::state::Polled;
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

/// A task, and the hooks that are called for it.
pub(super) struct Hooked<'a> {
    hooks: &'a TaskHooks,
    task: RunningTask,
    name: Option<Arc<str>>,
}

impl<'a> Hooked<'a> {
    pub(super) fn new(hooks: &'a TaskHooks, task: RunningTask, name: Option<Arc<str>>) -> Self {
        Self { hooks, task, name }
    }

    /// Calls `hook`, if there is one. Its panic is no reason to lose the task, or a worker.
    fn call(&self, hook: Option<&TaskHook>) {
        let task = TaskMeta::new(self.task, self.name.as_deref());
        hook.into_iter().for_each(|hook| wakers::guard(|| hook(&task)));
    }

    /// The task has been made, and is not queued.
    pub(super) fn spawned(&self) {
        self.call(self.hooks.spawn.as_ref());
    }

    /// As `poll` does, which polls the task, between two hooks.
    pub(super) fn poll(&self, poll: impl FnOnce() -> Polled) -> Polled {
        self.call(self.hooks.before_poll.as_ref());
        let polled = poll();
        self.call(self.hooks.after_poll.as_ref());
        if matches!(polled, Polled::Ready) {
            self.call(self.hooks.terminate.as_ref());
        }
        polled
    }

    /// The future was dropped without being polled to its end.
    pub(super) fn cancelled(&self) {
        self.call(self.hooks.terminate.as_ref());
    }
}
