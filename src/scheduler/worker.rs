//! One worker: picks a task, runs it, and parks when there is none.
//!
//! [`Worker::step`] picks and runs one task; the loop around it and everything that blocks is in
//! [`Worker::work`]. All that is random comes from the worker's seeded generator, so that a simulation
//! can drive the same steps.
//!
//! # Order of looking for a task
//!
//! If something waits outside (two hints say so, read in each tick): the own wake channel, and a batch from
//! the injector and the guests, go to the back of the deque. The next look comes after as many ticks as it
//! brought tasks, and all looks of one *pass* bring [`INTAKE`] at the most: a pass lasts until what was in
//! the deque after its first look has been popped. Every [`FAIR_INTERVAL`] ticks the driver is polled if
//! nobody does, and if no such pause is on, the worker looks outside whatever the hints say. Then:
//!
//! 1. the next slot: the task that the last one woke. At most [`NEXT_CAP`] times in a row, then it goes to
//!    the deque's back;
//! 2. the own deque, FIFO;
//! 3. the own wake channel;
//! 4. the injector, then the guests: a batch;
//! 5. the other workers, from a random start: half a deque, or a whole channel;
//! 6. nothing: park, in the driver's seat if it is free.
//!
//! Spawned tasks go to the deque and never to the next slot: with one worker, tasks start in the order
//! of their spawns.
//!
//! # Bounds
//!
//! Say that `k` tasks are ready on a worker, those that have just been woken included. Then its deque
//! never holds more than `k + 2 × INTAKE`: what a pass brought in is gone, or among the `k`, when the
//! next pass ends. A task at its back waits for those before it, each with one poll and at most
//! [`NEXT_CAP`] polls from the next slot. So **between two polls of a task that stays ready lie at most
//! `4 × (k + 1024)` polls**, whatever comes from outside. Only what is queued at a worker that leaves
//! (resizing, spares) or is stuck in a poll goes to the end of the injector.
//!
//! The injector and the guests share what a pass may bring in, the guests half of it at the most; those that
//! wait there come in their order.
//! What is in the wake channel comes in after as many ticks as the last look brought tasks, or
//! [`FAIR_INTERVAL`]; sockets and timers are looked at every [`FAIR_INTERVAL`] ticks, however busy the worker
//! is with itself.
//!
//! Rejected: a pause of as many ticks as a look brought tasks, and no bound per pass. Where each task from
//! outside woke another one, half of the ticks went to the next slot, the deque grew with each look, and a
//! task that always had work waited for the whole backlog (33,654 polls of 40,000).

use super::pace::{FAIR_INTERVAL, Pace};
use super::shared::Shared;
use super::slots::{Deques, Slot, Standstill};
use crate::park::Parker;
use crate::queue::local::Local;
use crate::rng::Rng;
use crate::sync_shim::atomic::{Ordering, fence};
use crate::sync_shim::{Arc, clock, thread};
use crate::task::cell::{Cold, Ender, Hot, Place, Runner};
use crate::wakers;
use crossbeam_utils::CachePadded;
use std::cell::{Cell, RefCell};
use std::task::Waker;
use std::time::Duration;

/// How many tasks in a row may come from the next slot (tokio: 3). More favours pairs that wake each
/// other over the rest.
const NEXT_CAP: u32 = 3;

/// The most tasks that one pass brings in from the injector and the guests, so that a backlog outside does
/// not pile up in front of the tasks that are here. More means fewer looks, and a longer wait for a task
/// that always has work.
const INTAKE: usize = 512;

/// Fewer timers than this, with no events beside them, are no reason to wake a peer: to wake it, and for it
/// to steal and to park again, costs more than what most tasks do when their timer has fired. If one of them
/// takes long, the watchdog sees that and wakes a peer for the others.
const FEW_TIMERS: usize = 16;

pub(super) struct Worker {
    shared: Arc<Shared>,
    index: usize,
    slot: Arc<CachePadded<Slot>>,
    /// Tasks that have been woken or spawned.
    ready: Local<Hot>,
    /// Tasks that have given way.
    yielded: Local<Hot>,
    /// Something has been pushed to `yielded` since it was last found empty.
    has_yielded: Cell<bool>,
    /// Pops of ready tasks until one that has given way has its turn in spite of them.
    until_yielded: Cell<usize>,
    /// Not one of the workers that there should be: leaves tasks that have given way to those.
    helps: Cell<bool>,
    parker: Parker,
    rng: RefCell<Rng>,
    /// Ticks until the next fair turn.
    until_fair: Cell<u32>,
    pace: Cell<Pace>,
    /// Ticks until the next look at what waits outside, if anything does.
    until_intake: Cell<u32>,
    /// How many tasks may still be brought in during this pass.
    room: Cell<usize>,
    /// Which guest the next look begins with.
    first_guest: Cell<usize>,
    /// Pops until the end of this pass; 0: none has begun.
    pass: Cell<usize>,
    /// Polls in a row that came from the next slot.
    next_polls: Cell<u32>,
    /// The task that runs has made another one runnable here.
    pushed: Cell<bool>,
    /// Counted in the idle word as searching.
    searching: Cell<bool>,
    /// Calling the wakers of one round of the driver: wakes are queued in order, and notified once at
    /// the end.
    dispatching: Cell<bool>,
    /// Kept for its memory: the wakers of one round.
    wakes: RefCell<Vec<Waker>>,
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, index: usize) -> Self {
        let slot = shared.slots.share(index);
        let Deques { ready, yielded } = slot.take_deques();
        Self {
            has_yielded: Cell::new(yielded.len() != 0),
            ready,
            yielded,
            until_yielded: Cell::new(INTAKE),
            helps: Cell::new(shared.is_helper(index)),
            slot,
            index,
            parker: Parker::new(),
            rng: RefCell::new(Rng::new(index as u64)),
            until_fair: Cell::new(FAIR_INTERVAL),
            pace: Cell::new(Pace::new()),
            until_intake: Cell::new(0),
            room: Cell::new(INTAKE),
            first_guest: Cell::new(0),
            pass: Cell::new(0),
            next_polls: Cell::new(0),
            pushed: Cell::new(false),
            searching: Cell::new(false),
            dispatching: Cell::new(false),
            wakes: RefCell::new(Vec::new()),
            shared,
        }
    }

    pub(super) fn parker(&self) -> &Parker {
        &self.parker
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn address(&self) -> *const Shared {
        Arc::as_ptr(&self.shared)
    }

    /// Whether this worker has been asked to leave, or the runtime is closed.
    pub(super) fn is_surplus(&self) -> bool {
        // Ordering: Acquire pairs with the Release store in `Shared::close`: who sees the 0 sees `closed`
        // too. Looked at in each step, and in each park after its fence; who lowers it unparks.
        self.index >= self.shared.staying.load(Ordering::Acquire)
    }

    /// Runs tasks until the runtime is shut down or this worker is surplus.
    pub(super) fn work(&self) {
        while !self.is_surplus() {
            if !self.step() {
                self.park();
            }
        }
        self.end_search();
    }

    /// Runs one task. `false`: there was none.
    #[inline]
    fn step(&self) -> bool {
        let Some(task) = self.next_task().or_else(|| self.search()) else {
            return false;
        };
        self.end_search();
        self.run(task);
        true
    }

    #[inline]
    fn run(&self, task: Hot) {
        self.slot.running.begin(&task);
        self.pushed.set(false);
        task.run(self);
        self.slot.running.end();
    }

    #[inline]
    fn next_task(&self) -> Option<Hot> {
        let until_fair = self.until_fair.get();
        if until_fair == 0 {
            self.fair_turn();
        } else {
            self.until_fair.set(until_fair - 1);
        }
        let until_intake = self.until_intake.get();
        if until_intake != 0 {
            self.until_intake.set(until_intake - 1);
        } else if self.is_wanted_outside() {
            self.take_in();
        }
        let ready = self.take_next().or_else(|| self.take_ready());
        ready.or_else(|| self.take_announced()).or_else(|| self.take_yielded())
    }

    #[inline]
    fn take_next(&self) -> Option<Hot> {
        let task = self.slot.next.take()?;
        let polls = self.next_polls.get();
        if polls < NEXT_CAP {
            self.next_polls.set(polls + 1);
            return Some(task);
        }
        // No notification: this worker is about to run what is in its deque.
        self.ready.push(task);
        None
    }

    #[inline]
    fn take_ready(&self) -> Option<Hot> {
        self.next_polls.set(0);
        let until_yielded = self.until_yielded.get();
        if until_yielded == 0 {
            if let Some(task) = self.yielded_turn() {
                return Some(task);
            }
        } else {
            self.until_yielded.set(until_yielded - 1);
        }
        let task = self.ready.pop();
        if self.pass.get() != 0 {
            self.count_pop(task.is_some());
        }
        task
    }

    /// The oldest task that has given way, for when nothing else is ready.
    #[inline]
    fn take_yielded(&self) -> Option<Hot> {
        self.until_yielded.set(INTAKE);
        if self.has_yielded.get() { self.pop_yielded() } else { None }
    }

    #[inline]
    fn pop_yielded(&self) -> Option<Hot> {
        let task = self.yielded.pop();
        self.has_yielded.set(task.is_some());
        task
    }

    /// One task that has given way runs although others are ready: all that wait here have had one turn when
    /// [`INTAKE`] ready tasks have run, or as many ready tasks as there are of them.
    #[cold]
    fn yielded_turn(&self) -> Option<Hot> {
        let waiting = self.yielded.len();
        self.until_yielded.set((INTAKE / waiting.max(1)).max(1));
        self.pop_yielded()
    }

    /// One pop of a pass, which ends with it if it was the last one or found nothing.
    #[inline]
    fn count_pop(&self, found: bool) {
        self.end_pass_after(if found { self.pass.get() - 1 } else { 0 });
    }

    #[inline]
    fn end_pass_after(&self, pops: usize) {
        self.pass.set(pops);
        if pops == 0 {
            self.room.set(INTAKE);
        }
    }

    /// What waits outside, if the hints say that something does; [`Worker::last_look`] trusts no hint.
    fn take_announced(&self) -> Option<Hot> {
        if !self.is_wanted_outside() {
            return None;
        }
        let task = self.take_outside();
        if task.is_none() {
            self.shared.withdraw_outside();
        } else if self.ready.len() > 0 {
            // The one in hand and what came with it.
            self.shared.wake_one(self.index);
        }
        task
    }

    /// The own channel, the injector, the guests: one of them, moved to the deque.
    fn take_outside(&self) -> Option<Hot> {
        self.take_channel(&self.slot).or_else(|| self.take_injected())
    }

    fn take_channel(&self, slot: &Slot) -> Option<Hot> {
        let mut batch = slot.channel.take_all();
        let first = batch.next()?;
        for task in batch {
            self.ready.push(task);
        }
        Some(first)
    }

    fn take_injected(&self) -> Option<Hot> {
        let injected = || self.shared.injector.steal_into(&self.ready);
        let guests = || self.shared.slots.guests(0).find_map(|guest| self.steal_deque(guest));
        let task = injected().or_else(guests)?;
        self.slot.stats.from_injector.add(1 + self.ready.len() as u64);
        Some(task)
    }

    fn steal_deque(&self, victim: &Slot) -> Option<Hot> {
        victim.ready()?.steal_into(&self.ready)
    }

    /// A hint that costs two loads of lines that are seldom written.
    fn is_wanted_outside(&self) -> bool {
        !self.slot.channel.is_empty() || self.shared.is_outside_announced()
    }

    /// A worker that is busy with itself starves nobody: looks outside whatever the hints say, unless what
    /// the last look brought is still in front of it, and polls the driver.
    #[cold]
    fn fair_turn(&self) {
        let mut pace = self.pace.get();
        self.until_fair.set(pace.next(clock::now()) - 1);
        if pace.offers() && self.shared.spare_workers() != 0 {
            thread::yield_now();
        }
        self.pace.set(pace);
        self.helps.set(self.shared.is_helper(self.index));
        // Thieves may have taken what the last look brought.
        self.until_intake.set(self.until_intake.get().min(self.ready.len() as u32));
        if self.until_intake.get() == 0 {
            self.take_in();
        }
        self.poll_driver();
        self.notify_surplus();
    }

    /// Brings what waits outside to the back of the deque.
    #[cold]
    fn take_in(&self) {
        self.take_in_yielded();
        if self.shared.watchdog.take_rescue() {
            self.rescue();
        }
        let before = self.ready.len();
        if self.pass.get() > before {
            // Thieves have taken from what the pass was to last for.
            self.end_pass_after(before);
        }
        for task in self.slot.channel.take_all() {
            self.ready.push(task);
        }
        let pause = match self.room.get() {
            // Nothing more in this pass: until it ends, only the channel is worth a look.
            0 => self.pass.get().min(FAIR_INTERVAL as usize) - 1,
            room => self.take_batch(room),
        };
        self.until_intake.set(pause.max(self.ready.len().saturating_sub(before)) as u32);
        self.notify_surplus();
    }

    /// Brings in what is queued at workers that are stuck, if the watchdog has said so.
    #[cold]
    fn rescue(&self) {
        let high = self.shared.slots.high();
        for index in (0..high).filter(|&index| index != self.index) {
            let slot = self.shared.slots.get(index);
            let standstill = slot.standstill();
            if standstill == Standstill::None && !slot.is_away() {
                continue;
            }
            slot.channel.take_all().chain(slot.next.take()).for_each(|task| self.ready.push(task));
            if let Some(ready) = slot.ready() {
                ready.move_into(&self.ready, INTAKE);
            }
            if standstill == Standstill::Blocked && self.takes_yielded() {
                let moved =
                    slot.yielded().is_some_and(|yielded| yielded.move_into(&self.yielded, INTAKE));
                self.has_yielded.set(moved || self.has_yielded.get());
            }
        }
    }

    /// Brings in tasks that helpers have left to the workers.
    fn take_in_yielded(&self) {
        if self.takes_yielded() && self.shared.yielded.move_into(&self.yielded, INTAKE) {
            self.has_yielded.set(true);
        }
    }

    /// Brings up to `room` tasks in from the guests and the injector; returns how many. The guests have half
    /// of it, and each slot for guests in turn the first choice, so that nobody is crowded out; what they
    /// leave is the injector's.
    fn take_batch(&self, room: usize) -> usize {
        let before = self.ready.len();
        let left = || (before + room).saturating_sub(self.ready.len());
        let mut found = false;
        let first = self.first_guest.get();
        self.first_guest.set(first.wrapping_add(1));
        for stealer in self.shared.slots.guests(first).filter_map(Slot::ready) {
            let share = left().saturating_sub(room / 2);
            found |= stealer.move_into(&self.ready, share);
        }
        found |= self.shared.injector.move_into(&self.ready, left());
        if !found {
            self.shared.withdraw_outside();
        }
        // Less what a thief takes in between: the deque does not say how many it moved.
        let after = self.ready.len();
        let brought = after.saturating_sub(before);
        self.slot.stats.from_injector.add(brought as u64);
        // A small rest is not worth a look: what it brings would lengthen the queue by little, and cost the
        // next look a whole round of the worker's own tasks.
        let left = room.saturating_sub(brought);
        self.room.set(if left < INTAKE / 2 { 0 } else { left });
        if brought != 0 && self.pass.get() == 0 {
            self.pass.set(after);
        }
        brought
    }

    /// Looks for work in the other workers' queues, if nobody else does.
    fn search(&self) -> Option<Hot> {
        if !self.searching.get() {
            if !self.shared.idle.start_search(self.index) {
                return None;
            }
            self.searching.set(true);
        }
        self.steal()
    }

    /// One round over the other workers from a random start for tasks that are ready, then one for tasks that
    /// have given way.
    fn steal(&self) -> Option<Hot> {
        let high = self.shared.slots.high();
        let start = self.rng.borrow_mut().below(high);
        let others = || {
            let victims = (0..high).map(move |i| (start + i) % high);
            victims
                .filter(|&victim| victim != self.index)
                .map(|victim| self.shared.slots.get(victim))
        };
        let ready = others().find_map(|victim| self.steal_ready(victim));
        let yielded = || others().find_map(|victim| victim.yielded()?.steal_into(&self.yielded));
        let task = ready.or_else(|| if self.takes_yielded() { yielded() } else { None })?;
        self.has_yielded.set(self.yielded.len() != 0);
        self.slot.stats.stolen.add((1 + self.ready.len() + self.yielded.len()) as u64);
        Some(task)
    }

    fn steal_ready(&self, victim: &Slot) -> Option<Hot> {
        let task = self.steal_deque(victim).or_else(|| self.take_channel(victim));
        let stuck = || (victim.standstill() != Standstill::None).then(|| victim.next.take());
        task.or_else(|| stuck().flatten())
    }

    /// Whether tasks that have given way elsewhere may be run here. A helper leaves them to the workers, or it would
    /// soon be as busy as they are; but not behind polls that do not end, as long as another helper can follow.
    fn takes_yielded(&self) -> bool {
        let shared = &self.shared;
        !self.helps.get() || (shared.watchdog.spares_take_all() && shared.may_add_spare())
    }

    /// Work was found: the last searcher wakes a successor if there is more, because pushes relied on
    /// its search.
    #[inline]
    fn end_search(&self) {
        if self.searching.replace(false) && self.shared.idle.stop_search(self.index) {
            self.pass_on();
        }
    }

    /// Nobody searches any more: wakes a successor if there is more to find.
    #[inline(never)]
    fn pass_on(&self) {
        // Ordering: Dekker again: stop searching, fence, look; a push that saw us searching, and woke
        // nobody, is seen here.
        fence(Ordering::SeqCst);
        if self.shared.has_ready() {
            self.shared.wake_one(self.index);
        } else if self.shared.has_yielded() {
            self.shared.wake_regular(self.index);
        }
    }

    /// Sleeps until there may be something to do.
    fn park(&self) {
        let searched = self.searching.replace(false);
        let last = self.shared.idle.park(self.index, searched);
        // Ordering: the worker's half of the Dekker pairs of scheduler.rs: set the bit, fence, look. The
        // other half is a push.
        fence(Ordering::SeqCst);
        self.shared.check_quiet();
        if let Some(task) = self.last_look(last) {
            self.awake();
            self.end_search();
            if last {
                // As the searcher that it was: pushes relied on its search, and it has taken one task of
                // theirs.
                self.pass_on();
            }
            // It may have been a whole chain.
            self.notify_surplus();
            return self.run(task);
        }
        if last && self.helps.get() {
            self.leave_search_to_workers();
        }
        if self.is_surplus() {
            return self.awake();
        }
        self.slot.stats.parks.add(1);
        if !self.sit() {
            self.shared.goes();
            self.parker.park();
            self.shared.comes();
            self.awake();
        }
    }

    /// With the parked bit set, by a helper that was the last searcher: pushes of tasks that have given way
    /// relied on its search, and it leaves those to the workers.
    #[cold]
    fn leave_search_to_workers(&self) {
        if self.shared.has_yielded() {
            self.shared.wake_regular(self.index);
        }
    }

    /// With the parked bit set: takes work that a push may have left to us. The last searcher looks
    /// everywhere.
    ///
    /// One round is enough. What was pushed before the bit was set is seen (fence); if it is gone by the
    /// time we reach for it, somebody else has it. What is pushed later finds the bit.
    fn last_look(&self, everywhere: bool) -> Option<Hot> {
        let yielded = || {
            self.take_in_yielded();
            if self.has_yielded.get() { self.pop_yielded() } else { None }
        };
        self.take_outside()
            .or_else(yielded)
            .or_else(|| if everywhere { self.steal() } else { None })
    }

    /// Ends the park: learns whether somebody claimed us (then we count as searching), and tells a
    /// sleeping watchdog.
    pub(super) fn awake(&self) {
        self.searching.set(!self.shared.idle.unpark_self(self.index));
        self.helps.set(self.shared.is_helper(self.index));
        self.pace.set(self.pace.get().rested());
        // Ordering: Dekker with the watchdog: clear the bit, fence, look at `asleep`; announce, fence, look
        // at the bit (watchdog.rs). A SeqCst RMW in the place of the fence would not do: it does not order a
        // relaxed load that follows it, and a processor whose RMWs are load and store apart swaps the two.
        fence(Ordering::SeqCst);
        self.shared.watchdog.wake_if_asleep(&self.shared.driver);
    }

    /// Blocks in the driver's seat if it is free. `false`: it is taken.
    fn sit(&self) -> bool {
        let Some(mut seat) = self.shared.driver.try_seat() else {
            return false;
        };
        // Ordering: Relaxed, a hint for `wake_one`.
        self.shared.seated.store(self.index, Ordering::Relaxed);
        let mut wakes = self.wakes.take();
        if self.parker.enter_seat() {
            self.shared.turn(&mut seat, None, &mut wakes);
        }
        self.parker.leave_seat();
        // Ordering: Relaxed, as above. Before the seat is free, so that the next holder's store comes later.
        self.shared.seated.store(usize::MAX, Ordering::Relaxed);
        let fired = seat.fired();
        drop(seat);
        self.awake();
        self.dispatch(wakes, fired);
        true
    }

    /// Lets the driver do one round without blocking, if nobody sits there.
    fn poll_driver(&self) {
        let Some(mut seat) = self.shared.driver.try_seat() else {
            return;
        };
        let mut wakes = self.wakes.take();
        seat.turn(Some(Duration::ZERO), &mut wakes);
        let fired = seat.fired();
        drop(seat);
        self.dispatch(wakes, fired);
    }

    /// Calls the wakers of one round; the tasks they wake go to the own deque, in order. Wakes one peer
    /// if it is more than one. `fired` of the wakers are those of timers.
    fn dispatch(&self, mut wakes: Vec<Waker>, fired: usize) {
        let are_few_timers = wakes.len() == fired && fired < FEW_TIMERS;
        if !wakes.is_empty() {
            // A waker of somebody else's may take its time; a searcher that does not search would make
            // everybody deaf.
            self.end_search();
        }
        self.dispatching.set(true);
        wakers::wake_all(&mut wakes);
        self.dispatching.set(false);
        *self.wakes.borrow_mut() = wakes;
        if !are_few_timers {
            self.notify_surplus();
        }
    }

    /// A task was woken on this thread.
    #[inline]
    pub(super) fn woken(&self, task: Hot) {
        if self.dispatching.get() {
            return self.ready.push(task);
        }
        self.pushed.set(true);
        if let Some(displaced) = self.slot.next.put(task) {
            self.ready.push(displaced);
        }
        self.notify_surplus();
    }

    /// A task was spawned on this thread.
    #[inline]
    pub(super) fn spawned(&self, task: Hot) {
        self.slot.stats.spawned.add(1);
        self.pushed.set(true);
        self.ready.push(task);
        self.notify_surplus();
    }

    /// The task that ran is queued again.
    #[inline]
    fn requeued(&self) {
        // Otherwise there are as many runnable tasks as before its poll. A peer that parked in spite of them
        // is woken at the next fair turn.
        if self.pushed.get() {
            self.notify_surplus();
        }
    }

    /// More than one task is runnable here: wakes an idle peer, if nobody searches. Exactly one: this
    /// worker runs it itself.
    #[inline]
    fn notify_surplus(&self) {
        // The cheapest question first: mostly there is nobody to wake.
        if !self.shared.idle.is_settled() && !self.searching.get() {
            self.notify();
        }
    }

    #[inline(never)]
    fn notify(&self) {
        let ready = self.ready.len() + usize::from(!self.slot.next.is_empty());
        if ready > 1 {
            self.shared.wake_one(self.index);
        } else if ready + self.yielded.len() > 1 {
            self.shared.wake_regular(self.index);
        }
    }

    /// Gives up the slot's queues: moves what is in them to the injector, and who pushes to the channel from
    /// here on finds the slot inactive. `true`: something was moved, and has to be announced.
    pub(super) fn hand_over(&self) -> bool {
        self.slot.deactivate();
        // Ordering: SeqCst, the pair of the fence in `Shared::sent`: deactivate, fence, empty the channel.
        fence(Ordering::SeqCst);
        let mut moved = false;
        let mut inject = |task| {
            self.shared.injector.push(task);
            moved = true;
        };
        while let Some(task) = self.ready.pop() {
            inject(task);
        }
        self.slot.next.take().into_iter().chain(self.slot.channel.take_all()).for_each(inject);
        while let Some(task) = self.yielded.pop() {
            self.shared.yielded.push(task);
            moved = true;
        }
        moved
    }

    /// Leaves the slot: gives the deque back to it.
    pub(super) fn leave(self) {
        self.slot.give_back(Deques { ready: self.ready, yielded: self.yielded });
    }
}

impl Ender for Worker {
    fn unregister(&self, place: Place) {
        self.shared.slots.get(usize::from(place.shard)).registry.remove(place.index);
    }

    fn completed(&self) {
        self.slot.stats.completed.add(1);
    }
}

impl Runner for Worker {
    fn register(&self, task: Cold) -> Place {
        Place { shard: self.index as u16, index: self.slot.registry.insert(task) }
    }

    #[inline]
    fn requeue(&self, task: Hot) {
        self.ready.push(task);
        self.requeued();
    }

    #[inline]
    fn yielded(&self, task: Hot) {
        if self.helps.get() {
            return self.shared.leave_to_workers(task);
        }
        self.yielded.push(task);
        self.has_yielded.set(true);
        self.requeued();
    }

    fn home(&self) -> u16 {
        self.index as u16
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
