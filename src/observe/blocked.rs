//! Polls that block a worker while no regular worker is free, and tasks wait or there are spares.

use crate::engine::scheduler::Shared;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::task::RunningTask;
use crate::engine::wakers;
use std::time::Duration;

pub(super) struct BlockedPolls {
    count: AtomicU64,
}

impl BlockedPolls {
    pub(super) fn new() -> Self {
        Self { count: AtomicU64::new(0) }
    }

    /// How many there have been.
    pub(super) fn count(&self) -> u64 {
        // Ordering: Relaxed, a statistic.
        self.count.load(Ordering::Relaxed)
    }

    /// `worker` is in such a poll, which has lasted for `time`.
    pub(super) fn tell(
        &self,
        scheduler: &Shared,
        worker: usize,
        task: Option<RunningTask>,
        time: Duration,
    ) {
        // Ordering: Relaxed, a statistic.
        self.count.fetch_add(1, Ordering::Relaxed);
        let most_spares = scheduler.spares_used_up();
        // A collector of warnings is the program's code.
        wakers::guard(|| warn(worker, task, time, most_spares));
    }
}

/// Warns the collector of the crate tracing of a worker that is blocked. Without that crate there is no
/// warning; `RuntimeMetrics::blocked_poll_count` counts.
///
/// `worker` has been in one poll for `time`, and no other worker is free. `task`: whose poll it is; none
/// if the worker is in a waker. `most_spares`: how many spare workers there may be, if there are as many.
#[cfg(feature = "tracing")]
fn warn(worker: usize, task: Option<RunningTask>, time: Duration, most_spares: Option<usize>) {
    let variable = crate::engine::scheduler::SPARES_VARIABLE;
    let limit = most_spares.map_or_else(String::new, |most| {
        format!("; at most {most} spare workers may run: see max_spare_workers and {variable}")
    });
    tracing::warn!(
        target: "liten::blocked",
        worker,
        task.id = task.map(|task| display(task.id())),
        task.spawned_at = task.map(|task| display(task.spawned_at())),
        blocked_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        "a task blocks its worker and no other worker is free; use spawn_blocking, or yield more \
         often{limit}",
    );
}

#[cfg(not(feature = "tracing"))]
fn warn(_: usize, _: Option<RunningTask>, _: Duration, _: Option<usize>) {}
