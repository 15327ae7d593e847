//! What is kept of the steps of a scheduler: recordings, histograms of times, and slow polls.
//!
//! An [`Observer`] is attached to the scheduler's one seam for this (`engine/scheduler/probe.rs`), which says
//! when it is called. `runtime` shows its histograms in the metrics, and `insight` reads its recordings.
//!
//! | file | what it is |
//! |---|---|
//! | `worker` | what the observer does on a worker's thread |
//! | `simulation` | tells a simulation of the whole program which task is touched next |
//! | `samples` | how long polls take, and tasks wait for them, measured at some of them |
//! | `stamps` | since when the tasks are ready whose wait is measured |
//! | `histogram` | how often something took how long |
//! | `recorder` | starts and stops a recording, which has a ring of each worker |
//! | `record`, `ring` | what is recorded, and the last of it |
//! | `limits_watch` | the processors that the process may use, as they change |
//! | `long_polls` | how long polls last, as the watchdog sees it |
//! | `slow_polls`, `slow_poll` | those that are slow, and what is told of them |
//! | `named_task` | how a task is shown with its name |
//! | `blocked` | those that block the last free worker |
//! | `thread_activity` | what a thread does, as the system tells it |
//! | `spare_descriptors` | descriptors for the time when the program has used up all |
//! | `incidents` | the listeners that are told at once of slow polls and panics |
//!
//! Each worker writes to a ring of its own, without a lock and without an atomic read-modify-write. A worker
//! takes locks only when it joins a recording, and for a panic before that. All other threads share one ring,
//! and take a lock to write to it. A thread that reads copies a ring while its writer goes on, and discards
//! the records that were overwritten meanwhile.

mod blocked;
pub(crate) mod histogram;
pub(crate) mod incidents;
mod limits_watch;
mod long_polls;
mod named_task;
mod record;
mod recorder;
mod ring;
mod samples;
pub(crate) mod simulation;
mod slow_poll;
pub(crate) mod slow_polls;
#[cfg_attr(
    not(feature = "insight"),
    allow(dead_code, reason = "only insight's page keeps descriptors")
)]
pub(crate) mod spare_descriptors;
mod stamps;
pub(crate) mod thread_activity;
mod worker;

pub(crate) use named_task::NamedTask;
pub(crate) use record::{Event, Record};
pub(crate) use recorder::Recording;
pub(crate) use ring::Ring;
pub use slow_poll::SlowPoll;
pub use thread_activity::{SystemCall, ThreadActivity};

use crate::engine::scheduler::{CpuBudget, Probe, Shared, TaskEvent, WorkerEntry, WorkerProbe};
use crate::engine::sync_shim::{Arc, Mutex, clock};
use crate::engine::task::header::FutureType;
use crate::engine::task::{RunningTask, TaskId};
use crate::engine::wakers;
use blocked::BlockedPolls;
use histogram::{HistogramCounts, Histograms, RARE_POLL};
pub(crate) use limits_watch::{FirstLimits, LimitsWatch, cpu_limits};
use long_polls::{LongPolls, News};
use recorder::Recorder;
use samples::Spawns;
use simulation::Simulation;
use slow_polls::{LongPoll, SlowPolls};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};
use worker::WorkerObserver;

/// A worker that has been where it is for longer is stuck: wakes from threads that are no workers are
/// followed then, in addition to those of the sample.
const STUCK: Duration = Duration::from_millis(4);
/// So many of them from one look of the watchdog to the next.
const FOLLOWED_WAKES: u32 = 64;

/// What is kept of one scheduler.
pub(crate) struct Observer {
    recorder: Arc<Recorder>,
    /// By the index of the worker. Those of a worker that has ended stay, and the next one goes on with them.
    histograms: Mutex<Vec<Option<Arc<Histograms>>>>,
    /// What the looks of the watchdog have shown.
    long_polls: Mutex<LongPolls>,
    slow_polls: Arc<SlowPolls>,
    blocked: BlockedPolls,
    /// Of the spawns on threads that are no workers.
    spawns: Mutex<Spawns>,
    /// The whole program runs in it.
    simulation: Simulation,
    /// `None`: the limits are not to be followed.
    limits: Option<LimitsWatch>,
}

impl Observer {
    pub(crate) fn new(slow_polls: Arc<SlowPolls>, limits: Option<LimitsWatch>) -> Self {
        stamps::begin();
        let long_polls = LongPolls::new(slow_polls.after(), clock::now());
        Self {
            recorder: Arc::new(Recorder::new()),
            histograms: Mutex::new(Vec::new()),
            long_polls: Mutex::new(long_polls),
            slow_polls,
            blocked: BlockedPolls::new(),
            spawns: Mutex::new(Spawns::new(u64::MAX)),
            simulation: Simulation::of_process(),
            limits,
        }
    }

    pub(crate) fn slow_polls(&self) -> &Arc<SlowPolls> {
        &self.slow_polls
    }

    /// What the whole program runs in, if it does.
    pub(crate) fn simulation(&self) -> Simulation {
        self.simulation
    }

    /// The number of workers does not follow the limits any more.
    pub(crate) fn fix_workers(&self) {
        self.limits.iter().for_each(LimitsWatch::fix);
    }

    /// How many polls have blocked the last free worker.
    pub(crate) fn blocked_polls(&self) -> u64 {
        self.blocked.count()
    }

    /// How long `worker` has been where `entry` says, at least.
    pub(crate) fn lasted(&self, worker: usize, entry: &WorkerEntry) -> Duration {
        // To the watchdog a worker that has ended looks like one that is in something for ever.
        if entry.is_idle() {
            return Duration::ZERO;
        }
        self.lasted_at(worker, entry.position)
    }

    /// How long `worker` was at that position, as far as looks have seen it there. 0 if a look has seen it
    /// elsewhere since.
    pub(crate) fn lasted_at(&self, worker: usize, position: u64) -> Duration {
        self.long_polls.lock().lasted(worker, position)
    }

    /// Tells what the last look has found of `worker`, at that position.
    fn tell(&self, scheduler: &Shared, worker: usize, position: u64, news: News) {
        match news {
            News::HalfSlow => {
                if let Some(entry) = still_at(scheduler, worker, position) {
                    self.slow_polls.half_slow(worker, &entry);
                }
            }
            News::Slow(time) => {
                let Some(entry) = &still_at(scheduler, worker, position) else { return };
                let is_over = &|| scheduler.has_moved(worker, entry);
                let name = &|| task_name(scheduler, entry.task?.id());
                let poll = LongPoll { worker, entry, is_over, name };
                // It calls the program's code.
                wakers::guard(|| self.slow_polls.slow(poll, time));
            }
            News::SlowEnded(time) => self.slow_polls.ended(worker, time),
            News::Ended(time) => self.count_rare(worker, time),
        }
    }

    /// Counts a poll that has taken `time`, if it is so long that it is in no sample.
    fn count_rare(&self, worker: usize, time: Duration) {
        if time < RARE_POLL {
            return;
        }
        if let Some(histograms) = self.histograms_of(worker) {
            histograms.poll_times.add_rare(time);
        }
    }

    /// Under a simulation, `scheduler` is observed from its beginning to its end.
    pub(crate) fn begin(&self, scheduler: &Shared) {
        if self.simulation.is_there() {
            scheduler.begin_observation(|_| ());
        }
    }

    /// Begins to record `scheduler`, or shares the recording that is under way. `None` if the runtime has
    /// been shut down. For `records` see [`Recorder::start`].
    pub(crate) fn start_recording(
        &self,
        scheduler: &Shared,
        records: Option<NonZeroUsize>,
    ) -> Option<Arc<Recording>> {
        scheduler.begin_observation(|workers| self.recorder.start(workers, records))
    }

    /// Each that has begun to record `scheduler` stops once; the last one ends the recording.
    pub(crate) fn stop_recording(&self, scheduler: &Shared) {
        scheduler.end_observation(|| self.recorder.stop() && !self.simulation.is_there());
    }

    /// How long polls of the workers took, and how long tasks were ready before them.
    pub(crate) fn histograms(&self) -> [HistogramCounts; 2] {
        let mut all = [HistogramCounts::empty(), HistogramCounts::empty()];
        // The lock is released before the counts are read, because the driver thread may wait for it.
        let workers: Vec<_> = self.histograms.lock().iter().flatten().cloned().collect();
        for worker in &workers {
            for (all, one) in all.iter_mut().zip([&worker.poll_times, &worker.latencies]) {
                all.add(&one.read());
            }
        }
        all
    }

    /// How many polls of `worker`, and how many waits for one, are in that bucket.
    pub(crate) fn bucket_counts(&self, worker: usize, bucket: usize) -> [u64; 2] {
        self.histograms_of(worker).map_or([0; 2], |it| {
            [&it.poll_times, &it.latencies].map(|histogram| histogram.count(bucket))
        })
    }

    fn histograms_of(&self, worker: usize) -> Option<Arc<Histograms>> {
        self.histograms.lock().get(worker)?.clone()
    }
}

impl Probe for Observer {
    fn worker(&self, worker: usize, polls: u64) -> Box<dyn WorkerProbe> {
        let mut all = self.histograms.lock();
        if all.len() <= worker {
            all.resize(worker + 1, None);
        }
        let histograms = all[worker].get_or_insert_with(|| Arc::new(Histograms::new())).clone();
        let recorder = self.recorder.clone();
        Box::new(WorkerObserver::new(recorder, histograms, worker, polls, self.simulation))
    }

    fn happened_outside(&self, event: TaskEvent) {
        self.simulation.happened(event);
        self.recorder.happened_outside(Event::of(event));
    }

    fn spawned_outside(
        &self,
        task: RunningTask,
        future: FutureType,
        number: u64,
    ) -> (u64, Option<u64>) {
        self.simulation.spawned(task, future);
        self.recorder.happened_outside(Event::Spawn(task));
        let mut spawns = self.spawns.lock();
        let stands_for = spawns.spawned(number, 0);
        (spawns.next, stands_for)
    }

    fn looked(&self, scheduler: &Shared, now: Instant) -> bool {
        let mut polls = self.long_polls.lock();
        polls.look(now, scheduler.worker_entries());
        scheduler.follow_wakes(if polls.is_any_stuck(STUCK) { FOLLOWED_WAKES } else { 0 });
        let may_sleep = !polls.awaits_end();
        // What is told may look at the dump, which reads what is under the lock.
        let mut news = std::mem::take(&mut polls.news);
        drop(polls);
        // `Slow` calls the program's code, and the other news do not wait for it. Of several slow polls, one
        // that ends while that code runs for an earlier one is not counted and not recorded.
        news.sort_unstable_by_key(|(_, _, it)| matches!(it, News::Slow(_)));
        for (worker, position, it) in news.drain(..) {
            self.tell(scheduler, worker, position, it);
        }
        // Kept for its memory.
        self.long_polls.lock().news = news;
        let mut spawns = self.spawns.lock();
        if spawns.pace_falls(now, scheduler.spawned_by_others(), 0) {
            scheduler.report_spawns_from(spawns.next);
        }
        may_sleep
    }

    fn budget(&self, scheduler: &Arc<Shared>, now: Instant) -> Option<CpuBudget> {
        self.limits.as_ref()?.look(scheduler, now)
    }

    fn blocked(
        &self,
        scheduler: &Shared,
        worker: usize,
        task: Option<RunningTask>,
        time: Duration,
    ) {
        self.blocked.tell(scheduler, worker, task, time);
    }
}

/// The entry of `worker`, if it is still at `position` and the runtime has not begun to end.
fn still_at(scheduler: &Shared, worker: usize, position: u64) -> Option<WorkerEntry> {
    let entry = scheduler.worker_entry(worker);
    // The entry is read part after part, and its position is the first part. So the position is compared once
    // more: if it has changed, the task in the entry may be that of a later poll.
    let is_same = entry.position == position && !scheduler.has_moved(worker, &entry);
    (is_same && !scheduler.is_closed()).then_some(entry)
}

/// How many tasks are looked at for a name: the driver thread does it, at some 100 ns each, and the next
/// event waits meanwhile.
const NAMES: usize = 10_000;

/// One look into a list counts as this many tasks at the least, because it may pass entries that are free.
const LEAST_PER_LOOK: usize = 500;

/// The name of a task that has been cold. `None` also if it is not among the first [`NAMES`] of them.
fn task_name(scheduler: &Shared, task: TaskId) -> Option<std::sync::Arc<str>> {
    let (mut chunk, mut left) = (Vec::new(), NAMES);
    for list in 0..scheduler.task_lists() {
        let mut from = Some(0);
        while let Some(next) = from.filter(|_| left != 0) {
            from = scheduler.list_tasks(list, next, false, &mut chunk);
            left = left.saturating_sub(chunk.len().max(LEAST_PER_LOOK));
            if let Some(found) = chunk.drain(..).find(|entry| entry.task.id() == task) {
                return found.name;
            }
        }
    }
    None
}
