//! The warning of a worker that is blocked while no other is free, to the collector of the crate tracing.
//! Without that crate there is none; `RuntimeMetrics::blocked_poll_count` counts.

use crate::engine::task::RunningTask;
use std::time::Duration;

/// `worker` has been in one poll for `time`, and no other worker is free. `task`: whose poll it is; none
/// if the worker is in a waker. `most_spares`: how many spare workers there may be, if there are as many.
#[cfg(feature = "tracing")]
pub(super) fn blocked(
    worker: usize,
    task: Option<RunningTask>,
    time: Duration,
    most_spares: Option<usize>,
) {
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
pub(super) fn blocked(_: usize, _: Option<RunningTask>, _: Duration, _: Option<usize>) {}
