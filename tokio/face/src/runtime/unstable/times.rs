//! How long polls take, and how long tasks are ready before them, in the buckets that the builder was told.
//! tokio's files say what the buckets are.

use crate::runtime::metrics::batch::duration_as_u64;
use crate::runtime::metrics::histogram::{Histogram, HistogramBatch, HistogramBuilder};
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

thread_local! {
    /// When the poll began that this thread is in.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// A histogram for each worker.
pub(crate) struct Times {
    buckets: HistogramBuilder,
    /// Set when it is known how many workers there are.
    workers: OnceLock<Box<[Worker]>>,
}

struct Worker {
    counted: Mutex<HistogramBatch>,
    /// What is read: it has the numbers of `counted` since the last look.
    shown: Histogram,
}

impl Times {
    pub(super) fn new(buckets: HistogramBuilder) -> Self {
        Self { buckets, workers: OnceLock::new() }
    }

    pub(super) fn set_workers(&self, count: usize) {
        let worker = |_| {
            let shown = self.buckets.build();
            Worker { counted: Mutex::new(HistogramBatch::from_histogram(&shown)), shown }
        };
        _ = self.workers.set((0..count).map(worker).collect());
    }

    /// Before a poll, on its thread.
    pub(super) fn begin() {
        BEGAN.set(Some(Instant::now()));
    }

    /// After a poll, on its thread.
    pub(super) fn end(&self) {
        if let Some(began) = BEGAN.take() {
            self.count(began.elapsed());
        }
    }

    /// Counts a time for the worker that this thread is. A spare worker's counts for one of the others.
    pub(super) fn count(&self, time: Duration) {
        let Some(workers) = self.workers.get() else { return };
        let worker = liten::runtime::worker_index().unwrap_or(0) % workers.len();
        lock(&workers[worker]).measure(duration_as_u64(time), 1);
    }

    /// The histogram of a worker, with all that was counted.
    pub(crate) fn of(&self, worker: usize) -> &Histogram {
        let workers = self.workers.get().expect("set when the runtime is built");
        lock(&workers[worker]).submit(&workers[worker].shown);
        &workers[worker].shown
    }
}

fn lock(worker: &Worker) -> MutexGuard<'_, HistogramBatch> {
    worker.counted.lock().unwrap_or_else(PoisonError::into_inner)
}
