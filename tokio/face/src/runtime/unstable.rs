//! What `--cfg tokio_unstable` adds to the builder.
//!
//! What liten has, it gets. What tunes a part of tokio's scheduler or its histograms is taken and has no
//! effect. What a program would count on and liten does not have is not there, so that the compiler names it:
//! `UnhandledPanic::ShutdownRuntime`, `HistogramConfiguration::log`, `enable_io_uring`, `Handle::dump`,
//! `track_task_schedule_latency`.

use super::Builder;
use std::time::Duration;

/// What happens when a task panics and nothing joins it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UnhandledPanic {
    /// Nothing: the error is in the task's `JoinHandle`.
    Ignore,
}

/// A seed for the choices that tokio makes at random. liten makes none that it would be for.
#[derive(Clone, Debug)]
pub struct RngSeed {
    _private: (),
}

impl RngSeed {
    /// Makes a seed from bytes.
    pub fn from_bytes(_bytes: &[u8]) -> Self {
        Self { _private: () }
    }
}

/// How wide the buckets of a histogram are. liten's have widths of their own.
#[deprecated = "Moved to HistogramConfiguration"]
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
#[non_exhaustive]
pub enum HistogramScale {
    /// All the same.
    Linear,
    /// Each twice that of the one before.
    Log,
}

/// The buckets of a histogram. liten's are its own.
#[derive(Debug, Copy, Clone, Eq, PartialEq)]
pub struct HistogramConfiguration {
    _private: (),
}

impl HistogramConfiguration {
    /// Asks for buckets of one width.
    pub fn linear(_bucket_width: Duration, _num_buckets: usize) -> Self {
        Self { _private: () }
    }
}

/// Settings that have no effect.
macro_rules! without_effect {
    ($(
        $(#[$attribute:meta])*
        $name:ident($($argument:ident: $type:ty),*);
    )*) => {$(
        $(#[$attribute])*
        pub fn $name(&mut self $(, $argument: $type)*) -> &mut Self {
            $(let _ = $argument;)*
            self
        }
    )*};
}

#[allow(deprecated)]
impl Builder {
    without_effect! {
        /// Without effect: liten does the one thing that can be chosen.
        unhandled_panic(_behavior: UnhandledPanic);
        /// Without effect: liten's worker has no place of one task that others cannot take from it.
        disable_lifo_slot();
        /// Without effect: the order of tasks depends on threads, and `select!` begins where it will.
        rng_seed(_seed: RngSeed);
        /// Without effect: the times of polls are always counted.
        enable_metrics_poll_time_histogram();
        /// Without effect: the times of polls are always counted.
        #[deprecated = "Renamed to enable_metrics_poll_time_histogram"]
        enable_metrics_poll_count_histogram();
        /// Without effect: the buckets are liten's own.
        #[deprecated = "Use metrics_poll_time_histogram_configuration"]
        metrics_poll_count_histogram_scale(_scale: HistogramScale);
        /// Without effect: the buckets are liten's own.
        metrics_poll_time_histogram_configuration(_configuration: HistogramConfiguration);
        /// Without effect: the buckets are liten's own.
        #[deprecated = "Use metrics_poll_time_histogram_configuration"]
        metrics_poll_count_histogram_resolution(_resolution: Duration);
        /// Without effect: the buckets are liten's own.
        #[deprecated = "Use metrics_poll_time_histogram_configuration"]
        metrics_poll_count_histogram_buckets(_buckets: usize);
        /// Without effect: the times that tasks wait are always counted.
        #[cfg(feature = "schedule-latency")]
        enable_metrics_schedule_latency_histogram();
        /// Without effect: the buckets are liten's own.
        #[cfg(feature = "schedule-latency")]
        metrics_schedule_latency_histogram_configuration(_configuration: HistogramConfiguration);
        /// Without effect: liten's queue for blocking work is one.
        enable_sharded_blocking_queue();
        /// Without effect: liten's timers are its own.
        #[cfg(all(feature = "time", feature = "rt-multi-thread"))]
        enable_alt_timer();
        /// Without effect: liten's driver changes hands by its own rules.
        #[cfg(feature = "rt-multi-thread")]
        enable_eager_driver_handoff();
    }
}
