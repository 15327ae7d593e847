//! The sleeps of a thread that runs tasks: how many there were, how long it was busy in between, and what the
//! user wants to be called around them.
//!
//! The clock is read twice per sleep, beside the system call that the sleep is, and at a worker's fair turns,
//! which read it anyway. Rejected: to read it around each poll. What a reading costs is in policy.rs.

use super::count::{Count, WorkerCounts};
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::wakers;
use std::time::{Duration, Instant};

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
        let busy = now.saturating_duration_since(since);
        // In 64 bits, which last for 584 years.
        let busy = busy.as_secs() * 1_000_000_000 + u64::from(busy.subsec_nanos());
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

/// What the user wants to be called around each sleep.
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
