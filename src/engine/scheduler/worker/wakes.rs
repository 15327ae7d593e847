//! What a worker does with the tasks that are woken on its thread: one by one, or several together.
//!
//! A task that is woken alone comes into the next slot, and a parked peer is notified if there is more than
//! one task to run. Wakers that are called together, a *batch*, notify a peer once, when all have been
//! called; a large batch also after each [`MOST_UNTOLD`] tasks; and a batch of cheap tasks notifies none
//! (policy.rs). If each wake of a batch notified, the peer would run the first task, find no other, park, and
//! be notified again: some 15 times for a batch of 1,000. Where the cores have other work too, one
//! notification per batch takes two thirds of the time that one per wake takes (`sync_watch`, `sync_notify`);
//! on free cores both take the same.
//!
//! No wake is lost: the tasks lie in a deque that thieves see, and the worker is awake. The notification at
//! the end comes in spite of a panic. Tasks that are kept from the peers are run by this worker, and its next
//! fair turn notifies a peer if they cost more than those before. If a waker does not return, the worker is
//! stuck with tasks in its queue like one whose task does not return, and the watchdog helps (model
//! `tasks_that_are_woken_together_do_not_wait_for_their_waker`).

use super::{WokenBatch, Worker};
use crate::engine::scheduler::enqueue::{Pusher, Reason};
use crate::engine::scheduler::probe::TaskEvent;
use crate::engine::task::header::Hot;
use crate::engine::wakers;
use std::task::Waker;

/// A peer is notified after about this many tasks, without waiting for the last: they keep it busy for longer
/// than it takes to wake it. After the first 257, that is, and then after each 255.
const MOST_UNTOLD: usize = 256;

impl WokenBatch {
    /// With two tasks, from which on none goes to the next slot.
    const SEVERAL: Self = Self::Several { untold: 2 };
}

impl Worker {
    /// A task was woken on this thread.
    #[inline]
    pub(in crate::engine::scheduler) fn woken(&self, task: Hot) {
        self.report_event(|| TaskEvent::Woken(task.identity()));
        match self.batch.get() {
            Some(batch) => self.woken_together(task, batch),
            None => self.shared.enqueue(Pusher::Worker(&self.own, Reason::Woken), task),
        }
    }

    fn woken_together(&self, task: Hot, batch: WokenBatch) {
        let by = |reason| Pusher::Worker(&self.own, reason);
        let batch = match batch {
            WokenBatch::Empty => {
                self.shared.enqueue(by(Reason::FirstOfBatch), task);
                WokenBatch::One
            }
            WokenBatch::One => {
                // The first one is not the only one: it may have to go behind all that are queued.
                let first = self.own.slot.next.take();
                first.into_iter().for_each(|first| self.push_back(first));
                self.shared.enqueue(by(Reason::InBatch), task);
                WokenBatch::SEVERAL
            }
            WokenBatch::Several { untold } => {
                self.shared.enqueue(by(Reason::InBatch), task);
                if untold == MOST_UNTOLD {
                    self.notify_of_batch();
                    WokenBatch::SEVERAL
                } else {
                    WokenBatch::Several { untold: untold + 1 }
                }
            }
        };
        self.batch.set(Some(batch));
    }

    /// Wakes a peer for tasks that were woken together, unless they are cheap. They have one source, so they
    /// come back to it, and each of them would move between the cores each time.
    fn notify_of_batch(&self) {
        if !self.shared.may_keep() || !self.policy.are_cheap(self.own.ready.len()) {
            self.notify_of_more();
        }
    }

    /// Calls `wake`, which may wake several tasks: they go to the own deque, in order, and a single one to
    /// the next slot. Wakes one peer at the end, and after each [`MOST_UNTOLD`] tasks.
    pub(in crate::engine::scheduler) fn wake_together(&self, wake: impl FnOnce()) {
        struct End<'a>(&'a Worker);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                if self.0.batch.take() != Some(WokenBatch::Empty) {
                    self.0.own.pushed.set(true);
                    self.0.notify_of_batch();
                }
            }
        }
        if self.batch.get().is_some() {
            // A waker of others that are called together: their end is the end of these.
            return wake();
        }
        self.batch.set(Some(WokenBatch::Empty));
        let _end = End(self);
        wake();
    }

    /// Calls the wakers of one round of the driver; the tasks they wake go to the own deque, in order. Wakes
    /// one peer if it is more than one. `fired` of the wakers are those of timers.
    ///
    /// Timers alone wake no peer if there are as few as the worker runs in 200 µs at its pace: for a peer to
    /// wake, to steal and to park again costs more than what most tasks do when their timer has fired. If one
    /// of them takes long, the watchdog sees that after some milliseconds and wakes a peer for the others.
    pub(super) fn call_wakers(&self, mut wakes: Vec<Waker>, fired: usize) {
        let are_timers = wakes.len() == fired;
        if !wakes.is_empty() {
            // A foreign waker may take its time, and pushes wake no worker while one counts as searching.
            self.end_search();
        }
        // The next slot is for what tasks wake.
        self.batch.set(Some(WokenBatch::SEVERAL));
        let called = wakes.len();
        self.report_round(called, fired, || wakers::wake_all(&mut wakes));
        self.batch.set(None);
        *self.wakes.borrow_mut() = wakes;
        // Counted here, because a waker of the program's may have woken many tasks.
        let are_soon_done = || self.policy.are_soon_done(self.own.ready.len());
        if !(are_timers && self.shared.may_keep() && are_soon_done()) {
            self.notify_of_more();
        }
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::super::{Shared, Worker};
    use super::MOST_UNTOLD;
    use crate::engine::driver::Driver;
    use crate::engine::park::Parker;
    use crate::engine::scheduler::idle::LastLook;
    use crate::engine::scheduler::policy::FAIR_INTERVAL;
    use crate::engine::sync_shim::Arc;
    use crate::engine::task::cell::new_send_task;
    use std::panic::{AssertUnwindSafe, Location, catch_unwind};
    use std::task::Waker;
    use std::time::{Duration, Instant};

    /// A worker that the test plays, beside one that is parked.
    fn beside_a_parked_peer() -> (Arc<Shared>, Worker) {
        let shared = Shared::new(2, Driver::new(1).unwrap());
        shared.size.set_regular(2);
        shared.watchdog.set_unparker(Parker::new().unparker());
        let [worker, peer] = [0, 1].map(|index| {
            let worker = Worker::new(shared.clone(), index);
            shared.slots.get(index).activate(worker.parker().unparker());
            worker
        });
        assert_eq!(shared.idle.park(peer.index(), false), LastLook::Everywhere);
        (shared, worker)
    }

    impl Worker {
        fn wake_new(&self) {
            self.woken(new_send_task(async {}, &self.shared, Location::caller()).0);
        }

        fn peer_sleeps(&self) -> bool {
            self.shared.idle.is_parked(1)
        }

        /// How many tasks are queued, in the next slot and behind it. Takes them.
        fn queued(&self) -> [usize; 2] {
            let next = self.own.slot.next.take().into_iter();
            let ready = std::iter::from_fn(|| self.own.ready.pop());
            [
                next.map(|task| self.shared.cancel(task)).count(),
                ready.map(|task| self.shared.cancel(task)).count(),
            ]
        }
    }

    impl Worker {
        fn push_new(&self) {
            self.own.ready.push(new_send_task(async {}, &self.shared, Location::caller()).0);
        }

        /// Pretends that its tasks have cost `cost` each for a while.
        fn learn(&self, cost: Duration) {
            for _ in 0..20 {
                self.policy.ran(1, cost.as_nanos().try_into().expect("a short time"));
            }
            // The time that the test takes is no task's.
            self.policy.blocked_in_place();
        }
    }

    const NANOSECOND: Duration = Duration::from_nanos(1);
    const SECOND: Duration = Duration::from_secs(1);

    /// Queues `tasks` tasks, and has a round of the driver call as many wakers, `fired` of them those of
    /// timers. Returns whether the peer sleeps on.
    fn peer_sleeps_after(tasks: usize, fired: usize, cost: Option<Duration>) -> bool {
        let (_shared, worker) = beside_a_parked_peer();
        cost.into_iter().for_each(|cost| worker.learn(cost));
        (0..tasks).for_each(|_| worker.push_new());
        worker.call_wakers(vec![Waker::noop().clone(); tasks], fired);
        let sleeps = worker.peer_sleeps();
        worker.queued();
        sleeps
    }

    #[test]
    fn a_peer_is_woken_for_events_for_many_timers_and_for_slow_ones() {
        let few = FAIR_INTERVAL as usize;
        assert!(peer_sleeps_after(few, few, None));
        assert!(!peer_sleeps_after(few + 1, few + 1, None), "many timers");
        assert!(!peer_sleeps_after(few, few - 1, None), "an event among timers");
        assert!(!peer_sleeps_after(2, 2, Some(SECOND)), "slow tasks");
        assert!(peer_sleeps_after(10 * few, 10 * few, Some(NANOSECOND)), "fast ones");
    }

    #[test]
    fn a_batch_of_cheap_tasks_wakes_no_peer_unless_there_is_a_spare() {
        for (cost, spares, sleeps) in
            [(NANOSECOND, 0, true), (SECOND, 0, false), (NANOSECOND, 1, false)]
        {
            let (shared, worker) = beside_a_parked_peer();
            shared.size.set_staying(2 + spares);
            worker.learn(cost);
            let tasks = 2 * MOST_UNTOLD;
            worker.wake_together(|| (0..tasks).for_each(|_| worker.wake_new()));
            assert_eq!(worker.peer_sleeps(), sleeps, "{cost:?} each, {spares} spares");
            assert_eq!(worker.queued(), [0, tasks]);
        }
    }

    #[test]
    fn a_fair_turn_wakes_a_peer_unless_the_tasks_are_cheap_or_soon_done_after_a_sleep() {
        let few = FAIR_INTERVAL as usize;
        for (tasks, cost, sleeps) in
            [(few, None, true), (few + 1, None, false), (few + 1, Some(NANOSECOND), true)]
        {
            let (_shared, worker) = beside_a_parked_peer();
            cost.into_iter().for_each(|cost| worker.learn(cost));
            (0..tasks).for_each(|_| worker.push_new());
            worker.fair_turn();
            assert_eq!(worker.peer_sleeps(), sleeps, "{tasks} tasks, {cost:?} each");
            if cost.is_none() {
                worker.fair_turn();
                assert!(!worker.peer_sleeps(), "without a park in between");
            }
            worker.queued();
        }
    }

    #[test]
    fn the_tasks_before_a_sleep_are_measured_and_the_sleep_is_not() {
        let (_shared, worker) = beside_a_parked_peer();
        let a_second_ago = Instant::now() - SECOND;
        worker.policy.end_sleep();
        worker.busy_since.set(a_second_ago);
        // One of the ticks finds nothing.
        (0..5).for_each(|_| assert!(!worker.policy.is_turn_due()));
        worker.begin_sleep();
        assert_eq!(worker.policy.interval(), 1, "four tasks took a second");
        worker.end_sleep();
        let learnt = worker.policy.interval();
        worker.begin_sleep();
        assert_eq!(worker.policy.interval(), learnt, "nothing ran");
        worker.end_sleep();
        let due = [0; 2].map(|_| worker.policy.is_turn_due());
        assert_eq!(due, [false, true], "the next fair turn comes after one task");
    }

    #[test]
    fn a_fair_turn_wakes_a_peer_for_tasks_that_have_yielded() {
        let (_shared, worker) = beside_a_parked_peer();
        worker.learn(NANOSECOND);
        (0..2).for_each(|_| {
            worker.own.yielded.push(new_send_task(async {}, &worker.shared, Location::caller()).0)
        });
        worker.fair_turn();
        assert!(!worker.peer_sleeps());
        while let Some(task) = worker.own.yielded.pop() {
            worker.shared.cancel(task);
        }
    }

    #[test]
    fn a_batch_notifies_a_peer_once_at_the_end() {
        let (_shared, worker) = beside_a_parked_peer();
        worker.wake_together(|| {
            for _ in 0..3 {
                worker.wake_new();
                // The waker of one may wake others like this.
                worker.wake_together(|| worker.wake_new());
                assert!(worker.peer_sleeps());
            }
        });
        assert!(!worker.peer_sleeps());
        assert_eq!(worker.queued(), [0, 6]);
    }

    #[test]
    fn a_batch_of_one_is_for_the_waker_and_one_of_none_is_nothing() {
        let (_shared, worker) = beside_a_parked_peer();
        worker.wake_together(|| {});
        worker.wake_together(|| worker.wake_new());
        assert!(worker.peer_sleeps());
        assert_eq!(worker.queued(), [1, 0]);
    }

    #[test]
    fn a_large_batch_notifies_a_peer_in_between() {
        let (_shared, worker) = beside_a_parked_peer();
        worker.wake_together(|| {
            (0..MOST_UNTOLD).for_each(|_| worker.wake_new());
            assert!(worker.peer_sleeps());
            worker.wake_new();
            assert!(!worker.peer_sleeps());
        });
        assert_eq!(worker.queued(), [0, MOST_UNTOLD + 1]);
    }

    #[test]
    fn a_panic_among_the_wakers_leaves_no_batch_behind() {
        let (_shared, worker) = beside_a_parked_peer();
        let wake = || {
            worker.wake_new();
            worker.wake_new();
            panic!("a waker");
        };
        assert!(catch_unwind(AssertUnwindSafe(|| worker.wake_together(wake))).is_err());
        assert!(!worker.peer_sleeps());
        assert_eq!(worker.batch.get(), None);
        assert_eq!(worker.queued(), [0, 2]);
    }
}
