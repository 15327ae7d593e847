//! The threads of the scheduler: how they are made, their handles, how many are at work, how far the end of
//! the runtime has come; and how many workers there are and should be, and whether they report their steps.

use super::slots::SleepHooks;
use crate::engine::blocking::AroundThread;
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use crate::engine::sync_shim::thread::{self, JoinHandle};
use crate::engine::sync_shim::{Condvar, Mutex};
use crate::engine::task::current::Running;
use crate::engine::thread_name::ThreadName;
use crossbeam_utils::CachePadded;
use std::io;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The environment variable that sets the default bound of the spares. It is named where the bound is what
/// keeps tasks waiting.
pub(crate) const SPARES_VARIABLE: &str = "LITEN_MAX_SPARE_WORKERS";

/// How threads are made.
#[derive(Debug)]
pub(crate) struct ThreadConfig {
    pub(crate) name: ThreadName,
    pub(crate) stack_size: Option<usize>,
}

/// The settings that it takes to start the driver thread, and a spare worker.
pub(crate) struct ThreadSetup {
    pub(crate) config: ThreadConfig,
    /// Around the life of a worker.
    pub(crate) around: AroundThread,
    /// Around that of the driver thread and of one that drains: in the runtime, because wakers may spawn, but
    /// without the hooks, which are for threads that run tasks.
    pub(crate) inside: AroundThread,
    /// Around each sleep of a worker; `None` if there are no such hooks.
    pub(crate) sleep_hooks: Option<SleepHooks>,
    /// How many spares there may be at a time. Tasks that block one after the other would otherwise get a
    /// thread each, and the answer to that is `spawn_blocking`.
    pub(crate) max_spares: usize,
    /// There may be one more for each worker that blocks in place, as far as there are slots.
    pub(crate) replaces_blocked: bool,
}

/// The threads, and what it takes to start them.
pub(super) struct Threads {
    /// Serialises starting, retiring and joining of threads.
    pub(super) list: Mutex<ThreadList>,
    /// The settings for a new thread. Set once, before the first one starts.
    pub(super) setup: OnceLock<ThreadSetup>,
    /// Threads, the driver thread among them, that are not through with all that is to be done on them.
    pub(super) working: Mutex<usize>,
    /// `working`, or whether the runtime is drained, has changed.
    pub(super) working_changed: Condvar,
}

impl Threads {
    pub(super) fn new() -> Self {
        Self {
            list: Mutex::new(ThreadList::default()),
            setup: OnceLock::new(),
            working: Mutex::new(0),
            working_changed: Condvar::new(),
        }
    }

    /// Returns the functions to be called around each sleep of a worker.
    pub(super) fn sleep_hooks(&self) -> Option<&SleepHooks> {
        self.setup.get()?.sleep_hooks.as_ref()
    }

    /// A thread is about to be started.
    pub(super) fn begins(&self) {
        *self.working.lock() += 1;
    }

    /// It is through with all that is to be done on it, or could not be started.
    pub(super) fn ends(&self) {
        *self.working.lock() -= 1;
        self.working_changed.notify_all();
    }

    /// Waits until `done`, given how many threads are at work. `false`: `deadline` came first.
    pub(super) fn wait_until(
        &self,
        deadline: Option<Instant>,
        done: impl Fn(usize) -> bool,
    ) -> bool {
        let mut working = self.working.lock();
        while !done(*working) {
            match deadline {
                None => self.working_changed.wait(&mut working),
                Some(deadline) => {
                    let late = self.working_changed.wait_until(&mut working, deadline).timed_out();
                    if late && !done(*working) {
                        return false;
                    }
                }
            }
        }
        true
    }
}

#[derive(Default)]
pub(super) struct ThreadList {
    /// By slot; each has one thread, from the first worker there until the runtime ends.
    pub(super) workers: Vec<Option<JoinHandle<()>>>,
    /// Whether the thread of the slot works. If not, it rests, or is missing.
    pub(super) occupied: Vec<bool>,
    pub(super) watchdog: Option<JoinHandle<()>>,
    /// A thread drains the closed runtime.
    pub(super) drains: bool,
    /// That one, and those that have done so before.
    pub(super) drainers: Vec<JoinHandle<()>>,
    /// When the system last had no thread to give for the driver thread, or one that drains.
    pub(super) failed: Option<Instant>,
}

/// How long after a failed start of a thread the next attempt is made. Without a pause each worker that
/// leaves its park would try, and so would each look of the watchdog.
pub(super) const RETRY_AFTER: Duration = Duration::from_millis(100);

impl ThreadList {
    /// One above the highest slot in which a thread works.
    pub(super) fn occupied_slots(&self) -> usize {
        self.occupied.iter().rposition(|&occupied| occupied).map_or(0, |last| last + 1)
    }

    /// Whether another attempt to start a thread would come too early.
    pub(super) fn has_just_failed(&self, now: Instant) -> bool {
        self.failed.is_some_and(|failed| now.saturating_duration_since(failed) < RETRY_AFTER)
    }

    /// All threads but the driver's.
    pub(super) fn take_workers(&mut self) -> impl Iterator<Item = JoinHandle<()>> + use<> {
        std::mem::take(&mut self.workers)
            .into_iter()
            .flatten()
            .chain(std::mem::take(&mut self.drainers))
    }

    /// Whether no thread works in the slot.
    pub(super) fn is_vacant(&self, index: usize) -> bool {
        !self.occupied.get(index).is_some_and(|&occupied| occupied)
    }

    /// Whether the slot has a thread, which may rest.
    pub(super) fn has_thread(&self, index: usize) -> bool {
        self.workers.get(index).is_some_and(Option::is_some)
    }

    /// Makes room for a thread in slot `index`.
    pub(super) fn make_room(&mut self, index: usize) {
        let slots = self.workers.len().max(index + 1);
        self.workers.resize_with(slots, || None);
        self.occupied.resize(slots, false);
    }
}

impl ThreadConfig {
    pub(super) fn spawn(
        &self,
        suffix: &str,
        f: impl FnOnce() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let mut builder = thread::Builder::new().name(self.name.of(&suffix));
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder.spawn(f)
    }
}

/// How far the end of the runtime has come.
pub(super) struct Shutdown {
    closed: AtomicBool,
    /// Held by a thread that moves tasks to the injector for the end; whether one has begun to.
    pub(super) moved_to_injector: Mutex<bool>,
    /// Whose destructor runs on the thread that drains the runtime in the place of the workers.
    pub(super) drainer: Running,
    /// The last worker has drained everything. Set under `Threads::working`.
    drained: AtomicBool,
}

impl Shutdown {
    pub(super) fn new() -> Self {
        Self {
            closed: AtomicBool::new(false),
            moved_to_injector: Mutex::new(false),
            drainer: Running::new(),
            drained: AtomicBool::new(false),
        }
    }

    /// By the thread that closes the runtime, under the lock of the threads. A SeqCst fence follows.
    pub(super) fn close(&self) {
        // Ordering: SeqCst with that fence: close, fence, drain (by the workers); push, fence, look at
        // `closed` (by the others).
        self.closed.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_closed(&self) -> bool {
        // Ordering: Relaxed. Callers that must not miss it have executed a SeqCst fence
        // (`Shared::spawned_outside`), hold the lock of the threads, or have seen that they are surplus.
        self.closed.load(Ordering::Relaxed)
    }

    /// By the thread that has drained everything.
    pub(super) fn set_drained(&self) {
        // Ordering: Release pairs with `is_drained`.
        self.drained.store(true, Ordering::Release);
    }

    /// Whether the runtime is closed and no task is alive any more.
    pub(super) fn is_drained(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `set_drained`.
        self.drained.load(Ordering::Acquire)
    }
}

/// Workers report their steps, and other threads what they do.
const OBSERVED: u32 = 1;
/// Each of these is one wake that a thread which is no worker still follows to its poll.
const FOLLOWED_WAKE: u32 = 2;

/// How many workers there are and should be, what they leave to others, and whether they report.
#[derive(Default)]
pub(super) struct WorkerCount {
    /// How many workers there should be. Written under the lock of the threads.
    regular: AtomicUsize,
    /// Each worker reads it at each step, so it shares no line with what others write.
    staying: CachePadded<Staying>,
    /// Worker threads that work: they have been started or called back, and neither rest nor have ended.
    alive: AtomicUsize,
    /// Workers that block in place.
    blocked_in_place: AtomicUsize,
    /// How many of the regular workers may run tasks that have yielded (brake.rs). Mostly `usize::MAX`.
    computing: AtomicUsize,
    /// The first worker that may run tasks that have yielded, and finds this at a fair turn, takes such a
    /// task before a ready one.
    owes_poll: AtomicBool,
}

/// Which workers stay. Written under the lock of the threads.
#[derive(Default)]
struct Staying {
    /// An `isize`. Workers with an index below its absolute value stay: as `regular`, more if there are
    /// spares, and 0 once the runtime is closed. It is negative while the scheduler is observed, so one
    /// comparison tells a worker that it has nothing to do but to go on.
    count: AtomicUsize,
    /// [`OBSERVED`] and some [`FOLLOWED_WAKE`]: see probe.rs.
    reports: AtomicU32,
}

impl WorkerCount {
    pub(super) fn new() -> Self {
        Self { computing: AtomicUsize::new(usize::MAX), ..Self::default() }
    }

    /// Says that a worker is to poll a task that has yielded, in spite of the brake. For the watchdog.
    pub(super) fn owe_poll(&self) {
        // Ordering: Relaxed, one word that decides nothing but the order of tasks; the watchdog asks again.
        self.owes_poll.store(true, Ordering::Relaxed);
    }

    /// Whether the poll that [`WorkerCount::owe_poll`] has promised is still owed.
    pub(super) fn owes_poll(&self) -> bool {
        // Ordering: Relaxed, as in `owe_poll`.
        self.owes_poll.load(Ordering::Relaxed)
    }

    /// The poll that was owed is made. For the worker that takes a task for it.
    pub(super) fn paid(&self) {
        if self.owes_poll() {
            // Ordering: Relaxed, as in `owe_poll`. Two workers that make it at the same time do no harm.
            self.owes_poll.store(false, Ordering::Relaxed);
        }
    }

    /// Says how many of the regular workers may run tasks that have yielded. For the watchdog, which executes
    /// a SeqCst fence and looks whether such a task waits, if the number has grown.
    pub(super) fn set_computing(&self, count: usize) {
        // Ordering: Relaxed, see `first_to_leave_yielded`.
        self.computing.store(count, Ordering::Relaxed);
    }

    /// The workers that run tasks that have yielded have indices below this one. As
    /// [`WorkerCount::first_helper`], but for those that the brake keeps from such tasks.
    pub(super) fn first_to_leave_yielded(&self) -> usize {
        // Ordering: Relaxed, like the other two numbers. Callers that must not miss a growth have executed a
        // SeqCst fence, after a push (`Shared::tell`) or after their parked bit (`Worker::sleep`); the
        // watchdog fences between the growth and its look at the queues and at the parked bits.
        let computing = self.computing.load(Ordering::Relaxed);
        // In the place of one that blocks in place computes another, but not while none may.
        let replaced = if computing == 0 { 0 } else { self.blocked_in_place() };
        self.regular().min(computing).saturating_add(replaced)
    }

    /// Whether worker `index` leaves tasks that have yielded to others: a helper, or one that the brake keeps
    /// from them.
    pub(super) fn leaves_yielded(&self, index: usize) -> bool {
        index >= self.first_to_leave_yielded()
    }

    /// How many worker threads work.
    pub(super) fn alive(&self) -> usize {
        // Ordering: Relaxed. `Shared::close` reads it under the lock of the threads, and `announce_sleep`
        // after its fence: a thread is counted before it runs, and wakes the watchdog when it first leaves a
        // park.
        self.alive.load(Ordering::Relaxed)
    }

    /// A worker thread is about to work: counted before, so that a fast end cannot count below zero.
    pub(super) fn count_in(&self) {
        // Ordering: AcqRel, see `count_out`.
        self.alive.fetch_add(1, Ordering::AcqRel);
    }

    /// A worker thread is about to rest or to end, or could not be started. Returns whether it was the last.
    #[must_use = "the last one has to see to the rest"]
    pub(super) fn count_out(&self) -> bool {
        // Ordering: AcqRel: the last one sees what all others did before they were counted out.
        self.alive.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// How many workers there are without the spares, or are about to be.
    pub(super) fn regular(&self) -> usize {
        // Ordering: Relaxed: `set_regular` is called under the lock of the threads, which callers that start
        // workers hold, too. To all others an old number is as good.
        self.regular.load(Ordering::Relaxed)
    }

    /// Says how many workers there should be; the caller holds the lock of the threads, and the runtime is
    /// not closed.
    pub(super) fn set_regular(&self, count: usize) {
        // Ordering: Relaxed, published by the lock and by the unparks that follow.
        self.regular.store(count, Ordering::Relaxed);
        self.set_staying(count);
    }

    /// How many workers there are with the spares; 0 once the runtime is closed.
    pub(super) fn staying(&self) -> usize {
        // Ordering: Relaxed. Callers that start or end workers hold the lock of the threads, under which
        // `store_staying` is called. To all others an old number is as good: it was right a moment ago.
        (self.staying.count.load(Ordering::Relaxed) as isize).unsigned_abs()
    }

    /// Says how many workers there should be with the spares. As for [`WorkerCount::set_regular`].
    pub(super) fn set_staying(&self, count: usize) {
        // Ordering: Relaxed, the caller holds the lock of the threads.
        self.store_staying(count, self.is_observed());
    }

    /// Says whether workers report their steps; the caller holds the lock of the threads.
    pub(super) fn set_observed(&self, is_observed: bool) {
        let reports = &self.staying.reports;
        // Ordering: Relaxed, as in `set_staying`.
        if is_observed {
            reports.fetch_or(OBSERVED, Ordering::Relaxed);
        } else {
            reports.fetch_and(!OBSERVED, Ordering::Relaxed);
        }
        self.store_staying(self.staying(), is_observed);
    }

    /// Whether workers report their steps.
    #[inline]
    pub(super) fn is_observed(&self) -> bool {
        // Ordering: Relaxed: a thread that reads an old answer reports one event too few or too many. Workers
        // read it only for a panic.
        self.staying.reports.load(Ordering::Relaxed) & OBSERVED != 0
    }

    /// Whether threads that are no workers report wakes, or follow what they wake.
    #[inline]
    pub(super) fn reports_wakes(&self) -> bool {
        // Ordering: Relaxed, as in `is_observed`.
        self.staying.reports.load(Ordering::Relaxed) != 0
    }

    /// So many of the next wakes on threads that are no workers are followed to their polls.
    pub(super) fn follow_wakes(&self, count: u32) {
        let change = |reports| {
            let changed = (reports & OBSERVED) | (count * FOLLOWED_WAKE);
            (changed != reports).then_some(changed)
        };
        // Ordering: Relaxed, as in `is_observed`. An error says that nothing changes.
        let _ = self.staying.reports.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }

    /// Whether such a wake is followed. If so, it is one of those.
    pub(super) fn take_followed_wake(&self) -> bool {
        let reports = &self.staying.reports;
        let take = |reports: u32| reports.checked_sub(FOLLOWED_WAKE);
        // Ordering: Relaxed, as in `is_observed`.
        reports.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// The runtime is closed: no worker stays.
    pub(super) fn end(&self) {
        self.store_staying(0, false);
    }

    fn store_staying(&self, count: usize, is_observed: bool) {
        let count = if is_observed { count.wrapping_neg() } else { count };
        // Ordering: Release pairs with the Acquire in `must_stop` and `stays_unobserved`. A worker that
        // reports a step finds what the observation has begun with. A worker that sees the 0 of a closed
        // runtime sees that it is closed, too. That holds for the 0 which the end of an observation stores
        // anew, because its thread knows by the lock (model
        // `a_worker_that_the_end_of_an_observation_sends_away_sees_the_close`).
        self.staying.count.store(count, Ordering::Release);
    }

    /// Whether worker `index` stays and has no step to report. One comparison, because each worker asks at
    /// each step.
    #[inline]
    pub(super) fn stays_unobserved(&self, index: usize) -> bool {
        // Ordering: Acquire, see `store_staying`.
        (index as isize) < self.staying.count.load(Ordering::Acquire) as isize
    }

    /// Whether worker `index` has been asked to leave, or the runtime is closed.
    #[inline]
    pub(super) fn must_stop(&self, index: usize) -> bool {
        // Ordering: Acquire, see `store_staying`. Read in each park after its fence; a thread that lowers the
        // count unparks the worker.
        index >= (self.staying.count.load(Ordering::Acquire) as isize).unsigned_abs()
    }

    /// How many spare workers there are.
    pub(super) fn spares(&self) -> usize {
        self.staying().saturating_sub(self.regular())
    }

    /// How many workers block in place.
    pub(super) fn blocked_in_place(&self) -> usize {
        // Ordering: Relaxed: `Worker::sleep` and `announce_sleep` read it after their fences, and the callers
        // of `count_blocked` and `uncount_blocked` fence after these. To all others an old number is as
        // good.
        self.blocked_in_place.load(Ordering::Relaxed)
    }

    /// A worker is about to block in place.
    pub(super) fn count_blocked(&self) {
        // Ordering: Relaxed, see `blocked_in_place`; the caller fences.
        self.blocked_in_place.fetch_add(1, Ordering::Relaxed);
    }

    /// A worker that has blocked in place is back; the caller fences.
    pub(super) fn uncount_blocked(&self) {
        // Ordering: Relaxed, see `blocked_in_place`.
        self.blocked_in_place.fetch_sub(1, Ordering::Relaxed);
    }

    /// The workers that are no helpers have indices below this one: the regular workers, and as many spares
    /// as workers block in place.
    pub(super) fn first_helper(&self) -> usize {
        self.regular() + self.blocked_in_place()
    }

    /// Whether there is a helper.
    pub(super) fn has_helpers(&self) -> bool {
        self.staying() > self.first_helper()
    }

    /// Whether worker `index` is a helper: a spare beyond the regular workers and those that replace a worker
    /// which is blocked in place. It is there for what waits behind long polls only.
    pub(super) fn is_helper(&self, index: usize) -> bool {
        index >= self.first_helper()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observation_changes_no_count() {
        let size = WorkerCount::new();
        size.set_regular(2);
        assert!(size.stays_unobserved(1) && !size.stays_unobserved(2));
        size.set_observed(true);
        assert!(!size.stays_unobserved(0) && !size.must_stop(1) && size.must_stop(2));
        size.set_staying(3);
        assert_eq!((size.staying(), size.spares(), size.must_stop(2)), (3, 1, false));
        assert!(!size.stays_unobserved(0));
        size.set_observed(false);
        assert!(size.stays_unobserved(2) && !size.stays_unobserved(3) && size.must_stop(3));
        size.set_observed(true);
        size.end();
        assert!(!size.stays_unobserved(0) && size.must_stop(0));
        size.set_observed(true);
        assert!(!size.stays_unobserved(0) && size.must_stop(0));
    }

    #[test]
    fn spares_that_replace_workers_which_block_in_place_are_no_helpers() {
        let size = WorkerCount::new();
        size.set_regular(2);
        assert!(!size.has_helpers());
        size.set_staying(3);
        assert!(size.has_helpers() && size.is_helper(2));
        size.count_blocked();
        assert!(!size.has_helpers() && !size.is_helper(2));
        size.set_staying(4);
        assert!(size.has_helpers() && size.is_helper(3));
    }
}
