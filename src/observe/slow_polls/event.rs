//! The warning of a slow poll to the collector of the crate tracing. Without that crate there is none;
//! `RuntimeMetrics::slow_poll_count` counts.

use crate::observe::SlowPoll;

/// Whether there may be a collector.
#[cfg(feature = "tracing")]
pub(super) fn is_told() -> bool {
    tracing::enabled!(target: "liten::slow", tracing::Level::WARN)
}

#[cfg(feature = "tracing")]
pub(super) fn tell(slow: &SlowPoll) {
    let task = slow.task();
    tracing::warn!(
        target: "liten::slow",
        worker = slow.worker(),
        task.id = task.map(|task| display(task.id())),
        task.name = slow.task_name(),
        task.spawned_at = task.map(|task| display(task.spawned_at())),
        slow_ms = u64::try_from(slow.duration().as_millis()).unwrap_or(u64::MAX),
        activity = %slow.activity(),
        "a poll holds up its worker; use spawn_blocking, or yield more often",
    );
}

#[cfg(not(feature = "tracing"))]
pub(super) fn is_told() -> bool {
    false
}

#[cfg(not(feature = "tracing"))]
pub(super) fn tell(_: &SlowPoll) {}
