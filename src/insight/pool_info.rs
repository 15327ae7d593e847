//! What can be said of the blocking pool.

use crate::engine::blocking::PoolCounts;
use crate::engine::task::RunningTask;
use crate::engine::task::current::NamedTask;
use crate::runtime::Handle;
use crate::runtime::blocking_task::RunningJob;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The blocking pool at the time of a dump.
#[derive(Debug, Clone)]
pub struct PoolInfo {
    pub(super) counts: PoolCounts<Duration>,
    pub(super) jobs: Vec<JobInfo>,
}

/// Blocking work that a thread of the pool was doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobInfo {
    pub(super) task: RunningTask,
    pub(super) name: Option<Arc<str>>,
    pub(super) age: Duration,
}

impl PoolInfo {
    pub(super) fn of(handle: &Handle) -> Self {
        let (counts, jobs) = handle.pool_facts();
        let job = |(job, age)| {
            let RunningJob { task, name, .. } = job;
            JobInfo { task, name, age }
        };
        let mut jobs: Vec<_> = jobs.into_iter().map(job).collect();
        jobs.sort_by_key(|job| std::cmp::Reverse(job.age));
        Self { counts, jobs }
    }

    /// Returns how many threads there may be.
    pub fn max_threads(&self) -> usize {
        self.counts.max_threads
    }

    /// Returns how many threads there are.
    pub fn threads(&self) -> usize {
        self.counts.threads
    }

    /// Returns how many of them have nothing to do.
    pub fn idle_threads(&self) -> usize {
        self.counts.idle_threads
    }

    /// Returns how many jobs wait for a thread.
    pub fn queued(&self) -> usize {
        self.counts.queued
    }

    /// Returns for how long the job has waited that has waited longest. `None` if none waits.
    pub fn longest_wait(&self) -> Option<Duration> {
        self.counts.first
    }

    /// Returns the jobs that threads are doing, the oldest first.
    pub fn jobs(&self) -> &[JobInfo] {
        &self.jobs
    }
}

impl JobInfo {
    /// Returns the job as a task, with its id and the place of its spawn.
    pub fn task(&self) -> RunningTask {
        self.task
    }

    /// Returns the name that [`task::Builder::name`](crate::task::Builder::name) has given to it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns for how long a thread has been doing it.
    pub fn age(&self) -> Duration {
        self.age
    }
}

impl fmt::Display for JobInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, for {} ms", NamedTask(self.task, self.name()), self.age.as_millis())
    }
}
