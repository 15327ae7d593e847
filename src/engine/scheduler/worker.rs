//! One worker: what it has of its own, what a spawn or a wake on its thread does, what it tells its probe,
//! and its rounds of the driver.
//!
//! Where it looks for its next task is in `worker/next_task.rs`; its loop, and how it sleeps, in
//! `worker/work.rs`. All that is random comes from the worker's seeded generator, so that a simulation can
//! drive the same steps.
//!
//! # Tasks that are woken together
//!
//! A task that is woken alone comes into the next slot, and a parked peer is notified if there is more than
//! one task to run. Wakers that are called together, a *batch*, notify a peer once, when all have been
//! called; a large batch also after each [`MAX_BEFORE_NOTIFY`] tasks; and a batch of cheap tasks notifies
//! none (policy.rs). If each wake of a batch notified, the peer would run the first task, find no other,
//! park, and be notified again: some 15 times for a batch of 1,000. Where the cores have other work too, one
//! notification per batch takes two thirds of the time that one per wake takes (`sync_watch`, `sync_notify`);
//! on free cores both take the same.
//!
//! No wake is lost: the tasks lie in a deque that thieves see, and the worker is awake. The notification at
//! the end comes in spite of a panic. Tasks that are kept from the peers are run by this worker, and its next
//! fair turn notifies a peer if they cost more than those before. If a waker does not return, the worker is
//! stuck with tasks in its queue like one whose task does not return, and the watchdog helps (model
//! `tasks_that_are_woken_together_do_not_wait_for_their_waker`).

mod classes;
mod next_task;
mod work;

use super::enqueue::{CLASSED, Notice, OBSERVED, OwnQueues, Pusher, Reason, SEARCHING, TIMED};
use super::policy::Policy;
use super::probe::{TaskEvent, WorkerProbe};
use super::shared::Shared;
use crate::engine::driver::COMMON_WAKES;
use crate::engine::park::Parker;
use crate::engine::rng::Rng;
use crate::engine::slice::{self, Slices};
use crate::engine::sync_shim::atomic::{Ordering, fence};
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::class::Class;
use crate::engine::task::header::{Cold, Completer, Hot, RegistryKey, Runner};
use crate::engine::task::home::Home;
use crate::engine::task::{Polled, TaskId};
use crate::engine::wakers;
use std::cell::{Cell, RefCell};
use std::iter;
use std::task::Waker;
use std::time::{Duration, Instant};

/// A peer is notified after this many tasks, without waiting for the last: they keep it busy for longer than
/// it takes to wake it.
const MAX_BEFORE_NOTIFY: usize = 256;

pub(crate) struct Worker {
    shared: Arc<Shared>,
    own: OwnQueues,
    /// Which of the queues here is next, when to look for shared work, and what tasks cost.
    policy: Policy,
    parker: Parker,
    rng: RefCell<Rng>,
    /// When its busy time was last added up.
    busy_since: Cell<Instant>,
    /// While several wakers are called: which tasks they have woken. `None`: each wake notifies.
    batch: Cell<Option<WokenBatch>>,
    /// Kept for its memory: the wakers of one round.
    wakes: RefCell<Vec<Waker>>,
    probe: Option<Box<dyn WorkerProbe>>,
    /// From this number on, a spawn has more to do than to queue a task.
    next_spawn: Cell<u64>,
    /// Of the task that runs: what it spawns has the same.
    class: Cell<Class>,
    /// What it has last asked for. `None`: its thread may have had another role before.
    slices: Cell<Option<Slices>>,
}

/// The tasks that a group of wakers, which are called together, has woken so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WokenBatch {
    Empty,
    /// It is in the next slot.
    One,
    /// All are in the deque: so many since a peer was last notified.
    Several(usize),
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, index: usize) -> Self {
        let own = OwnQueues::new(&shared, index);
        own.slot.set_leaves_yielded(shared.size.leaves_yielded(index));
        let probe = shared.probe.get().map(|it| it.worker(index, own.slot.running.polls()));
        own.flags.set(OBSERVED, probe.as_ref().is_some_and(|probe| probe.is_on()));
        Self {
            next_spawn: Cell::new(probe.as_ref().map_or(u64::MAX, |probe| probe.next_spawn())),
            class: Cell::new(Class::Normal),
            slices: Cell::new(None),
            probe,
            own,
            policy: Policy::new(),
            parker: Parker::new(),
            rng: RefCell::new(Rng::new(index as u64)),
            busy_since: Cell::new(clock::now()),
            batch: Cell::new(None),
            wakes: RefCell::new(Vec::with_capacity(COMMON_WAKES)),
            shared,
        }
    }

    pub(super) fn parker(&self) -> &Parker {
        &self.parker
    }

    pub(super) fn index(&self) -> usize {
        self.own.index
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn address(&self) -> *const Shared {
        Arc::as_ptr(&self.shared)
    }

    /// Whether this worker has been asked to leave, or the runtime is closed.
    #[inline]
    pub(super) fn must_stop(&self) -> bool {
        self.shared.size.must_stop(self.own.index)
    }

    /// Returns for how many nanoseconds the worker has been busy.
    fn count_busy(&self, now: Instant) -> u64 {
        self.own.slot.sleeps.was_busy(self.busy_since.replace(now), now)
    }

    /// The worker goes to sleep.
    fn begin_sleep(&self) {
        let now = clock::now();
        self.policy.begin_sleep(self.own.slot.sleeps.begin(self.busy_since.replace(now), now));
    }

    /// The worker has slept.
    fn end_sleep(&self) {
        let now = self.own.slot.sleeps.end();
        let since = self.busy_since.replace(now);
        if self.own.flags.has(OBSERVED) {
            self.report(|probe| probe.slept(since, now, self.polls()));
        }
        self.policy.end_sleep();
        self.look_for_long_tasks();
    }

    /// The task that runs has blocked the thread in place, and goes on.
    pub(super) fn back_from_place(&self) {
        self.policy.blocked_in_place();
        // That time does not count as the length of its poll.
        self.set_timed(false);
    }

    /// Work was found: the last searcher wakes a successor if there is more, because pushes relied on
    /// its search.
    fn end_search(&self) {
        let searched = self.own.flags.set(SEARCHING, false);
        if searched && self.shared.idle.stop_search(self.own.index) {
            self.pass_on();
        }
    }

    /// No worker searches any more: wakes a successor if there is more to find.
    #[inline(never)]
    fn pass_on(&self) {
        // Ordering: Dekker again: stop searching, fence, look; a push that saw us searching, and woke
        // no worker, is seen here.
        fence(Ordering::SeqCst);
        if self.shared.has_ready() {
            self.shared.wake_one(self.own.index);
        } else if self.shared.has_yielded() {
            self.shared.wake_regular(self.own.index);
        }
    }

    /// Gives up the slot's queues: moves what is in them to the shared ones. A later push to the channel
    /// finds the slot inactive.
    pub(super) fn hand_over(&self) -> Notice<&OwnQueues> {
        let OwnQueues { slot, ready, yielded, .. } = &self.own;
        slot.deactivate();
        // Ordering: SeqCst, the pair of the fence in `Shared::sent`: deactivate, fence, empty the channel.
        fence(Ordering::SeqCst);
        let ready = iter::from_fn(|| ready.pop()).chain(slot.next.take());
        let yielded = iter::from_fn(|| yielded.pop());
        self.shared.abandon(ready.chain(slot.channel.take_all()), yielded)
    }

    /// Finds out whether this worker leaves tasks that have yielded to others. If the brake is the cause, it
    /// gives up those that are queued here, from which the brake would not keep it. The others look for them
    /// where all workers look, and those that may run them are told. A helper keeps them: there are few, and
    /// it may be a helper for a moment only.
    #[cold]
    fn update_leaves_yielded(&self) {
        let size = &self.shared.size;
        let leaves = size.leaves_yielded(self.own.index);
        self.own.slot.set_leaves_yielded(leaves);
        if leaves && !size.is_helper(self.own.index) {
            while let Some(task) = self.own.yielded.pop() {
                self.shared.enqueue(Pusher::Worker(&self.own, Reason::LeftToOthers), task);
            }
        }
    }

    /// Queues a task that has yielded or is long, while the slot says that those are left to others: for
    /// `otherwise` if they are not any more. A function of its own, so that the place of an ordinary yield is
    /// known when it is compiled: a choice there costs each yield three instructions.
    #[cold]
    #[inline(never)]
    fn queue_while_leaving(&self, task: Hot, otherwise: Reason) {
        self.update_leaves_yielded();
        let leaves = self.own.slot.leaves_yielded();
        let reason = if leaves { Reason::LeftToOthers } else { otherwise };
        self.shared.enqueue(Pusher::Worker(&self.own, reason), task);
    }

    /// Leaves the slot, through which other threads still reach this parker.
    pub(super) fn leave(self) -> Parker {
        self.own.leave();
        self.parker
    }
}

/// Methods by which tasks come into its queues.
impl Worker {
    /// A task was spawned on this thread.
    // Always: otherwise it depends on what else is in the caller's file whether the compiler does so, and a
    // call costs 15 instructions.
    #[inline(always)]
    pub(super) fn spawned(&self, task: Hot) {
        let number = self.own.slot.stats.spawned.add(1);
        if number >= self.next_spawn.get() {
            return self.spawned_noted(task, number);
        }
        self.shared.enqueue(Pusher::Worker(&self.own, Reason::Spawned), task);
    }

    #[cold]
    #[inline(never)]
    fn spawned_noted(&self, task: Hot, number: u64) {
        self.report_spawn(&task, number);
        if self.own.flags.has(CLASSED) {
            task.set_home(Home::of_class(self.class.get()));
        }
        self.queue_spawned(task);
    }

    fn queue_spawned(&self, task: Hot) {
        let is_long = match task.home().class() {
            Class::Bulk => true,
            Class::Latency => false,
            Class::Normal => {
                self.own.flags.has(TIMED) && self.shared.long_types.is_long(task.future_type())
            }
        };
        if is_long {
            return self.queue_behind(task, Reason::Long);
        }
        self.shared.enqueue(Pusher::Worker(&self.own, Reason::Spawned), task);
    }

    /// From now on each poll, wake and spawn asks for the task's class.
    #[cold]
    fn note_classes(&self) {
        if !self.own.flags.has(CLASSED) {
            self.own.flags.set(CLASSED, true);
            self.ask_next_spawn();
        }
    }

    /// A task was woken on this thread.
    #[inline]
    pub(super) fn woken(&self, task: Hot) {
        if self.own.flags.has(OBSERVED | TIMED | CLASSED) {
            return self.woken_noted(task);
        }
        self.queue_woken(task);
    }

    #[cold]
    #[inline(never)]
    fn woken_noted(&self, task: Hot) {
        if self.own.flags.has(OBSERVED) {
            self.report_observed(TaskEvent::Woken(task.identity()));
        }
        if self.is_known_to_be_long(&task) && !task.is_cancelled() {
            return self.queue_behind(task, Reason::Long);
        }
        self.queue_woken(task);
    }

    /// A record counts only while polls are timed.
    fn is_known_to_be_long(&self, task: &Hot) -> bool {
        let home = task.home();
        home.is_bulk() || self.own.flags.has(TIMED) && home.is_long()
    }

    #[cold]
    #[inline(never)]
    fn requeue_known(&self, task: Hot) {
        if self.is_known_to_be_long(&task) {
            return self.yielded(task);
        }
        self.shared.enqueue(Pusher::Worker(&self.own, Reason::Requeued), task);
    }

    #[inline]
    fn queue_woken(&self, task: Hot) {
        match self.batch.get() {
            Some(batch) => self.woken_together(task, batch),
            None => self.shared.enqueue(Pusher::Worker(&self.own, Reason::Woken), task),
        }
    }

    /// Queues a task that has yielded or is long behind those that are ready. A long task that is woken does
    /// not count in a batch, whose peer is told at the end.
    #[inline(always)]
    fn queue_behind(&self, task: Hot, reason: Reason) {
        if self.own.slot.leaves_yielded() {
            return self.queue_while_leaving(task, reason);
        }
        self.shared.enqueue(Pusher::Worker(&self.own, reason), task);
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
                WokenBatch::Several(2)
            }
            WokenBatch::Several(before) => {
                self.shared.enqueue(by(Reason::InBatch), task);
                if before + 1 == MAX_BEFORE_NOTIFY {
                    self.notify_of_batch();
                    WokenBatch::Several(0)
                } else {
                    WokenBatch::Several(before + 1)
                }
            }
        };
        self.batch.set(Some(batch));
    }

    /// Wakes a peer for tasks that were woken together, unless they are cheap. They have one source, so they
    /// come back to it, and each of them would move between the cores each time.
    fn notify_of_batch(&self) {
        if !self.shared.may_keep() || !self.policy.are_cheap(self.own.ready.len()) {
            self.own.notify_of_more(&self.shared);
        }
    }

    /// Calls `wake`, which may wake several tasks: they go to the own deque, in order, and a single one to
    /// the next slot. Wakes one peer at the end, and after each [`MAX_BEFORE_NOTIFY`] tasks.
    pub(super) fn wake_together(&self, wake: impl FnOnce()) {
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

    /// A task that was in another queue comes to the back of the ready deque.
    #[inline]
    fn push_back(&self, task: Hot) {
        self.shared.enqueue(Pusher::Worker(&self.own, Reason::BroughtIn), task);
    }
}

/// Its rounds of the driver.
impl Worker {
    /// Lets the driver do one round without blocking, if the seat is free.
    pub(super) fn poll_driver(&self) {
        let Some(mut seat) = self.shared.driver.try_seat() else {
            return;
        };
        let mut wakes = self.wakes.take();
        seat.turn(Some(Duration::ZERO), &mut wakes);
        let fired = seat.fired();
        drop(seat);
        self.call_wakers(wakes, fired);
    }

    /// Calls the wakers of one round of the driver; the tasks they wake go to the own deque, in order. Wakes
    /// one peer if they have woken more than one task. `fired` of the wakers are those of timers.
    ///
    /// Timers alone wake no peer if there are as few as the worker runs in 200 µs at its pace: for a peer to
    /// wake, to steal and to park again costs more than what most tasks do when their timer has fired. Two
    /// tasks that events have woken wake no peer if the worker runs both in 50 µs at its pace, and has had no
    /// longer tasks lately. If one of them takes long all the same, the watchdog sees that after some
    /// milliseconds and wakes a peer for the others.
    pub(super) fn call_wakers(&self, mut wakes: Vec<Waker>, fired: usize) {
        let are_timers = wakes.len() == fired;
        if !wakes.is_empty() {
            // A foreign waker may take its time, and pushes wake no worker while one counts as searching.
            self.end_search();
        }
        // The next slot is for what tasks wake.
        self.batch.set(Some(WokenBatch::Several(0)));
        let called = wakes.len();
        let since = (called != 0 && self.own.flags.has(OBSERVED)).then(clock::now);
        wakers::wake_all(&mut wakes);
        if let Some(since) = since {
            self.report(|probe| probe.round_ended(since, called, fired));
        }
        self.batch.set(None);
        *self.wakes.borrow_mut() = wakes;
        // Counted here, because a waker of the program's may have woken many tasks.
        let ready = self.own.ready.len();
        let are_soon_done = match are_timers {
            true => self.policy.are_soon_done(ready),
            // Not with a task that is known to be long.
            false => self.policy.is_short_pair(ready) && self.own.yielded.len() == 0,
        };
        if !(are_soon_done && self.shared.may_keep()) {
            self.own.notify_of_more(&self.shared);
        }
    }
}

/// Methods that tell its probe (probe.rs).
impl Worker {
    /// Calls `report` with the worker's probe, if there is one. The call may switch the probe on or off, so
    /// the worker asks afterwards.
    fn report<R>(&self, report: impl FnOnce(&dyn WorkerProbe) -> R) -> Option<R> {
        let probe = self.probe.as_deref()?;
        let result = report(probe);
        self.own.flags.set(OBSERVED, probe.is_on());
        self.ask_next_spawn();
        Some(result)
    }

    /// Finds out whether some tasks may be long: whether the watchdog has polls timed, and whether tasks of a
    /// class have been spawned anywhere.
    fn look_for_long_tasks(&self) {
        if self.shared.has_classes() {
            self.own.flags.set(CLASSED, true);
        }
        let polls_are_long = self.shared.watchdog.polls_are_long();
        self.set_timed(polls_are_long);
        self.choose_slices(if self.shared.size.is_helper(self.own.index) {
            Slices::Shortest
        } else if polls_are_long {
            Slices::Usual
        } else {
            Slices::Short
        });
    }

    pub(super) fn choose_slices(&self, slices: Slices) {
        if self.slices.replace(Some(slices)) != Some(slices) {
            slice::choose(slices);
        }
    }

    /// While polls are timed, or tasks have classes, each spawn asks whether the task is long.
    pub(super) fn set_timed(&self, is_timed: bool) {
        self.own.flags.set(TIMED, is_timed);
        self.ask_next_spawn();
    }

    fn ask_next_spawn(&self) {
        let next = self.probe.as_ref().map_or(u64::MAX, |probe| probe.next_spawn());
        self.next_spawn.set(if self.own.flags.has(TIMED | CLASSED) { 0 } else { next });
    }

    fn polls(&self) -> u64 {
        self.own.slot.running.polls()
    }

    /// If it is the turn of this one to be reported.
    #[cold]
    #[inline(never)]
    fn report_spawn(&self, task: &Hot, number: u64) {
        if self.probe.as_ref().is_none_or(|probe| number < probe.next_spawn()) {
            return;
        }
        let (running, future) = (task.identity(), task.future_type());
        let stands_for = self.report(|probe| probe.spawned(running, future, number));
        if let Some(stands_for) = stands_for.flatten() {
            task.follow_queued(stands_for);
        }
    }

    /// Reports what has just happened, also if the probe is off.
    #[cold]
    pub(super) fn report_observed(&self, event: TaskEvent) {
        self.report(|probe| probe.happened(event));
    }

    pub(super) fn report_poll(&self, task: &Hot) {
        let running = task.identity();
        let number = self.report(|probe| probe.poll_begins(running, self.polls())).flatten();
        if number.is_some_and(|number| task.follow_polled(number)) {
            self.report(|probe| probe.followed_poll_begins(running.id()));
        }
    }

    /// Reports the poll that has just ended, before `running` says so.
    #[cold]
    #[inline(never)]
    pub(super) fn report_poll_end(&self, outcome: Polled) {
        let task = self.own.slot.running.read().expect("`run` has noted the task");
        self.report(|probe| probe.poll_ends(task, outcome, self.polls()));
        self.choose_tick(self.policy.ticks_left(), 1);
    }

    /// Lets the probe choose one of the `ticks` before the next fair turn, of which `first` is the next.
    fn choose_tick(&self, ticks: u32, first: u32) {
        let chosen = self.probe.as_ref().and_then(|it| it.choose_tick(self.polls(), ticks));
        match chosen.map(|chosen| chosen + first) {
            Some(0) => self.report_chosen_tick(),
            Some(chosen) => self.policy.choose_tick(chosen),
            None => {}
        }
    }

    pub(super) fn report_chosen_tick(&self) {
        self.report(|probe| probe.chosen_tick());
    }
}

impl Completer for Worker {
    fn unregister(&self, key: RegistryKey) {
        self.shared.unregister(key);
    }

    fn completed(&self) {
        self.own.slot.stats.completed.add(1);
    }
}

impl Runner for Worker {
    fn register(&self, task: Cold) -> RegistryKey {
        RegistryKey { shard: self.own.index as u16, index: self.own.slot.registry.insert(task) }
    }

    #[inline]
    fn requeue(&self, task: Hot) {
        if self.own.flags.has(TIMED | CLASSED) {
            return self.requeue_known(task);
        }
        self.shared.enqueue(Pusher::Worker(&self.own, Reason::Requeued), task);
    }

    #[cold]
    fn followed_poll_begins(&self, task: TaskId) -> bool {
        self.report(|probe| probe.followed_poll_begins(task)).unwrap_or(false)
    }

    #[inline]
    fn yielded(&self, task: Hot) {
        self.queue_behind(task, Reason::Yielded);
    }

    fn home_worker(&self) -> u16 {
        self.own.index as u16
    }

    #[cold]
    fn runs_class(&self, class: Class) {
        self.class.set(class);
        self.note_classes();
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
