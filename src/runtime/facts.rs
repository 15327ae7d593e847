//! What a runtime knows of itself at one moment, for the dump: read from the outside, part after part, while
//! its threads go on. So numbers of different parts need not fit together.

use super::blocking_task::{BlockingJob, RunningJob};
use super::handle::{Handle, RuntimeFlavor};
use super::thread_activity::ThreadActivity;
use crate::engine::scheduler::WorkerEntry;
use crate::engine::sync_shim::clock;
use crate::engine::task::RunningTask;
use std::time::{Duration, Instant};

pub(crate) struct Facts {
    pub(crate) name: Option<String>,
    pub(crate) flavor: RuntimeFlavor,
    /// Empty without workers.
    pub(crate) workers: Vec<WorkerFacts>,
    /// What the thread in `block_on` polls, without workers; and the threads of pinned tasks.
    pub(crate) others: Vec<RunningTask>,
    /// How long a poll lasts that is slow.
    pub(crate) slow_after: Duration,
    pub(crate) alive_tasks: usize,
    pub(crate) pool: PoolFacts,
    pub(crate) timers: usize,
    pub(crate) sources: usize,
    pub(crate) slow_polls: u64,
    pub(crate) blocked_polls: u64,
}

pub(crate) struct WorkerFacts {
    pub(crate) index: usize,
    pub(crate) entry: WorkerEntry,
    /// `None`: it is not in one poll for long.
    pub(crate) activity: Option<ThreadActivity>,
}

/// The blocking pool.
pub(crate) struct PoolFacts {
    pub(crate) max_threads: usize,
    pub(crate) threads: usize,
    pub(crate) idle_threads: usize,
    pub(crate) queued: usize,
    /// How long the job has waited for a thread that has waited longest.
    pub(crate) longest_wait: Option<Duration>,
    /// With the time since each has begun.
    pub(crate) jobs: Vec<(RunningJob, Duration)>,
}

impl Handle {
    pub(crate) fn facts(&self) -> Facts {
        let metrics = self.metrics();
        let driver = &self.inner.driver;
        Facts {
            name: self.name().map(str::to_owned),
            flavor: self.runtime_flavor(),
            workers: self.worker_facts(),
            others: self.tasks_polled_elsewhere().collect(),
            slow_after: self.inner.slow_polls.after(),
            alive_tasks: metrics.num_alive_tasks(),
            pool: self.pool_facts(clock::now()),
            timers: driver.timers().count(),
            sources: driver.source_count(),
            slow_polls: metrics.slow_poll_count(),
            blocked_polls: metrics.blocked_poll_count(),
        }
    }

    fn worker_facts(&self) -> Vec<WorkerFacts> {
        let entries = self.scheduler().map(|scheduler| scheduler.worker_entries());
        let slow_polls = &self.inner.slow_polls;
        let facts = |(index, entry): (usize, WorkerEntry)| {
            let lasts = !entry.time.is_zero() || entry.is_blocked_in_place;
            let has_moved = || self.scheduler().is_none_or(|it| it.has_moved(index, &entry));
            let look = || slow_polls.activity(index, entry.position, entry.thread, has_moved);
            let activity = if lasts { look() } else { None };
            WorkerFacts { index, entry, activity }
        };
        entries.into_iter().flatten().map(facts).collect()
    }

    fn pool_facts(&self, now: Instant) -> PoolFacts {
        let pool = &self.inner.blocking;
        let since = |moment| now.saturating_duration_since(moment);
        let jobs = self.inner.blocking_tasks.jobs().into_iter();
        PoolFacts {
            max_threads: pool.max_threads(),
            threads: pool.threads(),
            idle_threads: pool.idle_threads(),
            queued: pool.queued(),
            longest_wait: pool.first_queued(BlockingJob::queued).map(since),
            jobs: jobs.map(|job| (job.clone(), since(job.begun))).collect(),
        }
    }
}
