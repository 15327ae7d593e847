//! Where a worker takes its next task from, and what it brings in from the queues of others.
//!
//! # Order of looking for a task
//!
//! A task is *ready* when it has been spawned, or woken by an event, a timer or another task. It has
//! *yielded* when it asked for another poll itself: by `yield_now`, at the end of its budget, or by waking
//! itself in its poll. The two wait in deques of their own, and ready tasks run first: mostly they answer
//! something that waits, while tasks that yield are those that compute.
//!
//! A task that computes without yielding is *long* (lengths.rs). When it is woken or spawned, it is
//! queued with those that have yielded, and everything that is said of these here is true of it.
//!
//! *Shared work* is what waits in the worker's own wake channel, which thieves may empty too, in the
//! injector, and in the queue of tasks that have yielded and that all workers share.
//!
//! If there is shared work (two hints say so, read in each tick): the own wake channel, and a batch from the
//! injector, go to the back of the ready deque. The next look comes after a *pause* of as many ticks as it
//! brought tasks, and all looks of one *pass* bring [`INTAKE`] from the injector at most: a pass lasts
//! until what was in the deque after its first look has been popped. At each *fair turn* the driver is polled
//! if its seat is free, and unless it is in a pause, the worker looks for shared work whatever the hints say.
//! Then:
//!
//! 1. the next slot: the task that the last one woke. At most `NEXT_CAP` times in a row (policy.rs), then
//!    it goes to the ready deque's back;
//! 2. the own ready deque, FIFO;
//! 3. the own wake channel;
//! 4. the injector: a batch;
//! 5. the own deque of tasks that have yielded, FIFO; the driver is polled before the `YIELDS_ALONE`th in
//!    a row;
//! 6. the other workers, from a random start: half a ready deque (128 tasks at most), or a whole channel,
//!    or the next slot of a worker that is stuck; if there is none, half of the tasks that have yielded;
//! 7. nothing: park, in the driver's seat if it is free.
//!
//! Spawned tasks go to the deque and never to the next slot: with one worker, tasks start in the order
//! of their spawns.
//!
//! # Bounds
//!
//! Say that `k` tasks want to run on a worker, those that have just been woken included.
//!
//! *Ready tasks.* The ready deque never holds more than `k + 2 × INTAKE`: what a pass brought in is gone, or
//! among the `k`, when the next pass ends. What comes from the wake channel, or is taken from a worker that
//! is stuck, has no such bound and counts among the `k`. A task at its back waits for those before it, for at
//! most as many that have yielded, and after each of these for at most `NEXT_CAP` polls from the next slot.
//!
//! *Tasks that have yielded, and long ones.* When ready tasks never run out, `Policy` lets one of the
//! others run after each `INTAKE / n` of them, and after each single one if there are more than that: all
//! `n` have had their turn after `INTAKE + 2 × n` pops. Each look brings in what the shared queue of such
//! tasks holds, [`INTAKE`] at most: those that other threads wake meanwhile count among the `k`.
//!
//! So **between two polls of a task that wants to run lie at most `8 × (k + 1024)` polls**, whatever
//! other threads push: 8 is `2 × (1 + NEXT_CAP)`, for tasks of both kinds and what follows each from the
//! next slot. It is also the longest that a long task waits when its event has come: on one worker, long
//! tasks and those that have yielded are popped in the order in which they were queued. Only what is
//! queued at a worker that leaves (resizing, spares) or is stuck in a poll, and a long task that another
//! thread wakes, goes to the end of a shared queue.
//!
//! What is in the wake channel comes in after as many ticks as the last look brought tasks, or
//! `FAIR_INTERVAL`, and so do the first [`INTAKE`] in the shared queue of tasks that have yielded.
//! Sockets and timers are looked at after some 200 µs of polls (policy.rs) and at most `FAIR_INTERVAL`
//! ticks, however busy the worker is with itself; if a single poll is longer, by the driver thread
//! (watchdog.rs).
//!
//! Rejected: a pause of as many ticks as a look brought tasks, and no bound per pass. Where each task from
//! the injector woke another one, half of the ticks went to the next slot, the deque grew with each look, and
//! a task that always had work waited for the whole backlog (33,654 polls of 40,000). And one deque for both
//! kinds of tasks: an event waited for a poll of each task that computed (`mixed_8ms` in `benches/`, 8 ms
//! each).
//!
//! # Helpers
//!
//! A spare worker that the watchdog has started is a *helper* (`WorkerCount::is_helper`): it runs ready
//! tasks, and leaves those that yield, and long ones, to the regular workers, by `SharedQueues::yielded`.
//! Otherwise it would soon be as busy as they are, and there would be more threads that compute than cores.
//! Only when all workers have been in one poll for long does it run tasks that have yielded too, and only if
//! another helper can follow it. Until then polls wait that block their threads until such a task has run.

use super::Worker;
use crate::engine::scheduler::enqueue::SEARCHING;
use crate::engine::scheduler::policy::INTAKE;
use crate::engine::scheduler::slots::{Slot, Stall};
use crate::engine::sync_shim::{clock, thread};
use crate::engine::task::header::Hot;

impl Worker {
    #[inline]
    pub(super) fn next_task(&self) -> Option<Hot> {
        if self.policy.is_turn_due() {
            self.due_turn();
        }
        let pauses = self.policy.pauses();
        if !pauses && self.has_shared_work() {
            self.bring_in_shared();
        }
        let ready = self.take_next().or_else(|| self.take_ready());
        // Without a pause this tick has looked for shared work already.
        let shared_work = || if pauses { self.take_shared_if_any() } else { None };
        ready.or_else(shared_work).or_else(|| self.take_yielded())
    }

    #[inline]
    pub(super) fn take_next(&self) -> Option<Hot> {
        let task = self.own.slot.next.take()?;
        if self.policy.may_run_from_next_slot() {
            return Some(task);
        }
        self.push_back(task);
        None
    }

    #[inline]
    pub(super) fn take_ready(&self) -> Option<Hot> {
        self.policy.leave_next_slot();
        if self.own.ready.is_drained() {
            return None;
        }
        if self.policy.is_yielded_due() {
            if let Some(task) = self.take_yielded_first() {
                return Some(task);
            }
        }
        let task = self.own.ready.pop();
        self.policy.popped(task.is_some());
        task
    }

    /// The oldest task that has yielded, for when nothing else is ready.
    #[inline]
    pub(super) fn take_yielded(&self) -> Option<Hot> {
        if self.policy.is_row_over() { self.own.yielded.pop() } else { self.take_early() }
    }

    /// One of the first tasks that have yielded while nothing else was ready. Before the last of them the
    /// driver is polled, and what that has made ready runs first.
    fn take_early(&self) -> Option<Hot> {
        if self.own.yielded.len() == 0 {
            return None;
        }
        if self.policy.yielded_alone() {
            // Before a task is taken: a waker may be slow, and thieves reach only what is queued.
            self.poll_driver();
            let ready = self.take_next().or_else(|| self.take_ready());
            if ready.is_some() {
                return ready;
            }
            self.policy.end_row();
        }
        self.own.yielded.pop()
    }

    /// One task that has yielded runs although others are ready.
    #[cold]
    fn take_yielded_first(&self) -> Option<Hot> {
        self.policy.yielded_runs(self.own.yielded.len());
        let task = self.own.yielded.pop();
        if task.is_some() {
            self.shared.size.paid();
        }
        task
    }

    /// A task of the own channel or the injector, if the hints say that there is one; [`Worker::last_look`]
    /// trusts no hint.
    fn take_shared_if_any(&self) -> Option<Hot> {
        if !self.has_shared_work() {
            return None;
        }
        let task = self.take_shared();
        if task.is_none() {
            self.shared.queues.lower_flag();
        } else if self.own.ready.len() > 0 {
            // More has come than the task that this worker takes.
            self.shared.wake_one(self.own.index);
        }
        task
    }

    /// A task of the own channel or, if that is empty, of the injector. Others of the same queue go to the
    /// deque.
    pub(super) fn take_shared(&self) -> Option<Hot> {
        self.take_channel(&self.own.slot).or_else(|| self.take_injected())
    }

    fn take_channel(&self, slot: &Slot) -> Option<Hot> {
        let mut batch = slot.channel.take_all();
        let first = batch.next()?;
        batch.for_each(|task| self.push_back(task));
        Some(first)
    }

    fn take_injected(&self) -> Option<Hot> {
        let task = self.shared.queues.injector.steal_into(&self.own.ready)?;
        // The deque was empty, so its length is what has come.
        self.own.slot.stats.from_injector.add(1 + self.own.ready.len() as u64);
        Some(task)
    }

    /// Whether something may wait in the own channel or in the queues that all workers share. A hint that
    /// costs two loads of lines that are seldom written.
    fn has_shared_work(&self) -> bool {
        !self.own.slot.channel.is_empty() || self.shared.queues.is_flag_raised()
    }

    /// The chosen tick, or a fair turn.
    #[cold]
    fn due_turn(&self) {
        if self.policy.take_chosen_tick() {
            self.report_chosen_tick();
        } else {
            self.fair_turn();
        }
    }

    /// A worker that has tasks of its own must not starve others: looks for shared work whatever the hints
    /// say, unless what the last look brought is still in front of it, and polls the driver.
    #[cold]
    pub(super) fn fair_turn(&self) {
        let now = clock::now();
        let has_slept = self.policy.begin_fair_turn(self.count_busy(now));
        if let Some(probe) = &self.probe {
            probe.fair_turn(now, self.polls(), self.own.slot.stats.spawned.get());
        }
        self.choose_tick(self.policy.interval(), 0);
        self.look_for_long_tasks();
        if self.policy.offers(now) && self.shared.size.has_helpers() {
            thread::yield_now();
        }
        let leaves = self.shared.size.leaves_yielded(self.own.index);
        // Tasks may be queued here although the slot says so already: the watchdog has said it.
        if leaves != self.own.slot.leaves_yielded() || leaves && self.own.yielded.len() > 0 {
            self.update_leaves_yielded();
        }
        if !leaves && self.shared.size.owes_poll() {
            self.take_owed_poll();
        }
        if self.policy.is_intake_due(self.own.ready.len()) {
            self.bring_in_shared();
        }
        self.poll_driver();
        if !self.keeps_tasks_here(has_slept) {
            self.own.notify_of_more(&self.shared);
        }
    }

    /// A debt was forgiven, and a poll is owed to the tasks that have yielded: one of them runs before a
    /// ready one. The poll is paid when that task is taken from the queue, because the brake may come on at
    /// that moment.
    #[cold]
    fn take_owed_poll(&self) {
        self.bring_in_yielded();
        if self.own.yielded.len() == 0 {
            return;
        }
        self.policy.yielded_is_due();
        if self.own.ready.is_drained() && self.own.slot.next.is_empty() {
            // It is the next one, and is not taken as one that comes first.
            self.shared.size.paid();
        }
    }

    /// Whether this worker leaves its peers asleep and runs its ready tasks alone. It does so if the tasks
    /// are cheap, or if it `has_slept` since the last fair turn and will have run them before a peer is
    /// awake. It does not while there are spares, without a watchdog (`Shared::may_keep`), or while a task
    /// that has yielded is queued here, because such a task comes back.
    fn keeps_tasks_here(&self, has_slept: bool) -> bool {
        let (policy, ready) = (&self.policy, self.own.ready.len());
        self.shared.may_keep()
            && self.own.yielded.len() == 0
            && (policy.are_cheap(ready) || has_slept && policy.are_soon_done(ready))
    }

    /// Brings shared work to the back of the deque: what the own channel holds, a batch of the injector, what
    /// helpers have left, and what is queued at stuck workers if the watchdog has said so.
    #[cold]
    pub(super) fn bring_in_shared(&self) {
        let mut came = self.bring_in_yielded();
        if self.shared.watchdog.take_rescue() {
            came |= self.rescue();
        }
        let before = self.own.ready.len();
        let room = self.policy.begin_intake(before);
        let received = self.own.slot.channel.take_all();
        came |= received.map(|task| self.push_back(task)).count() > 0;
        let brought = if room == 0 { None } else { self.bring_in_injected(room) };
        came |= brought.is_some();
        let after = self.own.ready.len();
        self.policy.end_intake(room, brought.unwrap_or(0), after.saturating_sub(before));
        // `came` and not a difference of lengths, because thieves change the lengths. While there are spares,
        // or no watchdog, a peer is notified of older tasks, too.
        if came || !self.shared.may_keep() {
            self.own.notify_of_more(&self.shared);
        }
    }

    /// Brings in what is queued at workers that are stuck, if the watchdog has said so. Returns whether there
    /// was something.
    #[cold]
    pub(super) fn rescue(&self) -> bool {
        let (mut came, mut is_left) = (false, false);
        let slots = self.shared.slots.occupied();
        for index in (0..slots).filter(|&index| index != self.own.index) {
            let slot = self.shared.slots.get(index);
            let stall = slot.stall();
            if stall == Stall::None && !slot.is_blocked_in_place() {
                continue;
            }
            let found = slot.channel.take_all().chain(slot.next.take());
            came |= found.map(|task| self.push_back(task)).count() > 0;
            if let Some(ready) = slot.ready() {
                came |= ready.move_into(&self.own.ready, INTAKE);
            }
            if stall != Stall::Long || !slot.has_yielded() {
                continue;
            }
            if self.takes_yielded() {
                if let Some(yielded) = slot.yielded() {
                    came |= yielded.move_into(&self.own.yielded, INTAKE);
                }
            } else {
                is_left = true;
            }
        }
        if is_left {
            // `take_rescue` told this worker alone, and a helper may not take tasks that have yielded: ask
            // again.
            self.shared.call_for_rescue();
        }
        came
    }

    /// Brings in tasks that helpers have left to the workers. Returns whether there were some.
    pub(super) fn bring_in_yielded(&self) -> bool {
        self.takes_yielded() && self.shared.queues.yielded.move_into(&self.own.yielded, INTAKE)
    }

    /// Brings up to `room` tasks in from the injector. Returns how many, if there were some.
    fn bring_in_injected(&self, room: usize) -> Option<usize> {
        let before = self.own.ready.len();
        let came = self.shared.queues.injector.move_into(&self.own.ready, room);
        if !came {
            self.shared.queues.lower_flag();
        }
        // Less what a thief takes in between: the deque does not say how many it moved.
        let after = self.own.ready.len();
        let brought = after.saturating_sub(before);
        self.own.slot.stats.from_injector.add(brought as u64);
        self.policy.brought(room, brought, after);
        came.then_some(brought)
    }

    /// Looks for work in the other workers' queues, if no other worker does.
    pub(super) fn search(&self) -> Option<Hot> {
        if !self.own.flags.has(SEARCHING) {
            if !self.shared.idle.start_search(self.own.index) {
                return None;
            }
            self.own.flags.set(SEARCHING, true);
        }
        self.steal()
    }

    /// One round over the other workers from a random start for tasks that are ready, then one for tasks that
    /// have yielded.
    pub(super) fn steal(&self) -> Option<Hot> {
        let slots = self.shared.slots.occupied();
        if slots <= 1 {
            // There are no others.
            return None;
        }
        let start = self.rng.borrow_mut().below(slots);
        let ready = self.first_of_others(start, slots, |victim| self.steal_ready(victim));
        let yielded = || {
            self.first_of_others(start, slots, |victim| {
                victim.yielded()?.steal_into(&self.own.yielded)
            })
        };
        let task = ready.or_else(|| if self.takes_yielded() { yielded() } else { None })?;
        // Both deques were empty, so their lengths are what has come.
        self.own.slot.stats.stolen.add((1 + self.own.ready.len() + self.own.yielded.len()) as u64);
        Some(task)
    }

    /// What `take` finds first in the slots of the others, of which there are `slots` with the own one.
    fn first_of_others(
        &self,
        start: usize,
        slots: usize,
        take: impl Fn(&Slot) -> Option<Hot>,
    ) -> Option<Hot> {
        // No adapters of iterators: a worker is here before each sleep, and in a debug build each of them is
        // a call for each victim.
        for i in 0..slots {
            let victim = (start + i) % slots;
            if victim != self.own.index {
                let task = take(self.shared.slots.get(victim));
                if task.is_some() {
                    return task;
                }
            }
        }
        None
    }

    fn steal_ready(&self, victim: &Slot) -> Option<Hot> {
        let stolen = victim.ready().and_then(|ready| ready.steal_into(&self.own.ready));
        let task = stolen.or_else(|| self.take_channel(victim));
        let stuck = || (victim.stall() != Stall::None).then(|| victim.next.take());
        task.or_else(|| stuck().flatten())
    }

    /// Whether tasks that have yielded elsewhere may be run here. A helper leaves them to the workers, or
    /// it would soon be as busy as they are; but not behind polls that do not end.
    pub(super) fn takes_yielded(&self) -> bool {
        !self.own.slot.leaves_yielded() || self.shared.watchdog.spares_take_all()
    }
}
