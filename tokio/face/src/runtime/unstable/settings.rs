//! The builder's part, and the settings that have no effect.

use super::extras::{Extras, Tracking};
use super::fate::Fate;
use super::random::Seeds;
use super::times::Times;
use super::{RngSeed, TaskMeta, UnhandledPanic};
use crate::runtime::metrics::batch::duration_as_u64;
use crate::runtime::metrics::histogram::{HistogramBuilder, HistogramConfiguration, HistogramScale};
use crate::runtime::{Builder, RuntimeFlavor};
use crate::LITEN;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

pub(super) type Hook = Arc<dyn Fn(&TaskMeta<'_>) + Send + Sync>;

/// What the builder was told.
#[derive(Clone, Default)]
pub(in crate::runtime) struct Settings {
    on_spawn: Option<Hook>,
    before_poll: Option<Hook>,
    after_poll: Option<Hook>,
    times_polls: bool,
    poll_buckets: HistogramBuilder,
    tracks_waits: bool,
    times_waits: bool,
    wait_buckets: HistogramBuilder,
    ends_by_panic: bool,
    seed: Option<RngSeed>,
    ends_timers: bool,
}

impl Settings {
    /// Hands liten's builder the functions that it calls for each task.
    pub(in crate::runtime) fn prepare(&self, builder: &mut liten::runtime::Builder) -> Arc<Extras> {
        let extras = Arc::new(Extras {
            spawned: Default::default(),
            forced_yields: Default::default(),
            threads: Default::default(),
            highest: Default::default(),
            polls: self.times_polls.then(|| Times::new(self.poll_buckets.clone())),
            tracking: self.tracks_waits.then(|| Tracking {
                before_poll: self.before_poll.clone(),
                after_poll: self.after_poll.clone(),
                times: self.times_waits.then(|| Times::new(self.wait_buckets.clone())),
            }),
            fate: self.ends_by_panic.then(Fate::of_runtime),
            seeds: self.seed.clone().map(Seeds::new),
            ends_timers: self.ends_timers,
            is_over: Default::default(),
        });
        let (counted, hook) = (extras.clone(), self.on_spawn.clone());
        builder.on_task_spawn(move |task| {
            // Ordering: Relaxed, a number that nothing else hangs on.
            counted.spawned.fetch_add(1, Ordering::Relaxed);
            hook.iter().for_each(|hook| hook(&TaskMeta::of(task)));
        });
        // Where waits are tracked, what the task is wrapped in knows how long it has waited, and calls them.
        let of_task = |hook: &Option<Hook>| if self.tracks_waits { None } else { hook.clone() };
        let (before, after) = (of_task(&self.before_poll), of_task(&self.after_poll));
        let times = extras.polls.is_some();
        if times || before.is_some() {
            builder.on_before_task_poll(move |task| {
                before.iter().for_each(|hook| hook(&TaskMeta::of(task)));
                if times {
                    Times::begin();
                }
            });
        }
        if times || after.is_some() {
            let timed = extras.clone();
            builder.on_after_task_poll(move |task| {
                timed.polls.iter().for_each(Times::end);
                after.iter().for_each(|hook| hook(&TaskMeta::of(task)));
            });
        }
        extras
    }
}

/// Settings that have no effect.
macro_rules! without_effect {
    ($(
        $(#[$attribute:meta])*
        $name:ident();
    )*) => {$(
        $(#[$attribute])*
        pub fn $name(&mut self) -> &mut Self {
            self
        }
    )*};
}

/// Settings that this package heeds itself.
macro_rules! set {
    ($(
        $(#[$attribute:meta])*
        $name:ident($($argument:ident: $type:ty),*) => |$settings:ident| $set:expr;
    )*) => {$(
        $(#[$attribute])*
        pub fn $name(&mut self $(, $argument: $type)*) -> &mut Self {
            let $settings = &mut self.unstable;
            $set;
            self
        }
    )*};
}

#[allow(deprecated)]
impl Builder {
    /// Calls `f` for each task that is spawned, before it can run.
    pub fn on_task_spawn(&mut self, f: impl Fn(&TaskMeta<'_>) + Send + Sync + 'static) -> &mut Self {
        self.unstable.on_spawn = Some(Arc::new(f));
        self
    }

    /// Calls `f` before each poll of a task.
    pub fn on_before_task_poll(
        &mut self,
        f: impl Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    ) -> &mut Self {
        self.unstable.before_poll = Some(Arc::new(f));
        self
    }

    /// Calls `f` after each poll of a task.
    pub fn on_after_task_poll(
        &mut self,
        f: impl Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    ) -> &mut Self {
        self.unstable.after_poll = Some(Arc::new(f));
        self
    }

    /// Calls `f` for each task that has ended.
    pub fn on_task_terminate(
        &mut self,
        f: impl Fn(&TaskMeta<'_>) + Send + Sync + 'static,
    ) -> &mut Self {
        self.inner.on_task_terminate(move |task| f(&TaskMeta::of(task)));
        self
    }

    /// Chooses what happens when a task panics.
    ///
    /// # Panics
    ///
    /// Panics if a runtime with workers is to end then.
    #[track_caller]
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        let ends = matches!(behavior, UnhandledPanic::ShutdownRuntime);
        assert!(
            !ends || self.flavor == RuntimeFlavor::CurrentThread,
            "UnhandledPanic::ShutdownRuntime is only supported in current thread runtime ({LITEN})"
        );
        self.unstable.ends_by_panic = ends;
        self
    }

    /// Allows timers. They are liten's own, but as with tokio's others of this name, a `Sleep` is ready when
    /// its runtime has ended, and does not panic.
    #[cfg(all(feature = "time", feature = "rt-multi-thread"))]
    pub fn enable_alt_timer(&mut self) -> &mut Self {
        self.unstable.ends_timers = true;
        self.enable_time()
    }

    set! {
        /// Sets the seed of the choices at random that a thread makes in `block_on`.
        rng_seed(seed: RngSeed) => |settings| settings.seed = Some(seed);
        /// Counts the times of polls.
        enable_metrics_poll_time_histogram() => |settings| settings.times_polls = true;
        /// Counts the times of polls.
        #[deprecated = "Renamed to enable_metrics_poll_time_histogram"]
        enable_metrics_poll_count_histogram() => |settings| settings.times_polls = true;
        /// Sets the buckets for times of polls.
        metrics_poll_time_histogram_configuration(configuration: HistogramConfiguration) => |settings| {
            settings.poll_buckets.legacy = None;
            settings.poll_buckets.histogram_type = configuration.inner;
        };
        /// Sets how the buckets for times of polls grow.
        #[deprecated = "Use metrics_poll_time_histogram_configuration"]
        metrics_poll_count_histogram_scale(scale: HistogramScale) => |settings|
            settings.poll_buckets.legacy_mut(|buckets| buckets.scale = scale);
        /// Sets the width of the first bucket for times of polls.
        #[deprecated = "Use metrics_poll_time_histogram_configuration"]
        metrics_poll_count_histogram_resolution(width: Duration) => |settings| {
            let width = duration_as_u64(width);
            assert!(width > 0, "resolution must be greater than zero ({LITEN})");
            settings.poll_buckets.legacy_mut(|buckets| buckets.resolution = width);
        };
        /// Sets the number of buckets for times of polls.
        #[deprecated = "Use metrics_poll_time_histogram_configuration"]
        metrics_poll_count_histogram_buckets(count: usize) => |settings|
            settings.poll_buckets.legacy_mut(|buckets| buckets.num_buckets = count);
        /// Measures how long tasks are ready before they are polled.
        #[cfg(feature = "schedule-latency")]
        track_task_schedule_latency() => |settings| settings.tracks_waits = true;
        /// Measures how long tasks are ready before they are polled, and counts it.
        #[cfg(feature = "schedule-latency")]
        enable_metrics_schedule_latency_histogram() => |settings| {
            settings.tracks_waits = true;
            settings.times_waits = true;
        };
        /// Sets the buckets for the times that tasks wait.
        #[cfg(feature = "schedule-latency")]
        metrics_schedule_latency_histogram_configuration(configuration: HistogramConfiguration) =>
            |settings| settings.wait_buckets.histogram_type = configuration.inner;
    }

    without_effect! {
        /// Without effect: liten's worker has no place of one task that others cannot take from it.
        disable_lifo_slot();
        /// Without effect: liten's queue for blocking work is one.
        enable_sharded_blocking_queue();
        /// Without effect: liten's driver changes hands by its own rules.
        #[cfg(feature = "rt-multi-thread")]
        enable_eager_driver_handoff();
    }
}
