//! The loop of a worker: it takes a task, runs it, and sleeps when it finds none, on its own or in the
//! driver's seat.

use super::Worker;
use crate::engine::scheduler::enqueue::{NEW, OBSERVED, SEARCHING, TIMED};
use crate::engine::scheduler::lengths::LONG_FROM;
use crate::engine::scheduler::slots::SleepHooks;
use crate::engine::sync_shim::atomic::{Ordering, fence};
use crate::engine::sync_shim::clock;
use crate::engine::task::Polled;
use crate::engine::task::class::Class;
use crate::engine::task::header::{Hot, Runner};

impl Worker {
    /// Runs tasks until the runtime is shut down or this worker is surplus.
    pub(in crate::engine::scheduler) fn work(&self) {
        self.look_for_long_tasks();
        while self.shared.size.stays_unobserved(self.own.index) || self.stays_observed() {
            let task = self.next_task().or_else(|| self.search());
            if let Some(task) = task.or_else(|| self.park()) {
                self.run(task);
            }
        }
        self.end_search();
        self.count_busy(clock::now());
    }

    /// Reports a step, if the worker stays. Returns whether it does.
    #[cold]
    #[inline(never)]
    pub(super) fn stays_observed(&self) -> bool {
        let stays = !self.must_stop();
        if stays {
            self.report(|probe| probe.step());
        }
        stays
    }

    /// Polls a task that is the first one, that ends a search, or whose poll is observed or timed. If it is
    /// timed, notes whether it was long.
    #[cold]
    #[inline(never)]
    fn poll_flagged(&self, task: Hot) -> Polled {
        self.end_search();
        if self.own.flags.set(NEW, false) {
            // Nothing has told the watchdog before that this worker is at work.
            //
            // Ordering: SeqCst, as in `end_park`: counted as alive, which came before the thread; fence; look
            // at `asleep`.
            fence(Ordering::SeqCst);
            self.shared.rouse_watchdog();
        }
        if self.own.flags.has(OBSERVED) {
            self.report_poll(&task);
        }
        let since = self.own.flags.has(TIMED).then(clock::now);
        let before = task.home();
        self.poll(task, |task| {
            // Not if the task has blocked in place.
            let Some(since) = since.filter(|_| self.own.flags.has(TIMED)) else { return };
            let was_long = clock::now().saturating_duration_since(since) >= LONG_FROM;
            if before.worker().is_none() && before.class() == Class::Normal {
                self.shared.long_types.first_poll(task.future_type(), was_long);
            }
            task.set_home(before.after_poll(self.home_worker(), was_long));
        })
    }

    /// Called in one place only, so that the compiler inlines it and what it calls.
    #[inline]
    pub(super) fn run(&self, task: Hot) {
        let polled = if self.own.flags.has(u8::MAX) {
            self.poll_flagged(task)
        } else {
            self.poll(task, |_| ())
        };
        if self.own.flags.has(u8::MAX) {
            self.end_flagged(polled);
        }
        self.own.slot.running.end();
    }

    #[cold]
    #[inline(never)]
    fn end_flagged(&self, polled: Polled) {
        // What hooks and foreign wakers spawn between two polls has no class.
        self.class.set(Class::Normal);
        if self.own.flags.has(OBSERVED) {
            self.report_poll_end(polled);
        }
    }

    /// As [`Worker::run`], without the end. Calls `polled_once` after the poll.
    #[inline]
    fn poll(&self, task: Hot, polled_once: impl FnOnce(&Hot)) -> Polled {
        self.own.slot.running.begin(task.identity());
        self.own.pushed.set(false);
        task.run_and(self, polled_once)
    }

    /// Sleeps until there may be something to do, or finds a task while it falls asleep. Calls what the user
    /// wants to be called around that.
    pub(super) fn park(&self) -> Option<Hot> {
        match self.shared.threads.sleep_hooks() {
            None => self.sleep(),
            Some(hooks) => self.hooked_sleep(hooks),
        }
    }

    /// What a hook spawns is pushed here as by a task.
    #[cold]
    fn hooked_sleep(&self, hooks: &SleepHooks) -> Option<Hot> {
        // The hook may take its time, and pushes wake no worker while one counts as searching. If another
        // thread has woken it, the worker counts as searching again while the second hook runs. That search
        // is not ended before the hook, because to end it would wake a peer for the very task that this
        // worker was woken for.
        self.end_search();
        hooks.before();
        let spawned = self.take_next().or_else(|| self.take_ready());
        let task = spawned.or_else(|| self.sleep());
        hooks.after();
        task
    }

    /// As [`Worker::park`], without the hooks.
    fn sleep(&self) -> Option<Hot> {
        self.policy.begin_row();
        let searched = self.own.flags.set(SEARCHING, false);
        let looks_everywhere = self.shared.idle.announce_park(self.own.index, searched);
        // Ordering: the worker's half of the Dekker pairs of scheduler.rs: set the bit, fence, look. The
        // other half is a push.
        fence(Ordering::SeqCst);
        self.shared.check_quiet();
        // After the fence: a worker that blocks in place says so before it gives up tasks that have yielded
        // there, and this one may be there in its place.
        self.own.slot.set_leaves_yielded(self.shared.size.leaves_yielded(self.own.index));
        if let Some(task) = self.last_look(looks_everywhere) {
            self.end_park();
            self.end_search();
            if looks_everywhere {
                // No worker of the group searches any more, so pushes may have relied on this look (see
                // `Idle::announce_park`). It took one task; a peer must look for the rest.
                self.pass_on();
            }
            // The look may have taken a whole chain. Before its tasks were in the deque, a searcher may have
            // looked in vain, and parked. The task that runs next is in no queue any more.
            self.own.notify(&self.shared, 0);
            return Some(task);
        }
        if looks_everywhere && !self.takes_yielded() && self.shared.has_yielded() {
            // A helper parks as the last searcher of its group. A push of a yielded task may have relied on
            // its search. It takes none itself, so it wakes a regular worker.
            self.shared.wake_regular(self.own.index);
        }
        if self.must_stop() {
            self.end_park();
            return None;
        }
        self.begin_sleep();
        if !self.sit() {
            self.shared.remove_awake();
            self.parker.park();
            self.shared.add_awake();
            self.end_sleep();
            self.end_park();
        }
        None
    }

    /// With the parked bit set: takes work that a push may have left to us.
    ///
    /// One round is enough. What was pushed before the bit was set is seen (fence); if it is gone by the
    /// time we reach for it, another thread has it. What is pushed later finds the bit.
    fn last_look(&self, looks_everywhere: bool) -> Option<Hot> {
        let yielded = || {
            self.bring_in_yielded();
            self.own.yielded.pop()
        };
        self.take_shared()
            .or_else(yielded)
            .or_else(|| if looks_everywhere { self.steal() } else { None })
    }

    /// Ends the park: learns whether another thread claimed us (then we count as searching), and tells a
    /// sleeping watchdog.
    pub(in crate::engine::scheduler) fn end_park(&self) {
        let is_claimed = self.shared.idle.unpark_self(self.own.index);
        self.own.flags.set(SEARCHING, is_claimed);
        // What the last look has brought in may have to be given up again.
        if self.own.slot.leaves_yielded() {
            self.update_leaves_yielded();
        }
        // Ordering: Dekker with the watchdog: clear the bit, fence, look at `asleep`; announce, fence,
        // look at the bit (watchdog.rs). Also with a peer that parks beside a last look: push, fence,
        // look at the idle word; set the bit, fence, look (scheduler.rs). A SeqCst RMW in the place of
        // the fence would not do: it does not order a relaxed load that follows it, and a processor
        // whose RMWs are load and store apart swaps the two.
        fence(Ordering::SeqCst);
        self.shared.rouse_watchdog();
    }

    /// Blocks in the driver's seat if it is free. `false`: it is taken.
    fn sit(&self) -> bool {
        let Some(mut seat) = self.shared.driver.try_seat() else {
            return false;
        };
        // Ordering: Relaxed: `Shared::wake_below` reads it, and only prefers another worker by it.
        self.shared.seated.store(self.own.index, Ordering::Relaxed);
        let mut wakes = self.wakes.take();
        self.parker.sit(|| self.shared.turn(&mut seat, None, &mut wakes));
        self.end_sleep();
        // Ordering: Relaxed: `Shared::wake_below` reads it, as it does what was stored above. Before the seat
        // is free, so that the next holder's store comes later.
        self.shared.seated.store(usize::MAX, Ordering::Relaxed);
        let fired = seat.fired();
        drop(seat);
        self.end_park();
        self.call_wakers(wakes, fired);
        true
    }
}
