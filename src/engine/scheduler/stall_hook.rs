//! What the watchdog tells the runtime of polls that last.

use crate::engine::task::RunningTask;
use std::time::Duration;

/// A worker that has been in one poll for long, as the watchdog sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerStall {
    pub(crate) worker: usize,
    /// The system's number of the worker's thread, where there is one.
    pub(crate) thread: Option<u32>,
    /// Which of the worker's polls it is.
    pub(crate) poll: u64,
    /// `None`: the worker is not in a poll, but in a waker or a hook; or it has moved on.
    pub(crate) task: Option<RunningTask>,
    /// How long it has been there at least.
    pub(crate) time: Duration,
}

/// What the runtime does about slow polls.
pub(crate) trait StallHook: Send + Sync {
    /// How long a poll lasts that is slow.
    fn slow_after(&self) -> Duration;

    /// Called twice for a slow poll, on the driver thread: after half of the time, and after all of it.
    fn stalled(&self, stall: WorkerStall);
}
