//! What can be said of the blocking pool.

use crate::engine::blocking::PoolCounts;
use crate::engine::task::RunningTask;
use crate::insight::blocked_call::{BlockedCall, Doing};
use crate::insight::description::DescribedTask;
use crate::insight::thread_stack::ThreadStacks;
use crate::observe::thread_activity;
use crate::runtime::blocking_task::RunningJob;
use crate::runtime::{Handle, ThreadActivity};
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
    /// What its thread does, of an old one.
    pub(super) activity: Option<ThreadActivity>,
    /// The addresses on the stack of its thread, if they are known.
    pub(super) stack: Vec<usize>,
}

/// The thread of a job that is younger is not looked at.
const OLD: Duration = Duration::from_secs(1);
/// The threads of so many of the oldest jobs are looked at.
const MOST_THREADS: usize = 16;

impl PoolInfo {
    /// The stacks of old jobs' threads are read by `stacks`, if that is given.
    pub(super) fn of(handle: &Handle, mut stacks: Option<&mut ThreadStacks>) -> Self {
        let (counts, jobs) = handle.pool_facts();
        let job = |(job, age)| {
            let RunningJob { task, name, thread, .. } = job;
            (JobInfo { task, name, age, activity: None, stack: Vec::new() }, thread)
        };
        let mut jobs: Vec<_> = jobs.into_iter().map(job).collect();
        jobs.sort_by_key(|(job, _)| std::cmp::Reverse(job.age));
        for (job, thread) in jobs.iter_mut().take(MOST_THREADS).filter(|(job, _)| job.age >= OLD) {
            let activity = thread_activity::look(*thread, None);
            let read = |stacks: &mut ThreadStacks| stacks.of(*thread, &activity);
            job.stack = stacks.as_deref_mut().map(read).unwrap_or_default();
            job.activity = Some(activity);
        }
        // What was seen of a thread may be of the job behind this one.
        let are_there = handle.blocking_jobs();
        let is_over =
            |job: &JobInfo| are_there.iter().all(|other| other.task.id() != job.task.id());
        let mut jobs: Vec<_> = jobs.into_iter().map(|(job, _)| job).collect();
        for job in jobs.iter_mut().filter(|job| is_over(job)) {
            (job.activity, job.stack) = (None, Vec::new());
        }
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

    /// Returns what the thread does, of the oldest jobs that are older than a second.
    pub fn activity(&self) -> Option<&ThreadActivity> {
        self.activity.as_ref()
    }

    /// Returns what the thread does, to go on after a sentence.
    pub(super) fn does(&self) -> String {
        let does = |activity| format!(": {}", Doing(activity, self.call().as_ref()));
        self.activity.as_ref().map(does).unwrap_or_default()
    }

    /// Returns the function of the program in which it does so, if that is known. The first call for a stack
    /// may wait for half a second, and a later one may know what the first one did not.
    pub fn call(&self) -> Option<BlockedCall> {
        BlockedCall::named(&self.stack)
    }
}

impl fmt::Display for JobInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, for {} ms",
            DescribedTask::running(self.task, self.name()),
            self.age.as_millis()
        )?;
        f.write_str(&self.does())
    }
}
