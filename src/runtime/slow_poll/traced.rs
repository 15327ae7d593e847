//! A warning to the collector of the crate tracing.

use crate::engine::task::RunningTask;
use crate::runtime::thread_activity::ThreadActivity;
use std::time::Duration;

/// Whether there may be a collector.
pub(super) fn is_told() -> bool {
    tracing::enabled!(target: "liten::slow", tracing::Level::WARN)
}

/// `worker` has been in the poll of `task` for so long.
pub(super) fn tell(
    worker: usize,
    task: Option<RunningTask>,
    time: Duration,
    activity: &ThreadActivity,
) {
    tracing::warn!(
        target: "liten::slow",
        worker,
        task.id = task.map(|task| display(task.id())),
        task.spawned_at = task.map(|task| display(task.spawned_at())),
        slow_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        activity = %activity,
        "a poll holds up its worker; use spawn_blocking, or yield more often",
    );
}
