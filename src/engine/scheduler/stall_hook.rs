//! What the watchdog tells the runtime of polls that last.

use crate::engine::task::RunningTask;
use std::sync::Arc;
use std::time::Duration;

/// A worker that has been in one poll for long, as the watchdog sees it.
#[derive(Clone, Copy)]
pub(crate) struct WorkerStall<'a> {
    pub(crate) worker: usize,
    /// The system's number of the worker's thread, where there is one.
    pub(crate) thread: Option<u32>,
    /// Another number in each poll of the worker, and after it.
    pub(crate) position: u64,
    /// `None`: the worker is not in a poll, but in a waker or a hook.
    pub(crate) task: Option<RunningTask>,
    /// How long it has been there at least.
    pub(crate) time: Duration,
    /// Whether the worker has moved since.
    pub(crate) is_over: &'a dyn Fn() -> bool,
    /// Looks for the task's name: see `Shared::task_name`.
    pub(crate) name: &'a dyn Fn() -> Option<Arc<str>>,
}

/// What the runtime does about slow polls.
pub(crate) trait StallHook: Send + Sync {
    /// How long a poll lasts that is slow.
    fn slow_after(&self) -> Duration;

    /// Called twice for a slow poll, on the driver thread: after half of the time, and after all of it.
    fn stalled(&self, stall: WorkerStall<'_>);

    /// Called on the driver thread when the poll that was told of last of this worker, after all of the time,
    /// is over: it has lasted for `time` at least. Before the next one of the worker is told of.
    fn ended(&self, worker: usize, time: Duration);
}
