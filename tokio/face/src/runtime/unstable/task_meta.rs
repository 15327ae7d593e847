//! What a function is told of a task that is called for it.

use liten::task::TaskId;
use std::marker::PhantomData;
use std::panic::Location;
use std::time::Duration;

/// A task, for the functions that the builder was given.
#[derive(Debug)]
pub struct TaskMeta<'a> {
    pub(super) id: TaskId,
    pub(super) spawned_at: &'static Location<'static>,
    pub(super) schedule_latency: Option<Duration>,
    pub(super) lifetime: PhantomData<&'a ()>,
}

impl TaskMeta<'_> {
    pub(super) fn of(task: &liten::runtime::TaskMeta<'_>) -> Self {
        let (id, spawned_at) = (task.id(), task.spawned_at());
        Self { id, spawned_at, schedule_latency: None, lifetime: PhantomData }
    }

    /// Returns the task's id.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Returns where the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// Returns how long the task was ready before this poll; `None` if that is not tracked, or this is no
    /// poll.
    #[cfg(feature = "schedule-latency")]
    pub fn schedule_latency(&self) -> Option<Duration> {
        self.schedule_latency
    }
}
