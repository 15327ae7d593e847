//! How many workers there are and should be, and whether they report their steps.

use super::slots::Remaining;
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use crossbeam_utils::CachePadded;

/// Workers report their steps, and other threads what they do.
const OBSERVED: u32 = 1;
/// Each of these is one wake that a thread which is no worker still follows to its poll.
const FOLLOWED_WAKE: u32 = 2;

pub(super) struct PoolSize {
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
    owes_turn: AtomicBool,
}

/// Which workers stay. Written under the lock of the threads.
struct Staying {
    /// An `isize`. Workers with an index below its absolute value stay: as `regular`, more if there are
    /// spares, and 0 once the runtime is closed. It is negative while the scheduler is observed, so one
    /// comparison tells a worker that it has nothing to do but to go on.
    count: AtomicUsize,
    /// [`OBSERVED`] and some [`FOLLOWED_WAKE`]: see probe.rs.
    reports: AtomicU32,
}

impl PoolSize {
    pub(super) fn new() -> Self {
        Self {
            regular: AtomicUsize::new(0),
            staying: CachePadded::new(Staying {
                count: AtomicUsize::new(0),
                reports: AtomicU32::new(0),
            }),
            alive: AtomicUsize::new(0),
            blocked_in_place: AtomicUsize::new(0),
            computing: AtomicUsize::new(usize::MAX),
            owes_turn: AtomicBool::new(false),
        }
    }

    /// Says that a worker is to have a turn in spite of the brake. For the watchdog.
    pub(super) fn owe_turn(&self) {
        // Ordering: Relaxed, one word that decides nothing but the order of tasks; the watchdog asks again.
        self.owes_turn.store(true, Ordering::Relaxed);
    }

    /// Whether no worker has had the turn yet that [`PoolSize::owe_turn`] has promised.
    pub(super) fn owes_turn(&self) -> bool {
        // Ordering: Relaxed, as in `owe_turn`.
        self.owes_turn.load(Ordering::Relaxed)
    }

    /// The turn that was owed has been had. By the worker that takes a task for it.
    pub(super) fn end_turn(&self) {
        if self.owes_turn() {
            // Ordering: Relaxed, as in `owe_turn`. Two workers that have it at the same time are no harm.
            self.owes_turn.store(false, Ordering::Relaxed);
        }
    }

    /// Says how many of the regular workers may run tasks that have yielded. For the watchdog, which executes
    /// a SeqCst fence and looks whether such a task waits, if the number has grown.
    pub(super) fn set_computing(&self, count: usize) {
        // Ordering: Relaxed, see `first_to_leave_yielded`.
        self.computing.store(count, Ordering::Relaxed);
    }

    /// The workers that run tasks that have yielded have indices below this one. As
    /// [`PoolSize::first_helper`], but for those that the brake keeps from such tasks.
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

    /// A worker thread is about to rest or to end, or could not be started.
    pub(super) fn count_out(&self) -> Remaining {
        // Ordering: AcqRel: the last one sees what all others did before they were counted out.
        Remaining::of_before(self.alive.fetch_sub(1, Ordering::AcqRel) as u64)
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

    /// Says how many workers there should be with the spares. As for [`PoolSize::set_regular`].
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
        let size = PoolSize::new();
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
        let size = PoolSize::new();
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
