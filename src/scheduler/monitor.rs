//! The driver thread: attends the seat when no worker does, and looks after workers that are stuck in a poll.
//!
//! It is always there, so a blocked worker can never stop I/O or timers. But it stays out of the way: an
//! idle worker in the seat runs the task that an event wakes without a change of thread, and this thread
//! only *watches*. It ticks, looks, and acts when the seat has been empty for a whole tick, or a worker
//! with queued tasks has not moved for a whole tick.
//!
//! | what it sees | what it does |
//! |---|---|
//! | the seat was empty at two ticks in a row and in between | takes it until a round brings something |
//! | a worker has work queued, is not parked, and stood still for a tick | marks it stalled, wakes a peer |
//! | the same for the longest tick, and all peers are busy | moves what it has queued to the injector |
//! | every worker stood still for long, and something is queued | reports, starts a spare (spares.rs) |
//! | all parked, no spares, the seat attended, for [`QUIET_TICKS`] ticks | sleeps until a worker wakes it |
//!
//! Thieves may take the next slot of a stalled worker too.
//!
//! It leaves the seat after one round with events: the worker it woke will find the seat free when it is
//! idle again, so the slower way over this thread is not kept longer than needed. While it sits it goes
//! on ticking, unless all workers are parked.
//!
//! Sleep and wake: the monitor stores `asleep`, fences, looks at the idle word once more, and sleeps (or
//! blocks in the poller) without a limit. A worker that leaves its park clears its bit, fences, then reads
//! `asleep`. One of the two sees the other (model `a_worker_that_leaves_its_park_wakes_the_monitor`).

use super::census::PATIENCE;
use super::pulse::Pulse;
use super::report;
use super::role::{self, Dispatcher, Role};
use super::shared::Shared;
use super::slots::Slot;
use super::spares::{BLOCKED_AFTER, Crowd, Spares, Verdict};
use crate::driver::Driver;
use crate::park::{Parker, Unpark, Unparker};
use crate::sync_shim::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use crate::sync_shim::{Arc, clock};
use crate::wakers;
use std::iter;
use std::sync::OnceLock;
use std::task::Waker;
use std::time::{Duration, Instant};

/// The shortest and the longest tick. Two of the longest are the most that an unattended seat or a
/// stalled worker's queue waits; the shortest keeps that wait small right after trouble was seen. A tick
/// that sees no trouble doubles the next one.
const SHORTEST_TICK: Duration = Duration::from_micros(250);
const LONGEST_TICK: Duration = Duration::from_millis(4);

/// Ticks without any work before the thread sleeps without a timeout: long enough that sparse traffic
/// does not wake it each time.
const QUIET_TICKS: u32 = 8;

pub(super) struct Monitor {
    asleep: AtomicBool,
    unparker: OnceLock<Unparker>,
    /// Polls that blocked their worker while no other worker was free.
    blocked_polls: AtomicU64,
}

impl Monitor {
    pub(super) fn new() -> Self {
        Self {
            asleep: AtomicBool::new(false),
            unparker: OnceLock::new(),
            blocked_polls: AtomicU64::new(0),
        }
    }

    pub(super) fn blocked_polls(&self) -> u64 {
        // Ordering: Relaxed, a number for people.
        self.blocked_polls.load(Ordering::Relaxed)
    }

    /// Called by a worker that has left its park.
    pub(super) fn wake_if_asleep(&self, driver: &Driver) {
        // Ordering: Relaxed, after the caller's SeqCst fence, which comes after the worker's parked bit was
        // cleared; the swap picks one waker.
        if self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Relaxed) {
            self.wake(driver);
        }
    }

    /// Wakes the thread, on its own or in the seat; if it is awake its next sleep ends at once.
    pub(super) fn wake(&self, driver: &Driver) {
        let unpark = self.unparker.get().map(Unparker::unpark);
        if unpark == Some(Unpark::Poller) {
            driver.wake();
        }
    }
}

/// Every worker is parked, none is a spare, and nobody waits for just that: nothing can go wrong until one
/// wakes, and nothing is to be done.
fn all_parked(shared: &Shared) -> bool {
    // Ordering: Relaxed; a thread that is starting is counted before it runs, and when it first leaves a
    // park it wakes us. Spares are started by this thread.
    shared.idle.parked() >= shared.alive.load(Ordering::Relaxed)
        && shared.spare_workers() == 0
        && !shared.is_lull_awaited()
}

/// Nobody works, and somebody waits for events.
fn is_quiet(shared: &Shared) -> bool {
    all_parked(shared) && shared.driver.is_attended()
}

/// Brings what lies behind a worker that is stuck to the injector. For when nobody is idle: who is busy
/// with tasks of his own never searches, but looks at the injector. Not if nobody is at work: then it would
/// only cost the tasks their places, on a machine that stands still for a moment.
///
/// It takes what a thief may take, and stops when the worker moves.
fn bring_out(shared: &Shared, slot: &Slot) {
    // With a task in hand, which is in no queue then.
    shared.comes();
    // Ordering: SeqCst, the pair of the second fence in `Shared::settle`: count, fence, empty the channel.
    fence(Ordering::SeqCst);
    let progress = slot.progress();
    let deque = || (slot.progress() == progress).then(|| slot.steal_one()).flatten();
    let next = iter::once_with(|| slot.next.take()).flatten();
    let channel = iter::once_with(|| slot.channel.take_all()).flatten();
    shared.inject_all(iter::from_fn(deque).chain(next).chain(channel));
    shared.goes();
}

/// Announces a sleep without a limit; `true` if it is still right to sleep.
fn announce_sleep(shared: &Shared, condition: impl Fn() -> bool) -> bool {
    if !condition() {
        return false;
    }
    // Ordering: SeqCst fence: announce, fence, look; the other half is in the worker's `awake`.
    shared.monitor.asleep.store(true, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    condition() && !shared.is_drained()
}

/// What the monitor remembers from one tick to the next.
struct Watch {
    parker: Parker,
    attendance: u64,
    /// What the last look saw of each worker.
    pulses: Vec<Pulse>,
    spares: Spares,
    quiet: u32,
    /// Which lull somebody waits for, by how many there were before it, and since when.
    lull_awaited: Option<(u64, Instant)>,
    tick: Duration,
    wakes: Vec<Waker>,
}

/// The driver thread's whole life.
pub(super) fn run(shared: &Arc<Shared>) {
    let parker = Parker::new();
    let _ = shared.monitor.unparker.set(parker.unparker());
    let mut watch = Watch::new(shared, parker);
    let role = Role::Dispatcher(Dispatcher::new(shared.clone()));
    while !shared.is_drained() {
        watch.turn(shared, &role);
    }
}

impl Watch {
    fn new(shared: &Shared, parker: Parker) -> Self {
        let now = clock::now();
        Self {
            parker,
            attendance: shared.driver.attendance(),
            pulses: (0..shared.slots.workers()).map(|_| Pulse::new(now)).collect(),
            spares: Spares::default(),
            quiet: 0,
            lull_awaited: None,
            tick: SHORTEST_TICK,
            wakes: Vec::new(),
        }
    }

    fn turn(&mut self, shared: &Arc<Shared>, role: &Role) {
        if self.seat_is_abandoned(shared) {
            self.sit(shared, role);
            self.tick = SHORTEST_TICK;
        } else {
            let acted = self.look(shared);
            self.tick = if acted { SHORTEST_TICK } else { (self.tick * 2).min(LONGEST_TICK) };
            self.end_lull(shared, clock::now());
        }
        if is_quiet(shared) {
            self.quiet += 1;
        } else {
            self.quiet = 0;
        }
        if shared.is_drained() {
            return;
        }
        if self.quiet < QUIET_TICKS {
            return self.parker.park_timeout(self.tick);
        }
        if announce_sleep(shared, || is_quiet(shared)) {
            self.parker.park();
        }
        // Ordering: Relaxed, only this thread sets it.
        shared.monitor.asleep.store(false, Ordering::Relaxed);
        self.quiet = 0;
        self.tick = SHORTEST_TICK;
    }

    /// The seat is empty, and was at the last tick, and nobody sat in it in between.
    fn seat_is_abandoned(&mut self, shared: &Shared) -> bool {
        let before = std::mem::replace(&mut self.attendance, shared.driver.attendance());
        before == self.attendance && !shared.driver.is_attended()
    }

    /// Polls until one round has brought something; goes on watching the workers meanwhile.
    fn sit(&mut self, shared: &Arc<Shared>, role: &Role) {
        let Some(mut seat) = shared.driver.try_seat() else {
            return;
        };
        shared.comes();
        while self.wakes.is_empty() && !shared.is_drained() {
            let limit = (!announce_sleep(shared, || all_parked(shared))).then_some(self.tick);
            if self.parker.enter_seat() {
                shared.turn(&mut seat, limit, &mut self.wakes);
            }
            self.parker.leave_seat();
            // Ordering: Relaxed, only this thread sets it.
            shared.monitor.asleep.store(false, Ordering::Relaxed);
            if !self.look(shared) {
                self.tick = (self.tick * 2).min(LONGEST_TICK);
            }
            if self.is_lull_overdue(shared, clock::now()) {
                shared.driver.lulls().begin(&mut self.wakes);
            }
        }
        drop(seat);
        // In the role only while somebody flushes: what another piece of foreign code on this thread wakes
        // (a collector of warnings) must not be collected.
        role::play(role, || wakers::wake_all(&mut self.wakes));
        if let Role::Dispatcher(dispatcher) = role {
            dispatcher.flush();
        }
        shared.goes();
        self.attendance = shared.driver.attendance();
    }

    /// Looks at every worker. `true`: there was something to do.
    fn look(&mut self, shared: &Arc<Shared>) -> bool {
        let now = clock::now();
        let (crowd, mut acted) = self.rescue_stalled(shared, now);
        let waiting = crowd.is_blocked() && shared.has_work();
        match self.spares.judge(crowd, waiting, now) {
            Verdict::Keep => {}
            Verdict::Retire => shared.retire_spares(),
            Verdict::Start => match shared.start_spare() {
                Ok(started) => acted |= started,
                Err(_) => self.spares.failed(now),
            },
        }
        // Last, because it calls foreign code.
        if waiting {
            self.report_blocked(shared, crowd, now);
        }
        acted
    }

    /// Looks for workers that did not move since the last look; wakes a peer for each that has work queued.
    /// `true`: it woke one.
    fn rescue_stalled(&mut self, shared: &Shared, now: Instant) -> (Crowd, bool) {
        let (regular, staying) = (shared.worker_count(), shared.staying_workers());
        let mut crowd = Crowd { staying, regular, ..Crowd::default() };
        let (mut any, mut busy) = (false, false);
        let high = shared.slots.high();
        for (index, pulse) in self.pulses.iter_mut().enumerate().take(high.max(staying)) {
            let slot = shared.slots.get(index);
            let at_rest = !slot.is_active() || shared.idle.is_parked(index);
            let still = pulse.look(slot.progress(), at_rest, now);
            // Ordering: Relaxed, a hint for thieves; the wake below orders it for the one it wakes.
            slot.stalled.store(still.is_some(), Ordering::Relaxed);
            if still.is_some() && (slot.has_work() || shared.has_work_outside()) {
                any |= shared.wake_one(index);
            }
            busy |= still.is_none() && !at_rest;
            if slot.is_away() {
                crowd.away += usize::from(index < staying);
            } else if still.is_none_or(|time| time < BLOCKED_AFTER) {
                crowd.count(index);
            }
        }
        if busy && !any {
            self.bring_out_stalled(shared, now);
        }
        (crowd, any)
    }

    /// Nobody is idle, and somebody is at work: brings him what lies behind those who have been stuck for
    /// long.
    fn bring_out_stalled(&self, shared: &Shared, now: Instant) {
        for (index, pulse) in self.pulses.iter().enumerate().take(shared.slots.high()) {
            let slot = shared.slots.get(index);
            if slot.is_stalled() && pulse.still(now) >= LONGEST_TICK && slot.has_work() {
                bring_out(shared, slot);
            }
        }
    }

    /// Whether somebody has waited for one lull for long: something never waits, or blocks its thread.
    fn is_lull_overdue(&mut self, shared: &Shared, now: Instant) -> bool {
        self.lull_awaited = shared.is_lull_awaited().then(|| {
            let count = shared.driver.lulls().count();
            // That somebody waits at each look is not enough: it may be for another lull each time.
            self.lull_awaited.filter(|known| known.0 == count).unwrap_or((count, now))
        });
        self.lull_awaited.is_some_and(|(_, since)| now.saturating_duration_since(since) > PATIENCE)
    }

    /// Tells those who have waited for a lull for too long.
    fn end_lull(&mut self, shared: &Shared, now: Instant) {
        if self.is_lull_overdue(shared, now) {
            // With their wakers in hand: the clock must not jump before they are awake.
            shared.comes();
            shared.driver.lulls().begin(&mut self.wakes);
            wakers::wake_all(&mut self.wakes);
            shared.goes();
        }
    }

    /// Every worker is blocked, and something waits: says so, once for each poll.
    fn report_blocked(&mut self, shared: &Shared, crowd: Crowd, now: Instant) {
        for (index, pulse) in self.pulses.iter_mut().enumerate().take(crowd.staying) {
            // Who is away has said so itself.
            if !shared.slots.get(index).is_away() && pulse.report() {
                // Ordering: Relaxed, a number for people.
                shared.monitor.blocked_polls.fetch_add(1, Ordering::Relaxed);
                let running = shared.slots.get(index).running.read();
                wakers::guard(|| report::blocked(index, running, pulse.still(now)));
            }
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
