//! Tasks of a runtime with hooks: they have another table.
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

use super::hooks::{TaskHook, TaskHooks, TaskMeta};
use super::running::RunningTask;
use super::state::Polled;
use crate::engine::wakers;
use std::sync::Arc;

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
