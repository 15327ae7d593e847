//! Polls that hold up their worker for long, and what is told of them.
//!
//! The watchdog tells twice of such a poll (watchdog/decision.rs): after half of the time, when what the
//! worker's thread has used of the processor is noted, and after all of it. The difference says whether the
//! thread computes or waits for a processor, which one look cannot tell apart.

#[cfg_attr(feature = "tracing", path = "slow_poll/traced.rs")]
#[cfg_attr(not(feature = "tracing"), path = "slow_poll/untraced.rs")]
mod event;

use super::thread_activity::{self, ThreadActivity, ThreadUse};
use crate::engine::scheduler::{StallHook, WorkerEntry, WorkerStall};
use crate::engine::sync_shim::{Arc, Mutex};
use crate::engine::task::RunningTask;
use crate::engine::wakers;
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

    /// Returns what the worker's thread does. One that runs has been watched since half of the threshold.
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
    /// `None` also when the runtime has begun to end: the function may own a handle, which owns this.
    told: Mutex<Option<OnSlowPoll>>,
    halves: Mutex<Halves>,
}

/// The last polls that have lasted for half of the time. More than these are forgotten, and it is not known
/// then whether their threads compute or wait: the driver thread, which notes them, must not begin to
/// allocate.
#[derive(Debug, Default)]
struct Halves {
    kept: [Option<Half>; 16],
    next: usize,
}

/// What the thread of a worker had used when its poll had lasted for half of the time.
#[derive(Debug, Clone, Copy)]
struct Half {
    worker: usize,
    /// Which poll of the worker it was.
    poll: u64,
    used: ThreadUse,
}

impl Halves {
    fn keep(&mut self, half: Half) {
        self.kept[self.next % self.kept.len()] = Some(half);
        self.next = self.next.wrapping_add(1);
    }

    fn find(&self, worker: usize, poll: u64) -> Option<ThreadUse> {
        let mut kept = self.kept.iter().flatten();
        kept.find(|half| (half.worker, half.poll) == (worker, poll)).map(|half| half.used)
    }
}

impl SlowPolls {
    pub(super) fn new(after: Duration, told: Option<OnSlowPoll>) -> Self {
        Self { after, told: Mutex::new(told), halves: Mutex::new(Halves::default()) }
    }

    /// What the thread of a worker does.
    fn activity(&self, worker: usize, poll: u64, thread: Option<u32>) -> ThreadActivity {
        let Some(thread) = thread else {
            return ThreadActivity::Unknown;
        };
        let half = self.halves.lock().find(worker, poll);
        thread_activity::look(thread, half)
    }

    /// How long a poll lasts that is slow.
    pub(super) fn after(&self) -> Duration {
        self.after
    }

    /// As of what the scheduler has said of a worker.
    pub(super) fn activity_of(&self, worker: usize, entry: &WorkerEntry) -> ThreadActivity {
        self.activity(worker, entry.poll, entry.thread)
    }

    /// The runtime begins to end: from here on no poll is slow.
    pub(super) fn close(&self) {
        let told = self.told.lock().take();
        // Without the lock: what the function owns is dropped here, or where it is being called.
        wakers::guard(|| drop(told));
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
                self.halves.lock().keep(Half { worker, poll, used });
            }
            return;
        }
        let told = self.told.lock().clone();
        if told.is_none() && !event::is_told() {
            return;
        }
        let activity = self.activity(worker, poll, thread);
        let slow = SlowPoll { worker, task, duration: time, activity };
        event::tell(worker, task, time, &slow.activity);
        told.iter().for_each(|told| told(&slow));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn of_very_many_long_polls_the_last_ones_are_known() {
        let mut halves = Halves::default();
        let ms = Duration::from_millis(1);
        let used = ThreadUse { at: Instant::now(), processor: ms, queue: ms };
        for worker in 0..100 {
            halves.keep(Half { worker, poll: 7, used });
            assert!(halves.find(worker, 7).is_some());
        }
        assert!(halves.find(99, 6).is_none(), "another poll");
        assert!(halves.find(83, 7).is_none());
        assert!((84..100).all(|worker| halves.find(worker, 7).is_some()));
    }
}
