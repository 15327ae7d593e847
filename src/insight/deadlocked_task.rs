//! One of several tasks of which each waits for the next one.

use super::wait::Wait;
use crate::engine::task::{RunningTask, TaskId};
use crate::insight::description::DescribedTask;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// One of the tasks of a [`Finding::Deadlock`](super::Finding::Deadlock),
/// [`Finding::SuspectedDeadlock`](super::Finding::SuspectedDeadlock) or
/// [`Finding::LongWait`](super::Finding::LongWait). Its `Display` says what it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockedTask {
    pub(super) task: RunningTask,
    pub(super) name: Option<Arc<str>>,
    pub(super) waits_for: Wait,
}

impl DeadlockedTask {
    /// Returns the task's id.
    pub fn id(&self) -> TaskId {
        self.task.id()
    }

    /// Returns its name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the place from which it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.task.spawned_at()
    }

    /// Returns what it waits for: the end of the next task, a lock that the next one holds, or room in a
    /// channel from which the next one received last.
    pub fn waits_for(&self) -> &Wait {
        &self.waits_for
    }
}

impl fmt::Display for DeadlockedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, waits for {}",
            DescribedTask::waiting(self.task, self.name()),
            self.waits_for
        )
    }
}
