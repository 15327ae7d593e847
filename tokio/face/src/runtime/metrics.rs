//! `RuntimeMetrics`: liten's, with tokio's names.

use super::Handle;
use std::ops::Range;
use std::thread::ThreadId;
use std::time::Duration;

/// Under the name that tokio's file of histograms knows.
#[cfg(tokio_unstable)]
pub(crate) mod batch {
    pub(crate) fn duration_as_u64(duration: std::time::Duration) -> u64 {
        u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
    }
}
#[cfg(tokio_unstable)]
pub(crate) mod histogram;

/// Numbers about what a runtime does.
#[derive(Clone, Debug)]
pub struct RuntimeMetrics {
    inner: liten::runtime::RuntimeMetrics,
    /// What this package counts itself.
    #[cfg(tokio_unstable)]
    extras: Option<std::sync::Arc<super::unstable::Extras>>,
    #[cfg(tokio_unstable)]
    has_workers: bool,
}

/// Numbers that liten has under the same name.
macro_rules! passed_on {
    ($(
        $(#[$attribute:meta])*
        $name:ident($($argument:ident: $type:ty),*) -> $output:ty;
    )*) => {$(
        $(#[$attribute])*
        pub fn $name(&self, $($argument: $type),*) -> $output {
            self.inner.$name($($argument),*)
        }
    )*};
}

impl RuntimeMetrics {
    pub(super) fn of(handle: &Handle) -> Self {
        Self {
            inner: handle.inner().metrics(),
            #[cfg(tokio_unstable)]
            extras: super::unstable::Extras::of(handle),
            #[cfg(tokio_unstable)]
            has_workers: handle.runtime_flavor() == super::RuntimeFlavor::MultiThread,
        }
    }

    passed_on! {
        /// Returns the number of workers; 1 for a runtime whose tasks run in `block_on`.
        num_workers() -> usize;
        /// Returns how many tasks have been spawned and have not ended.
        num_alive_tasks() -> usize;
        /// Returns how many tasks are in the queue of all workers.
        global_queue_depth() -> usize;
        /// Returns how long `worker` has been busy.
        worker_total_busy_duration(worker: usize) -> Duration;
        /// Returns how often `worker` has gone to sleep.
        worker_park_count(worker: usize) -> u64;
        /// Returns how often `worker` has gone to sleep or woken up.
        worker_park_unpark_count(worker: usize) -> u64;
    }
}

/// The four functions about one histogram.
#[cfg(tokio_unstable)]
macro_rules! of_histogram {
    (
        $which:ident:
        $(#[$is_enabled:meta])* $enabled:ident
        $(#[$is_buckets:meta])* $buckets:ident
        $(#[$is_range:meta])* $range:ident
        $(#[$is_count:meta])* $count:ident
    ) => {
        $(#[$is_enabled])*
        pub fn $enabled(&self) -> bool {
            self.extras.as_ref().is_some_and(|extras| extras.$which().is_some())
        }

        $(#[$is_buckets])*
        pub fn $buckets(&self) -> usize {
            let times = self.extras.as_ref().and_then(|extras| extras.$which());
            times.map_or(0, |times| times.of(0).num_buckets())
        }

        $(#[$is_range])*
        pub fn $range(&self, bucket: usize) -> Range<Duration> {
            let times = self.extras.as_ref().and_then(|extras| extras.$which());
            times.map_or_else(Range::default, |times| {
                let range = times.of(0).bucket_range(bucket);
                Duration::from_nanos(range.start)..Duration::from_nanos(range.end)
            })
        }

        $(#[$is_count])*
        pub fn $count(&self, worker: usize, bucket: usize) -> u64 {
            let times = self.extras.as_ref().and_then(|extras| extras.$which());
            times.map_or(0, |times| times.of(worker).get(bucket))
        }
    };
}

/// What `--cfg tokio_unstable` adds. liten has these numbers without it.
#[cfg(tokio_unstable)]
impl RuntimeMetrics {
    passed_on! {
        /// Returns the number of threads for blocking work.
        num_blocking_threads() -> usize;
        /// Returns how many threads for blocking work are idle.
        num_idle_blocking_threads() -> usize;
        /// Returns how many functions wait for a thread for blocking work.
        blocking_queue_depth() -> usize;
        /// Returns how many tasks are in the queue of `worker`, without the one that it polls next.
        worker_local_queue_depth(worker: usize) -> usize;
        /// Returns how many tasks `worker` has taken from others.
        worker_steal_count(worker: usize) -> u64;
    }

    of_histogram! {
        polls:
        /// Returns whether the times of polls are counted.
        poll_time_histogram_enabled
        /// Returns the number of buckets for times of polls.
        poll_time_histogram_num_buckets
        /// Returns the times that are counted in `bucket`.
        poll_time_histogram_bucket_range
        /// Returns how many polls of `worker` took as long as `bucket` says.
        poll_time_histogram_bucket_count
    }

    #[cfg(feature = "schedule-latency")]
    of_histogram! {
        waits:
        /// Returns whether the times are counted that tasks are ready before they are polled.
        schedule_latency_histogram_enabled
        /// Returns the number of buckets for times of waiting.
        schedule_latency_histogram_num_buckets
        /// Returns the times that are counted in `bucket`.
        schedule_latency_histogram_bucket_range
        /// Returns for how many polls of `worker` the task had waited as long as `bucket` says.
        schedule_latency_histogram_bucket_count
    }

    /// Returns how many tasks have been spawned.
    pub fn spawned_tasks_count(&self) -> u64 {
        self.extras.as_ref().map_or(0, |extras| extras.spawned())
    }

    /// Returns how many tasks have been spawned and have not ended.
    #[deprecated = "Renamed to num_alive_tasks"]
    pub fn active_tasks_count(&self) -> usize {
        self.num_alive_tasks()
    }

    /// Returns how many tasks are in the queue of all workers.
    #[deprecated = "Renamed to global_queue_depth"]
    pub fn injection_queue_depth(&self) -> usize {
        self.global_queue_depth()
    }

    /// Returns whether the times of polls are counted.
    #[deprecated = "Renamed to poll_time_histogram_enabled"]
    pub fn poll_count_histogram_enabled(&self) -> bool {
        self.poll_time_histogram_enabled()
    }

    /// Returns the number of buckets for times of polls.
    #[deprecated = "Renamed to poll_time_histogram_num_buckets"]
    pub fn poll_count_histogram_num_buckets(&self) -> usize {
        self.poll_time_histogram_num_buckets()
    }

    /// Returns the times that are counted in `bucket`.
    #[deprecated = "Renamed to poll_time_histogram_bucket_range"]
    pub fn poll_count_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        self.poll_time_histogram_bucket_range(bucket)
    }

    /// Returns how many polls of `worker` took as long as `bucket` says.
    #[deprecated = "Renamed to poll_time_histogram_bucket_count"]
    pub fn poll_count_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.poll_time_histogram_bucket_count(worker, bucket)
    }

    /// Returns how often `worker` has polled a task. Where the times of polls are counted, it is how many
    /// polls have ended: programs look for new times only where there were new polls.
    pub fn worker_poll_count(&self, worker: usize) -> u64 {
        let times = self.extras.as_ref().and_then(|extras| extras.polls());
        let timed = times.filter(|_| worker < self.num_workers()).map(|times| times.of(worker));
        let Some(timed) = timed else { return self.inner.worker_poll_count(worker) };
        (0..timed.num_buckets()).map(|bucket| timed.get(bucket)).sum()
    }

    /// Returns how long a poll of `worker` takes on average: its busy time by its polls. tokio weighs later
    /// polls more. As on tokio it is 0 without workers.
    pub fn worker_mean_poll_time(&self, worker: usize) -> Duration {
        if !self.has_workers {
            return Duration::ZERO;
        }
        let polls = u32::try_from(self.worker_poll_count(worker)).unwrap_or(u32::MAX);
        self.worker_total_busy_duration(worker).checked_div(polls).unwrap_or_default()
    }

    /// Returns how many tasks other threads have made ready. With workers it is how many they have spawned:
    /// a task that they wake goes to the worker that has run it last, and is not counted.
    pub fn remote_schedule_count(&self) -> u64 {
        self.highest("remote", 0, self.inner.injected_count())
    }

    /// Returns how many polls of `worker` were not of tasks that other threads have made ready: see
    /// [`remote_schedule_count`](Self::remote_schedule_count).
    pub fn worker_local_schedule_count(&self, worker: usize) -> u64 {
        let remote = self.inner.worker_injected_count(worker);
        self.highest("local", worker, self.worker_poll_count(worker).saturating_sub(remote))
    }

    /// Returns the thread of `worker`, once it has polled a task. A worker keeps its thread while its task
    /// blocks. Without workers it is the thread that was in `block_on` last.
    pub fn worker_thread_id(&self, worker: usize) -> Option<ThreadId> {
        self.extras.as_ref()?.thread(worker)
    }

    /// Returns in how many polls of tasks the budget was used up.
    pub fn budget_forced_yield_count(&self) -> u64 {
        self.extras.as_ref().map_or(0, |extras| extras.forced_yields())
    }

    /// Returns how often `worker` has gone to sleep without a poll since the last time, at least: how often
    /// it has gone to sleep, less its polls.
    pub fn worker_noop_count(&self, worker: usize) -> u64 {
        let polls = self.worker_poll_count(worker);
        self.highest("noop", worker, self.worker_park_count(worker).saturating_sub(polls))
    }

    fn highest(&self, name: &'static str, worker: usize, count: u64) -> u64 {
        self.extras.as_ref().map_or(count, |extras| extras.highest(name, worker, count))
    }
}

/// Numbers that liten does not have.
macro_rules! not_counted {
    ($($(#[$attribute:meta])* $name:ident($($argument:ident),*) -> $output:ty;)*) => {$(
        /// Returns 0: liten does not count this.
        $(#[$attribute])*
        pub fn $name(&self $(, $argument: usize)*) -> $output {
            $(let _ = $argument;)*
            0
        }
    )*};
}

#[cfg(tokio_unstable)]
impl RuntimeMetrics {
    not_counted! {
        worker_overflow_count(_worker) -> u64;
        worker_steal_operations(_worker) -> u64;
        #[cfg(feature = "net")]
        io_driver_fd_deregistered_count() -> u64;
        #[cfg(feature = "net")]
        io_driver_fd_registered_count() -> u64;
        #[cfg(feature = "net")]
        io_driver_ready_count() -> u64;
    }
}
