//! Counts that many threads read, among them those of a thread's sleeps.
//!
//! This is how a number of a worker gets to the page and to `/metrics`. The worker changes a [`Count`] of its
//! slot (`Stats` in slots.rs). `Shared::worker_counts` reads it into [`WorkerCounts`], and
//! `RuntimeMetrics::counts` (runtime/metrics.rs) passes that on: to the public getters beside it, and to the
//! picture that insight makes once for all its readers (insight/server/picture.rs). From there it is written
//! for programs (insight/prometheus.rs, insight/json.rs) and for people (insight/page/page.js).
//!
//! The clock is read twice per sleep, beside the system call that the sleep is, and at a worker's fair turns,
//! which read it anyway. Rejected: to read it around each poll. What a reading costs is in policy.rs.

use crate::engine::nanos::nanos;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::wakers;
use crossbeam_utils::CachePadded;
use std::time::{Duration, Instant};

/// A number that one thread changes and others read.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        // Ordering: Release pairs with `get`'s Acquire: a thread that sees the number sees what was done
        // before it was counted. A load and a store and no RMW: there is one writer at a time. Writers hand
        // over through a lock or a thread's start.
        self.0.store(self.0.load(Ordering::Relaxed) + n, Ordering::Release);
    }

    pub(crate) fn get(&self) -> u64 {
        // Ordering: Acquire, see `add`.
        self.0.load(Ordering::Acquire)
    }
}

/// Counts of a worker since the runtime began.
#[derive(Debug, Default)]
pub(crate) struct WorkerCounts {
    pub(crate) polls: u64,
    /// Tasks, not attempts: a batch counts as many as there were in it.
    pub(crate) stolen: u64,
    /// Tasks taken from the injector.
    pub(crate) injected: u64,
    /// How many sleeps have begun.
    pub(crate) parks: u64,
    /// Odd while the worker sleeps.
    pub(crate) parks_unparks: u64,
    pub(crate) busy: Duration,
}

/// Whether other threads are still counted after one was counted out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the last one has to see to the rest"]
pub(super) enum Remaining {
    None,
    Some,
}

impl Remaining {
    /// There were `before` with the one that was counted out.
    pub(super) fn of_before(before: u64) -> Self {
        if before == 1 { Self::None } else { Self::Some }
    }
}

/// Tasks spawned on threads without a slot of their own, and tasks that any thread has ended by
/// `Shared::cancel_noted`: it may be a worker.
pub(super) struct ForeignTasks {
    pub(super) spawned: CachePadded<AtomicU64>,
    pub(super) completed: CachePadded<AtomicU64>,
}

impl ForeignTasks {
    pub(super) fn new() -> Self {
        let count = || CachePadded::new(AtomicU64::new(0));
        Self { spawned: count(), completed: count() }
    }
}

/// Counts that only the thread itself changes.
#[derive(Default)]
pub(crate) struct Sleeps {
    /// Each sleep counts twice, when it begins and when it ends: an odd number says that the thread sleeps.
    parks_unparks: Count,
    /// In nanoseconds.
    busy: Count,
}

impl Sleeps {
    /// The thread has been busy since the first moment. Returns for how many nanoseconds.
    #[inline]
    pub(crate) fn was_busy(&self, since: Instant, now: Instant) -> u64 {
        let busy = nanos(now.saturating_duration_since(since));
        self.busy.add(busy);
        busy
    }

    /// As [`Sleeps::was_busy`], and the thread goes to sleep.
    pub(crate) fn begin(&self, busy_since: Instant, now: Instant) -> u64 {
        self.parks_unparks.add(1);
        self.was_busy(busy_since, now)
    }

    /// The thread has slept; returns when that ended.
    pub(crate) fn end(&self) -> Instant {
        self.parks_unparks.add(1);
        clock::now()
    }

    /// How many sleeps have begun.
    pub(crate) fn count(&self) -> u64 {
        self.parks_unparks.get().div_ceil(2)
    }

    /// The sleeps, and the time in between.
    pub(crate) fn counts(&self) -> WorkerCounts {
        let parks_unparks = self.parks_unparks.get();
        WorkerCounts {
            parks: parks_unparks.div_ceil(2),
            parks_unparks,
            busy: Duration::from_nanos(self.busy.get()),
            ..WorkerCounts::default()
        }
    }
}

/// The user's functions to be called around each sleep.
#[derive(Clone, Default)]
pub(crate) struct SleepHooks {
    pub(crate) park: Option<Arc<dyn Fn() + Send + Sync>>,
    pub(crate) unpark: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl SleepHooks {
    pub(crate) fn are_none(&self) -> bool {
        self.park.is_none() && self.unpark.is_none()
    }

    pub(crate) fn before(&self) {
        self.park.iter().for_each(|park| wakers::guard(|| park()));
    }

    pub(crate) fn after(&self) {
        self.unpark.iter().for_each(|unpark| wakers::guard(|| unpark()));
    }
}
