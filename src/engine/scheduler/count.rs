//! Counts that many threads read.

use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use std::time::Duration;

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

/// What a worker has done since the runtime began.
#[derive(Debug, Default)]
pub(crate) struct WorkerCounts {
    pub(crate) polls: u64,
    pub(crate) stolen: u64,
    pub(crate) injected: u64,
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
