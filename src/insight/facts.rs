//! What a runtime knows of itself at one moment, for the dump: read from the outside, part after part, while
//! its threads go on. So numbers of different parts need not fit together.

use crate::engine::blocking::PoolCounts;
use crate::engine::driver::readiness::Ready;
use crate::engine::scheduler::{Shared, WorkerEntry};
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::waker::task_of;
use crate::engine::task::{RunningTask, TaskId};
use crate::insight::thread_stack::{ThreadStacks, is_running};
use crate::observe::incidents::Panics;
use crate::observe::slow_polls::KeptPoll;
use crate::runtime::blocking_task::{BlockingJob, RunningJob};
use crate::runtime::{Handle, SlowPoll, ThreadActivity};
use std::time::{Duration, Instant};

/// One worker, with its index.
pub(super) struct WorkerFacts {
    pub(super) index: usize,
    pub(super) entry: WorkerEntry,
    /// How long it has been there at least.
    pub(super) time: Duration,
    /// `None`: it is not in one poll for long.
    pub(super) activity: Option<ThreadActivity>,
    /// The stack of its thread, as addresses, if it is in a system call, or has computed for long.
    pub(super) stack: Vec<usize>,
}

/// A source, as the list of them shows it.
pub(super) struct SourceEntry<'a> {
    /// Its file descriptor, if that is known.
    pub(super) descriptor: Option<i32>,
    /// How many events it has had.
    pub(super) events: u64,
    /// A number that changes with each write, if there has been no event since the last one.
    pub(super) unanswered_writes: Option<u32>,
    /// The first tasks that wait for it, each for some bits.
    pub(super) waiters: &'a [(TaskId, Ready)],
}

impl Handle {
    /// Empty without workers. The stacks of their threads are read by `stacks`, if that is given.
    pub(super) fn worker_facts(&self, mut stacks: Option<&mut ThreadStacks>) -> Vec<WorkerFacts> {
        let facts = |scheduler: &Arc<Shared>| {
            let facts_of =
                |(index, entry)| self.facts_of(scheduler, index, entry, stacks.as_deref_mut());
            scheduler.worker_entries().map(facts_of).collect()
        };
        self.scheduler().map(facts).unwrap_or_default()
    }

    fn facts_of(
        &self,
        scheduler: &Shared,
        index: usize,
        entry: WorkerEntry,
        stacks: Option<&mut ThreadStacks>,
    ) -> WorkerFacts {
        let time = self.lasted(index, &entry);
        let lasts = !time.is_zero() || entry.is_blocked_in_place;
        let has_moved = || scheduler.has_moved(index, &entry);
        let look = || self.slow_polls().activity(index, entry.position, entry.thread, has_moved);
        let activity = if lasts { look() } else { None };
        // A thread that runs is interrupted only if it has done so for long.
        let is_slow = time >= self.slow_after();
        let may_read = |activity: &&ThreadActivity| is_slow || !is_running(activity);
        let seen = entry.thread.zip(activity.as_ref().filter(may_read)).zip(stacks);
        let read =
            |((thread, activity), stacks): (_, &mut ThreadStacks)| stacks.of(thread, activity);
        let stack = seen.map(read).unwrap_or_default();
        let stack = if has_moved() { Vec::new() } else { stack };
        WorkerFacts { index, entry, time, activity, stack }
    }

    /// How long `worker` has been where `entry` says, at least.
    fn lasted(&self, worker: usize, entry: &WorkerEntry) -> Duration {
        self.observer().map_or(Duration::ZERO, |observer| observer.lasted(worker, entry))
    }

    /// How many polls each worker has begun, and the task that it polls; of a runtime without workers, the
    /// thread that drives it.
    pub(super) fn polls(&self) -> Vec<(u64, Option<RunningTask>)> {
        match self.scheduler() {
            Some(scheduler) => {
                scheduler.worker_entries().map(|(_, entry)| (entry.polls, entry.task)).collect()
            }
            None => {
                vec![(self.metrics().worker_poll_count(0), self.tasks_polled_elsewhere().next())]
            }
        }
    }

    /// How many spare workers there may be, if there are as many.
    pub(super) fn spares_used_up(&self) -> Option<usize> {
        self.scheduler()?.spares_used_up()
    }

    /// How many live tasks workers run.
    pub(super) fn tasks_of_workers(&self) -> usize {
        let tasks = self.scheduler().map_or(0, |scheduler| scheduler.alive_tasks());
        usize::try_from(tasks).unwrap_or(usize::MAX)
    }

    /// The last slow polls, which poll of the worker each is, and how long ago it has ended; `None` if it is
    /// under way.
    pub(super) fn last_slow_polls(&self) -> Vec<(SlowPoll, u64, Option<Duration>)> {
        let kept = self.slow_polls().kept();
        // Not before that: a worker that has moved since has ended the poll.
        let entries = |scheduler: &Arc<Shared>| scheduler.worker_entries().collect::<Vec<_>>();
        let entries = self.scheduler().map(entries).unwrap_or_default();
        let now = clock::now();
        let ended = |KeptPoll { mut slow, position, ended }: KeptPoll| {
            let worker = slow.worker();
            let same = |(index, entry): &(usize, WorkerEntry)| {
                (*index, entry.position) == (worker, position)
            };
            let ended = ended.map(|ended| now.saturating_duration_since(ended));
            if let (None, Some(observer)) = (ended, self.observer()) {
                slow.extend(observer.lasted_at(worker, position));
            }
            // Of one that is over, the driver thread may not have seen that yet.
            let is_there = ended.is_none() && entries.iter().any(same);
            let ended = if is_there { None } else { Some(ended.unwrap_or_default()) };
            (slow, position, ended)
        };
        kept.into_iter().map(ended).collect()
    }

    /// The panics of the tasks of each place, the latest first: the task of that, how many there were, and
    /// the time since.
    pub(super) fn panics(&self) -> Vec<(RunningTask, u64, Duration)> {
        let now = clock::now();
        let since =
            |panics: Panics| (panics.task, panics.count, now.saturating_duration_since(panics.at));
        let mut panics: Vec<_> = self.incidents().panics().into_iter().map(since).collect();
        panics.sort_by_key(|(_, _, ago)| *ago);
        panics
    }

    /// How long a poll lasts that is slow.
    pub(super) fn slow_after(&self) -> Duration {
        self.slow_polls().after()
    }

    /// How many timers wait.
    pub(super) fn timers(&self) -> usize {
        self.driver().timers().count()
    }

    /// How many sources are registered.
    pub(super) fn sources(&self) -> usize {
        self.driver().source_count()
    }

    /// Calls `each` with the tasks that wait for timers, and how long those still take.
    pub(super) fn list_timers(&self, each: impl FnMut(TaskId, Duration)) {
        self.driver().timers().list(task_of, each);
    }

    /// Calls `each` with all sources, and the first tasks that wait for each of them. A source is locked
    /// while its wakers are looked at, which calls, clones and drops none.
    pub(super) fn list_sources(&self, mut each: impl FnMut(SourceEntry<'_>)) {
        let mut waiters = Vec::new();
        self.driver().list_sources(|source| {
            waiters.clear();
            // The count first: an event that comes after it changes it for the next look.
            let (descriptor, events) = (source.descriptor(), source.events());
            source.each_waiter(|waker, ready| {
                waiters.extend(task_of(waker).map(|task| (task, ready)));
            });
            each(SourceEntry {
                descriptor,
                events,
                unanswered_writes: source.unanswered_writes(),
                waiters: &waiters,
            });
        });
    }

    /// The counts of the blocking pool, with the time for which the first job has waited for a thread; and
    /// the work that is being done, with the time since it has begun.
    pub(super) fn pool_facts(&self) -> (PoolCounts<Duration>, Vec<(RunningJob, Duration)>) {
        let since = |moment: Instant| clock::now().saturating_duration_since(moment);
        let jobs = self.blocking_jobs().into_iter();
        let jobs = jobs.map(|job| (job.clone(), since(job.begun))).collect();
        (self.blocking_pool().counts(|job| since(BlockingJob::queued(job))), jobs)
    }
}
