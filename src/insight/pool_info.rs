//! What can be said of the blocking pool.

use crate::engine::task::RunningTask;
use crate::runtime::blocking_task::RunningJob;
use crate::runtime::facts::PoolFacts;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The blocking pool at the time of a dump.
#[derive(Debug, Clone)]
pub struct PoolInfo {
    pub(super) max_threads: usize,
    pub(super) threads: usize,
    pub(super) idle_threads: usize,
    pub(super) queued: usize,
    pub(super) longest_wait: Option<Duration>,
    pub(super) jobs: Vec<JobInfo>,
}

/// Blocking work that a thread of the pool was doing.
#[derive(Debug, Clone)]
pub struct JobInfo {
    pub(super) task: RunningTask,
    pub(super) name: Option<Arc<str>>,
    pub(super) age: Duration,
}

impl PoolInfo {
    pub(super) fn of(facts: PoolFacts) -> Self {
        let PoolFacts { max_threads, threads, idle_threads, queued, longest_wait, jobs } = facts;
        let job = |(job, age)| {
            let RunningJob { task, name, .. } = job;
            JobInfo { task, name, age }
        };
        let mut jobs: Vec<_> = jobs.into_iter().map(job).collect();
        jobs.sort_by_key(|job| std::cmp::Reverse(job.age));
        Self { max_threads, threads, idle_threads, queued, longest_wait, jobs }
    }

    /// Returns how many threads there may be.
    pub fn max_threads(&self) -> usize {
        self.max_threads
    }

    /// Returns how many threads there are.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns how many of them have nothing to do.
    pub fn idle_threads(&self) -> usize {
        self.idle_threads
    }

    /// Returns how many jobs wait for a thread.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Returns for how long the job has waited that has waited longest. `None` if none waits.
    pub fn longest_wait(&self) -> Option<Duration> {
        self.longest_wait
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
        let task = self.task;
        write!(f, "task {}", task.id())?;
        if let Some(name) = self.name() {
            write!(f, " {name:?}")?;
        }
        write!(f, ", spawned at {}, for {} ms", task.spawned_at(), self.age.as_millis())
    }
}
