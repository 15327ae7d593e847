//! Polls that hold up their worker for long, and what is reported of them.
//!
//! The watchdog reports such a poll twice (watchdog/decision.rs): after half of the time, when what the
//! worker's thread has used of the processor is noted, and after all of it. The difference says whether the
//! thread computes or waits for a processor, which one look cannot tell apart. When the poll is over, it
//! reports that as well, and the last such polls are kept (record.rs).

mod event;
mod record;

use super::incidents::Incidents;
use super::slow_poll::SlowPoll;
use super::thread_activity::{self, ThreadActivity, ThreadUse};
use crate::engine::scheduler::{StallHook, WorkerStall};
use crate::engine::sync_shim::{Arc, Mutex, clock};
use crate::engine::wakers;
pub(crate) use record::KeptPoll;
use record::Record;
use std::time::Duration;

/// What a user wants to be called.
pub(super) type OnSlowPoll = Arc<dyn Fn(&SlowPoll) + Send + Sync>;

pub(crate) struct SlowPolls {
    after: Duration,
    /// `None` also when the runtime has begun to end: the function may own a handle, which owns this.
    told: Mutex<Option<OnSlowPoll>>,
    incidents: Arc<Incidents>,
    halves: Mutex<Halves>,
    record: Mutex<Record>,
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
    position: u64,
    used: ThreadUse,
}

impl Halves {
    fn keep(&mut self, half: Half) {
        self.kept[self.next % self.kept.len()] = Some(half);
        self.next = self.next.wrapping_add(1);
    }

    fn find(&self, worker: usize, position: u64) -> Option<ThreadUse> {
        let mut kept = self.kept.iter().flatten();
        kept.find(|half| (half.worker, half.position) == (worker, position)).map(|half| half.used)
    }
}

impl SlowPolls {
    pub(super) fn new(after: Duration, told: Option<OnSlowPoll>) -> Self {
        Self {
            after,
            told: Mutex::new(told),
            incidents: Incidents::new(),
            halves: Mutex::new(Halves::default()),
            record: Mutex::new(Record::new()),
        }
    }

    /// The listeners of the runtime.
    pub(super) fn incidents(&self) -> &Arc<Incidents> {
        &self.incidents
    }

    /// What `thread` does, on which a worker is at this position. `None` if that `is_over`: what was seen may
    /// belong to something else.
    pub(crate) fn activity(
        &self,
        worker: usize,
        position: u64,
        thread: Option<u32>,
        is_over: impl Fn() -> bool,
    ) -> Option<ThreadActivity> {
        let half = self.halves.lock().find(worker, position);
        let activity =
            thread.map_or(ThreadActivity::Unknown, |thread| thread_activity::look(thread, half));
        (!is_over()).then_some(activity)
    }

    /// The last slow polls.
    pub(crate) fn kept(&self) -> Vec<KeptPoll> {
        self.record.lock().kept()
    }

    /// How long a poll lasts that is slow.
    pub(crate) fn after(&self) -> Duration {
        self.after
    }

    /// The runtime begins to end: from here on the function is not called.
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

    fn stalled(&self, stall: WorkerStall<'_>) {
        let WorkerStall { worker, thread, position, task, time, .. } = stall;
        if time < self.after {
            if let Some(used) = thread.and_then(thread_activity::used) {
                self.halves.lock().keep(Half { worker, position, used });
            }
            return;
        }
        let told = self.told.lock().clone();
        let is_wanted = self.incidents.want_slow_poll() || told.is_some() || event::is_told();
        let (activity, name) = if is_wanted || self.record.lock().may_look(clock::now()) {
            // First the thread: the poll may end while the name is looked for.
            (self.activity(worker, position, thread, stall.is_over), (stall.name)())
        } else {
            (None, None)
        };
        let activity = activity.unwrap_or(ThreadActivity::Unknown);
        let slow = SlowPoll { worker, task, name, duration: time, activity };
        self.record.lock().keep(slow.clone(), position);
        if !is_wanted {
            return;
        }
        // First: the others are the program's code, and may take their time.
        self.incidents.slow_poll(&slow);
        event::tell(&slow);
        told.iter().for_each(|told| told(&slow));
    }

    fn ended(&self, worker: usize, time: Duration) {
        self.record.lock().end(worker, time, clock::now());
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use std::time::Instant;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn of_very_many_long_polls_the_last_ones_are_known() {
        let mut halves = Halves::default();
        let used = ThreadUse { at: Instant::now(), processor: MS, queue: MS };
        for worker in 0..100 {
            halves.keep(Half { worker, position: 7, used });
            assert!(halves.find(worker, 7).is_some());
        }
        assert!(halves.find(99, 6).is_none(), "another poll");
        assert!(halves.find(83, 7).is_none());
        assert!((84..100).all(|worker| halves.find(worker, 7).is_some()));
    }

    /// What is told of this thread, if its poll is over after the look or not.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn told(is_over: bool) -> SlowPoll {
        let (sender, told) = std::sync::mpsc::channel();
        let tells: OnSlowPoll = Arc::new(move |slow: &SlowPoll| drop(sender.send(slow.clone())));
        let thread = u32::try_from(nix::unistd::gettid().as_raw()).unwrap();
        SlowPolls::new(100 * MS, Some(tells)).stalled(WorkerStall {
            worker: 3,
            thread: Some(thread),
            position: 7,
            task: None,
            time: 100 * MS,
            is_over: &|| is_over,
            name: &|| None,
        });
        told.recv().unwrap()
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn what_a_thread_does_after_the_poll_is_not_said_of_the_poll() {
        assert_ne!(*told(false).activity(), ThreadActivity::Unknown);
        assert_eq!(*told(true).activity(), ThreadActivity::Unknown);
    }
}
