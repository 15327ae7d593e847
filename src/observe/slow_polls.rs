//! Polls that hold up their worker for long, and what is reported of them.
//!
//! Such a poll is told of twice (long_polls.rs): after half of the time, when what the worker's thread has
//! used of the processor is noted, and after all of it. The difference says whether the
//! thread computes or waits for a processor, which one look cannot tell apart. When the poll is over, that is
//! told as well, and the last such polls are kept (slow_polls/record.rs).

mod event;
mod record;

use super::incidents::Incidents;
use super::slow_poll::SlowPoll;
use super::thread_activity::{self, ThreadActivity, ThreadUse};
use crate::engine::scheduler::WorkerEntry;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, clock};
use crate::engine::wakers;
use record::Record;
pub(crate) use record::{KEPT, KeptPoll};
use std::time::Duration;

/// What a user wants to be called.
pub(crate) type OnSlowPoll = Arc<dyn Fn(&SlowPoll) + Send + Sync>;

pub(crate) struct SlowPolls {
    after: Duration,
    /// How many polls were slow.
    count: AtomicU64,
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

/// A worker that is in one poll for long.
pub(super) struct LongPoll<'a> {
    pub(super) worker: usize,
    pub(super) entry: &'a WorkerEntry,
    /// Whether the worker has moved since.
    pub(super) is_over: &'a dyn Fn() -> bool,
    /// Looks for the task's name: see `Shared::task_name`.
    pub(super) name: &'a dyn Fn() -> Option<std::sync::Arc<str>>,
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
    pub(crate) fn new(after: Duration, told: Option<OnSlowPoll>) -> Self {
        Self {
            after,
            count: AtomicU64::new(0),
            told: Mutex::new(told),
            incidents: Incidents::new(),
            halves: Mutex::new(Halves::default()),
            record: Mutex::new(Record::new()),
        }
    }

    /// The listeners of the runtime.
    pub(crate) fn incidents(&self) -> &Arc<Incidents> {
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

    /// How many polls were slow.
    pub(crate) fn count(&self) -> u64 {
        // Ordering: Relaxed, a statistic.
        self.count.load(Ordering::Relaxed)
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
    pub(crate) fn close(&self) {
        let told = self.told.lock().take();
        // Without the lock: what the function owns is dropped here, or where it is being called.
        wakers::guard(|| drop(told));
    }
}

/// What the watchdog's looks have shown, on its thread.
impl SlowPolls {
    /// A poll has lasted for half of the time.
    pub(super) fn half_slow(&self, worker: usize, entry: &WorkerEntry) {
        if let Some(used) = entry.thread.and_then(thread_activity::used) {
            self.halves.lock().keep(Half { worker, position: entry.position, used });
        }
    }

    /// A poll has lasted for all of the time, and for `duration` at least.
    pub(super) fn slow(&self, poll: LongPoll<'_>, duration: Duration) {
        // Ordering: Relaxed, a statistic.
        self.count.fetch_add(1, Ordering::Relaxed);
        let LongPoll { worker, entry, is_over, name } = poll;
        let (position, task) = (entry.position, entry.task);
        let told = self.told.lock().clone();
        let is_wanted = self.incidents.want_slow_poll() || told.is_some() || event::is_told();
        let (activity, name) = if is_wanted || self.record.lock().may_look(clock::now()) {
            // First the thread: the poll may end while the name is looked for.
            (self.activity(worker, position, entry.thread, is_over), name())
        } else {
            (None, None)
        };
        let activity = activity.unwrap_or(ThreadActivity::Unknown);
        let slow = SlowPoll { worker, task, name, duration, activity };
        self.record.lock().keep(slow.clone(), position);
        if !is_wanted {
            return;
        }
        // First: the others are the program's code, and may take their time.
        self.incidents.slow_poll(&slow);
        event::tell(&slow);
        told.iter().for_each(|told| told(&slow));
    }

    /// The slow poll of `worker` that was told of last is over: it has lasted for `time` at least.
    pub(super) fn ended(&self, worker: usize, time: Duration) {
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
        let entry = WorkerEntry {
            position: 7,
            polls: 3,
            task: None,
            thread: Some(thread),
            has_thread: true,
            rests: false,
            is_parked: false,
            is_blocked_in_place: false,
        };
        let poll = LongPoll { worker: 3, entry: &entry, is_over: &|| is_over, name: &|| None };
        SlowPolls::new(100 * MS, Some(tells)).slow(poll, 100 * MS);
        told.recv().unwrap()
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn what_a_thread_does_after_the_poll_is_not_said_of_the_poll() {
        assert_ne!(*told(false).activity(), ThreadActivity::Unknown);
        assert_eq!(*told(true).activity(), ThreadActivity::Unknown);
    }
}
