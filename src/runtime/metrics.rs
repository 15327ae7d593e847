//! Numbers about a running runtime; always on, because they cost plain stores.

use super::handle::Handle;
use super::local::LocalShared;
use crate::engine::scheduler::WorkerCounts;
use crate::engine::task::RunningTask;
use crate::impls::impl_debug;
use crate::limits::CpuLimits;
use crate::observe;
use crate::observe::histogram::{self, BUCKETS, HistogramCounts};
use std::ops::Range;
use std::time::Duration;

/// Numbers about what a runtime is doing. Each call reads anew; numbers read one after the other need
/// not fit together.
#[derive(Clone)]
pub struct RuntimeMetrics {
    handle: Handle,
}

impl RuntimeMetrics {
    pub(super) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// Returns the number of workers; 1 for a runtime without, whose tasks run in `block_on`.
    pub fn num_workers(&self) -> usize {
        self.handle.scheduler().map_or(1, |scheduler| scheduler.worker_count())
    }

    /// Returns how much of the processors the process may use, and how often the system has stopped it
    /// because a quota was used up. Reads some small files.
    ///
    /// # Examples
    ///
    /// ```
    /// let limits = liten::block_on(async { liten::runtime::Handle::current().metrics().cpu_limits() });
    /// // Such as "2 processors, quota 1.50 of them (150ms per 100ms, …), 31 of 310 periods throttled".
    /// println!("{limits}");
    /// assert!(limits.cpus() >= 1);
    /// ```
    pub fn cpu_limits(&self) -> CpuLimits {
        observe::cpu_limits()
    }

    /// Returns how many tasks have been spawned and have not ended.
    pub fn num_alive_tasks(&self) -> usize {
        let workers = self.handle.scheduler().map_or(0, |scheduler| scheduler.alive_tasks());
        let tasks = workers
            + self.local().map_or(0, |local| local.alive_tasks())
            + self.handle.inner.pinned.alive_tasks();
        usize::try_from(tasks).unwrap_or(usize::MAX)
    }

    /// Returns how many live tasks have waited for something at least once: those in the cold registries.
    pub fn num_cold_tasks(&self) -> usize {
        self.handle.scheduler().map_or(0, |scheduler| scheduler.cold_tasks())
            + self.local().map_or(0, |local| local.cold_tasks())
            + self.handle.inner.pinned.cold_tasks()
    }

    /// Returns how many tasks are in the injector, or in the one queue of a runtime without workers.
    pub fn global_queue_depth(&self) -> usize {
        self.handle.scheduler().map_or(0, |scheduler| scheduler.shared_queue_len())
            + self.local().map_or(0, |local| local.queued_tasks().iter().sum::<usize>())
    }

    /// Returns how many spare workers run: see
    /// [`Builder::max_spare_workers`](super::Builder::max_spare_workers).
    pub fn num_spare_workers(&self) -> usize {
        self.handle.scheduler().map_or(0, |scheduler| scheduler.spare_workers())
    }

    /// Returns how many threads of workers rest: they run no tasks, because they were spare workers, or the
    /// number of workers was lowered.
    ///
    /// What a task has done to its thread (a child that is to die with it, a namespace, a thread-local with a
    /// destructor) lasts until the runtime ends. So such a thread sleeps until a worker is needed again, or
    /// the runtime ends. There are never more of them than there have been workers and spare workers at a
    /// time.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = liten::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
    /// runtime.handle().set_worker_threads(1).unwrap();
    /// // Each worker rests as soon as it is between two polls.
    /// while runtime.metrics().num_resting_workers() < 2 {
    ///     std::thread::yield_now();
    /// }
    /// ```
    pub fn num_resting_workers(&self) -> usize {
        let entries = self.handle.scheduler().map(|scheduler| scheduler.worker_entries());
        entries.into_iter().flatten().filter(|(_, entry)| entry.rests).count()
    }

    /// Returns how many polls have blocked their worker for 10 ms and more (at the time of writing) while no
    /// other worker was free, and tasks waited or a spare worker served them. With the feature `tracing`
    /// there is a warning for each.
    ///
    /// A poll that blocks while another worker is free is not counted: that worker takes what waits. One in
    /// [`block_in_place`](crate::task::block_in_place) counts only if tasks wait and no further spare worker
    /// may start: see [`Builder::max_spare_workers`](super::Builder::max_spare_workers).
    pub fn blocked_poll_count(&self) -> u64 {
        self.handle.observer().map_or(0, |observer| observer.blocked_polls())
    }

    /// Returns how many polls have been slow: see
    /// [`Builder::slow_poll_threshold`](super::Builder::slow_poll_threshold). 0 without workers.
    pub fn slow_poll_count(&self) -> u64 {
        self.handle.slow_polls().count()
    }

    /// Returns what runs at the moment: the tasks whose polls the workers, or the thread in `block_on`, are
    /// in, and the blocking work that has begun.
    pub fn running_tasks(&self) -> Vec<RunningTask> {
        self.handle.running_tasks()
    }

    /// Returns how many polls `worker` has made. 0 for a worker that does not exist. Without workers, the
    /// polls of tasks that threads in `block_on` have made are those of worker 0, as are their sleeps.
    pub fn worker_poll_count(&self, worker: usize) -> u64 {
        self.counts(worker).polls
    }

    /// Returns how many tasks `worker` has stolen from others when it had none. What it has taken from a
    /// worker that was stuck in a poll, because the watchdog asked for that, is not counted.
    pub fn worker_steal_count(&self, worker: usize) -> u64 {
        self.counts(worker).stolen
    }

    /// Returns how many tasks `worker` has taken from the injector and from threads in `block_on`. A
    /// peer that steals from it at that very moment may make the count too low. Without workers, it is how
    /// many tasks other threads have spawned or woken.
    pub fn worker_injected_count(&self, worker: usize) -> u64 {
        self.counts(worker).injected
    }

    /// Returns how many tasks are in `worker`'s own queue, without the one that it runs next. Without
    /// workers, it is how many the thread has queued that runs them.
    #[doc(hidden)]
    pub fn worker_local_queue_depth(&self, worker: usize) -> usize {
        match self.handle.scheduler() {
            Some(scheduler) => scheduler.queued_tasks(worker),
            None => self.local().filter(|_| worker == 0).map_or(0, |local| local.queued_tasks()[0]),
        }
    }

    /// Returns the sum of [`worker_injected_count`](Self::worker_injected_count) of all workers, spare ones
    /// included.
    #[doc(hidden)]
    pub fn injected_count(&self) -> u64 {
        let workers = self.handle.scheduler().map_or(1, |it| it.worker_entries().len());
        (0..workers).map(|worker| self.worker_injected_count(worker)).sum()
    }

    /// Returns how often `worker` has gone to sleep.
    pub fn worker_park_count(&self, worker: usize) -> u64 {
        self.counts(worker).parks
    }

    /// Returns how often `worker` has gone to sleep and how often it has come back, in one number: an odd one
    /// says that it sleeps.
    pub fn worker_park_unpark_count(&self, worker: usize) -> u64 {
        self.counts(worker).parks_unparks
    }

    /// Returns for how long `worker` has not slept, be it that it ran tasks or that it looked for some. While
    /// it is at work the number follows with a delay: it is brought up to date when the worker polls the
    /// driver in passing, and when it goes to sleep. Without workers, it is the time that threads in
    /// `block_on` have driven the runtime, less their sleeps.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = liten::runtime::Builder::new_current_thread().build().unwrap();
    /// runtime.block_on(async { liten::task::yield_now().await });
    /// assert!(!runtime.metrics().worker_total_busy_duration(0).is_zero());
    /// ```
    pub fn worker_total_busy_duration(&self, worker: usize) -> Duration {
        self.counts(worker).busy
    }

    /// Returns `true`: how long polls take is always counted, but only with workers.
    pub fn poll_time_histogram_enabled(&self) -> bool {
        self.handle.scheduler().is_some()
    }

    /// Returns how many buckets [`poll_time_histogram_bucket_count`](Self::poll_time_histogram_bucket_count)
    /// has.
    pub fn poll_time_histogram_num_buckets(&self) -> usize {
        BUCKETS
    }

    /// Returns which times are counted in `bucket`. Each is at most an eighth longer than it begins; the
    /// first one begins at zero, and the last one has no end.
    ///
    /// # Panics
    ///
    /// Panics if there is no such bucket.
    pub fn poll_time_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        histogram::bounds(bucket)
    }

    /// Returns how many polls of `worker` have taken as long as `bucket` says, as far as is known. 0 for a
    /// worker or a bucket that does not exist.
    ///
    /// The polls are not timed one by one if there are many (at the time of writing, more than 1,000 per
    /// second of one worker), which would cost more than some of them take. Then some hundreds per second are
    /// chosen at random, and each counts for all of its worker since the last one. Long polls (at the time of
    /// writing, of 17 ms and more) do not count in this way: each is seen from the outside and counted once,
    /// some milliseconds after its end, with a time that may be wrong by the same. One of about that length
    /// may be counted in both ways or in none. A poll that [blocks in place](crate::task::block_in_place) for
    /// that long is not counted.
    ///
    /// # Examples
    ///
    /// ```
    /// let runtime = liten::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    /// let metrics = runtime.metrics();
    /// for bucket in 0..metrics.poll_time_histogram_num_buckets() {
    ///     let polls = metrics.poll_time_histogram_bucket_count(0, bucket);
    ///     println!("{:?}: {polls}", metrics.poll_time_histogram_bucket_range(bucket));
    /// }
    /// ```
    pub fn poll_time_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.handle.observer().map_or(0, |observer| observer.bucket_counts(worker, bucket)[0])
    }

    /// Returns `true`: how long tasks wait for a worker is always counted, but only with workers.
    pub fn schedule_latency_histogram_enabled(&self) -> bool {
        self.handle.scheduler().is_some()
    }

    /// Returns how many buckets
    /// [`schedule_latency_histogram_bucket_count`](Self::schedule_latency_histogram_bucket_count) has.
    pub fn schedule_latency_histogram_num_buckets(&self) -> usize {
        BUCKETS
    }

    /// Returns which times are counted in `bucket`, as
    /// [`poll_time_histogram_bucket_range`](Self::poll_time_histogram_bucket_range) does.
    ///
    /// # Panics
    ///
    /// Panics if there is no such bucket.
    pub fn schedule_latency_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        histogram::bounds(bucket)
    }

    /// Returns for how many polls of `worker` the task has waited as long as `bucket` says, from its wake or
    /// its spawn on. 0 for a worker or a bucket that does not exist.
    ///
    /// It does not matter what has woken the task, and on which thread, nor which worker polls it. If a task
    /// is woken while it is polled, it is ready from the end of that poll on. A task that yields waits for
    /// nothing, and is not counted. Nor are tasks that no worker polls, such as those of a
    /// [`LocalSet`](crate::task::LocalSet).
    ///
    /// Each wait is measured while a worker makes few polls (at the time of writing, 1,000 per second). Above
    /// that, some hundreds per second are chosen at random, and each counts for several. While a worker is
    /// held up for some milliseconds, tasks that other threads wake are measured in addition, because the
    /// longest waits are among these.
    pub fn schedule_latency_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.handle.observer().map_or(0, |observer| observer.bucket_counts(worker, bucket)[1])
    }

    /// Returns the number of threads of the blocking pool.
    pub fn num_blocking_threads(&self) -> usize {
        self.handle.inner.blocking.counts(|_| ()).threads
    }

    /// Returns how many threads of the blocking pool have nothing to do.
    pub fn num_idle_blocking_threads(&self) -> usize {
        self.handle.inner.blocking.counts(|_| ()).idle_threads
    }

    /// Returns how many blocking jobs wait for a thread.
    pub fn blocking_queue_depth(&self) -> usize {
        self.handle.inner.blocking.counts(|_| ()).queued
    }

    /// How long polls took, and how long tasks were ready before them, of all workers.
    pub(crate) fn histograms(&self) -> Option<[HistogramCounts; 2]> {
        self.handle.observer().map(|observer| observer.histograms())
    }

    /// What `worker` has done; of a runtime without workers, the thread that runs the tasks. Zeros if there
    /// is no such worker.
    pub(crate) fn counts(&self, worker: usize) -> WorkerCounts {
        match (self.handle.scheduler(), self.local()) {
            (Some(scheduler), _) => scheduler.worker_counts(worker),
            (_, Some(local)) if worker == 0 => {
                let (polls, injected) = (local.polls(), local.sent_tasks());
                WorkerCounts { polls, injected, ..self.handle.inner.sleeps.counts() }
            }
            _ => WorkerCounts::default(),
        }
    }

    fn local(&self) -> Option<&LocalShared> {
        self.handle.inner.flavor.local().map(|local| &**local)
    }
}

impl_debug!([] RuntimeMetrics, this => "RuntimeMetrics" {
    num_workers: this.num_workers(),
    num_alive_tasks: this.num_alive_tasks(),
    num_cold_tasks: this.num_cold_tasks(),
    global_queue_depth: this.global_queue_depth(),
    num_blocking_threads: this.num_blocking_threads(),
    ..
});
