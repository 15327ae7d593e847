//! `RuntimeMetrics`: liten's, with tokio's names.

use std::ops::Range;
use std::thread::ThreadId;
use std::time::Duration;

/// Numbers about what a runtime does.
#[derive(Clone, Debug)]
pub struct RuntimeMetrics {
    inner: liten::runtime::RuntimeMetrics,
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
    pub(super) fn from_inner(inner: liten::runtime::RuntimeMetrics) -> Self {
        Self { inner }
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
        /// Returns whether the times of polls are counted: always, in a runtime with workers.
        poll_time_histogram_enabled() -> bool;
        /// Returns the number of buckets for times of polls. They are liten's, whatever the builder was told.
        poll_time_histogram_num_buckets() -> usize;
        /// Returns the times that are counted in `bucket`.
        poll_time_histogram_bucket_range(bucket: usize) -> Range<Duration>;
        /// Returns how many polls of `worker` took as long as `bucket` says, as far as is known: liten
        /// measures some of them, and counts each of those for all since the last one.
        poll_time_histogram_bucket_count(worker: usize, bucket: usize) -> u64;
        /// Returns how often `worker` has polled a task.
        worker_poll_count(worker: usize) -> u64;
        /// Returns how many tasks `worker` has taken from others.
        worker_steal_count(worker: usize) -> u64;
    }

    #[cfg(feature = "schedule-latency")]
    passed_on! {
        /// Returns whether the times that tasks wait for a worker are counted: always, in a runtime with
        /// workers.
        schedule_latency_histogram_enabled() -> bool;
        /// Returns the number of buckets for times of waiting.
        schedule_latency_histogram_num_buckets() -> usize;
        /// Returns the times that are counted in `bucket`.
        schedule_latency_histogram_bucket_range(bucket: usize) -> Range<Duration>;
        /// Returns for how many polls of `worker` the task had waited as long as `bucket` says, as far as is
        /// known.
        schedule_latency_histogram_bucket_count(worker: usize, bucket: usize) -> u64;
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

    /// Returns how long a poll of `worker` takes on average: its busy time by its polls. tokio weighs later
    /// polls more.
    pub fn worker_mean_poll_time(&self, worker: usize) -> Duration {
        let polls = u32::try_from(self.worker_poll_count(worker)).unwrap_or(u32::MAX);
        self.worker_total_busy_duration(worker).checked_div(polls).unwrap_or_default()
    }

    /// Returns nothing: liten's workers have no thread that is theirs alone.
    pub fn worker_thread_id(&self, _worker: usize) -> Option<ThreadId> {
        None
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
        budget_forced_yield_count() -> u64;
        remote_schedule_count() -> u64;
        spawned_tasks_count() -> u64;
        worker_local_queue_depth(_worker) -> usize;
        worker_local_schedule_count(_worker) -> u64;
        worker_noop_count(_worker) -> u64;
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
