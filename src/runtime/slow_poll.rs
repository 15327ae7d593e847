//! Polls that hold up their worker for long, and what is told of them.
//!
//! The watchdog tells twice of such a poll (watchdog/decision.rs): after half of the time, when what the
//! worker's thread has used of the processor is noted, and after all of it. The difference says whether the
//! thread computes or waits for a processor, which one look cannot tell apart.

#[cfg_attr(feature = "tracing", path = "slow_poll/traced.rs")]
#[cfg_attr(not(feature = "tracing"), path = "slow_poll/untraced.rs")]
mod event;

use super::thread_activity::{self, Span, ThreadActivity, ThreadUse};
use crate::engine::scheduler::{StallHook, WorkerLook, WorkerStall};
use crate::engine::sync_shim::{Arc, Mutex};
use crate::engine::task::RunningTask;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A poll that has held up its worker for long; given to the function of
/// [`Builder::on_slow_poll`](super::Builder::on_slow_poll).
#[derive(Debug, Clone)]
pub struct SlowPoll {
    worker: usize,
    task: Option<RunningTask>,
    duration: Duration,
    activity: ThreadActivity,
}

impl SlowPoll {
    /// Returns the worker's index.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Returns the task whose poll it is. `None` if the worker is in something else, such as a waker that an
    /// event calls, or has just moved on.
    pub fn task(&self) -> Option<RunningTask> {
        self.task
    }

    /// Returns for how long the poll has lasted until now, at least.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Returns what the worker's thread does.
    pub fn activity(&self) -> &ThreadActivity {
        &self.activity
    }
}

impl fmt::Display for SlowPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, duration, activity, .. } = self;
        match self.task {
            Some(task) => write!(f, "{task}, ")?,
            None => f.write_str("something other than a task ")?,
        }
        write!(f, "has held up worker {worker} for {} ms: {activity}", duration.as_millis())
    }
}

/// What a user wants to be called.
pub(super) type OnSlowPoll = Arc<dyn Fn(&SlowPoll) + Send + Sync>;

pub(super) struct SlowPolls {
    after: Duration,
    told: Option<OnSlowPoll>,
    /// By worker: what its thread had used when its last long poll had lasted for half of the time.
    halves: Mutex<BTreeMap<usize, Half>>,
}

#[derive(Debug, Clone, Copy)]
struct Half {
    /// Which poll of the worker it was.
    poll: u64,
    time: Duration,
    used: ThreadUse,
}

impl SlowPolls {
    pub(super) fn new(after: Duration, told: Option<OnSlowPoll>) -> Self {
        Self { after, told, halves: Mutex::new(BTreeMap::new()) }
    }

    /// What the thread of a worker does that has been in a poll for so long.
    fn activity(
        &self,
        worker: usize,
        poll: u64,
        time: Duration,
        thread: Option<u32>,
    ) -> ThreadActivity {
        let Some(thread) = thread else {
            return ThreadActivity::Unknown;
        };
        let half = self.halves.lock().get(&worker).copied().filter(|half| half.poll == poll);
        let span = half.zip(thread_activity::used(thread)).map(|(half, now)| Span {
            used: ThreadUse {
                processor: now.processor.saturating_sub(half.used.processor),
                queue: now.queue.saturating_sub(half.used.queue),
            },
            time: time.saturating_sub(half.time),
        });
        thread_activity::look(thread, span)
    }

    /// How long a poll lasts that is slow.
    pub(super) fn after(&self) -> Duration {
        self.after
    }

    /// As of a look at a worker.
    pub(super) fn activity_of(&self, worker: usize, look: &WorkerLook) -> ThreadActivity {
        self.activity(worker, look.poll, look.time, look.thread)
    }
}

impl StallHook for SlowPolls {
    fn slow_after(&self) -> Duration {
        self.after
    }

    fn stalled(&self, stall: WorkerStall) {
        let WorkerStall { worker, thread, poll, task, time } = stall;
        if time < self.after {
            if let Some(used) = thread.and_then(thread_activity::used) {
                self.halves.lock().insert(worker, Half { poll, time, used });
            }
            return;
        }
        if self.told.is_none() && !event::is_told() {
            return;
        }
        let activity = self.activity(worker, poll, time, thread);
        let slow = SlowPoll { worker, task, duration: time, activity };
        event::tell(&slow);
        self.told.iter().for_each(|told| told(&slow));
    }
}
