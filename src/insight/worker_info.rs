//! What can be said of one worker.

use super::facts::WorkerFacts;
use crate::engine::task::RunningTask;
use crate::impls::impl_display;
use crate::insight::blocked_call::{BlockedCall, Doing};
use crate::insight::description::DescribedTask;
use crate::runtime::ThreadActivity;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A worker at the time of a dump.
#[derive(Debug, Clone)]
pub struct WorkerInfo {
    pub(super) index: usize,
    pub(super) state: WorkerState,
    pub(super) polls: u64,
    pub(super) task: Option<RunningTask>,
    pub(super) task_name: Option<Arc<str>>,
    pub(super) poll_duration: Duration,
    pub(super) activity: Option<ThreadActivity>,
    /// The addresses on the stack of its thread, if it is in a system call for long.
    pub(super) stack: Vec<usize>,
}

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkerState {
    /// It runs tasks, or looks for some.
    Working,
    /// It sleeps, or waits for events.
    Parked,
    /// Its task is in [`block_in_place`](crate::task::block_in_place).
    BlockedInPlace,
    /// It has left, because the number of workers was lowered, or it was a spare. Its thread sleeps until it
    /// is needed again, or the runtime ends.
    Resting,
    /// No thread plays it: it is about to begin, or the runtime has ended.
    Absent,
}

impl WorkerState {
    /// Whether the worker runs tasks, or could.
    pub(super) fn is_present(self) -> bool {
        !matches!(self, Self::Resting | Self::Absent)
    }
}

impl WorkerInfo {
    pub(super) fn of(facts: WorkerFacts) -> Self {
        let WorkerFacts { index, entry, time, activity, stack } = facts;
        let state = if entry.is_blocked_in_place {
            WorkerState::BlockedInPlace
        } else if entry.rests {
            WorkerState::Resting
        } else if !entry.has_thread {
            WorkerState::Absent
        } else if entry.is_parked {
            WorkerState::Parked
        } else {
            WorkerState::Working
        };
        Self {
            index,
            state,
            polls: entry.polls,
            task: entry.task,
            task_name: None,
            poll_duration: time,
            activity,
            stack,
        }
    }

    /// Returns the worker's index. Spare workers have those behind the others.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns what the worker does.
    pub fn state(&self) -> WorkerState {
        self.state
    }

    /// Returns how many polls the worker has begun.
    pub fn polls(&self) -> u64 {
        self.polls
    }

    /// Returns the task that the worker polls. `None` between two polls.
    pub fn task(&self) -> Option<RunningTask> {
        self.task
    }

    /// Returns the name of that task, if it has one and has waited before.
    pub fn task_name(&self) -> Option<&str> {
        self.task_name.as_deref()
    }

    /// Returns for how long the worker has been in that poll at least, as seen when its runtime last looked,
    /// some milliseconds ago. Zero if it moves, and where it blocks in place.
    pub fn poll_duration(&self) -> Duration {
        self.poll_duration
    }

    /// Returns what the worker's thread does, if it has been in one poll for more than some milliseconds or
    /// blocks in place.
    pub fn activity(&self) -> Option<&ThreadActivity> {
        self.activity.as_ref()
    }

    /// Returns the function of the program in which it does so, if that is known. The first call for a stack
    /// may wait for half a second, and a later one may know what the first one did not.
    pub fn call(&self) -> Option<BlockedCall> {
        BlockedCall::named(&self.stack)
    }
}

impl fmt::Display for WorkerInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {}: {}, {} polls", self.index, self.state, self.polls)?;
        if let Some(task) = self.task {
            write!(f, ", {}", DescribedTask::running(task, self.task_name()))?;
        }
        if !self.poll_duration.is_zero() {
            write!(f, ", for {} ms", self.poll_duration.as_millis())?;
        }
        match &self.activity {
            Some(activity) => write!(f, ": {}", Doing(activity, self.call().as_ref())),
            None => Ok(()),
        }
    }
}

impl_display!([] WorkerState, this => match this {
    Self::Working => "working",
    Self::Parked => "parked",
    Self::BlockedInPlace => "blocked in place",
    Self::Resting => "resting",
    Self::Absent => "absent",
});
