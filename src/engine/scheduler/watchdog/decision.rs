//! What the watchdog decides at one look. Pure: the caller passes in the time and what it has seen, and gets
//! orders.
//!
//! | seen | and | order |
//! |---|---|---|
//! | the seat is empty, and was at the last look and in between | | `Fetch` |
//! | a slow worker with tasks queued | a worker is parked | `WakePeer` |
//! | a stalled one, for [`SPARE_AFTER`] (for what yielded: [`YIELDED_AFTER`]) | a worker moves | `Rescue` |
//! | all workers stalled for 1 ms × 2^spares (16 ms at most) | ready tasks wait | `AddSpare` |
//! | all regular workers slow, lately for [`SLOW_FOR`], no spare | ready tasks wait | `AddSpare` |
//! | all workers stalled, the regular ones for [`YIELDED_AFTER`] | what yielded waits | `AddSpare` |
//! | for [`RETIRE_AFTER`] a regular worker was not slow | spares replace no worker | `RetireSpares` |
//! | all regular workers stalled for [`REPORT_AFTER`] | tasks wait, or spares run | `ReportBlocked` once |
//! | all workers stalled for [`DRAIN_AFTER`], or blocked in place | the runtime is closed | `Drain` |
//!
//! Once the runtime is closed, only `Fetch` and `Drain` are ordered.
//!
//! A worker is *stalled* when it is in the same poll as at the last look. It is *slow* when it is stalled, or
//! its polls since the last look took [`LONG_POLL`] and more on average; not when it is parked, or was at
//! the last look. A worker that blocks in place counts as stalled from the beginning. It is reported only if
//! tasks wait and there may be no further spare, so that it blocks them in spite of its precaution.
//!
//! The first spare comes early, because it serves what waits beside tasks that compute: it takes what is
//! ready and leaves to the workers tasks that have yielded, so it is busy only as long as there is something
//! ready, and the system shares the cores. If it is stuck as well, the tasks here block whatever runs them,
//! and more threads help less and less.
//!
//! Rejected: no spare where the workers are slow only because other threads have the processors, as their
//! threads' clocks and `/proc` tell. A web server under wrk with 500 connections, on the same two cores, then
//! starts none instead of one or two, but answers 0.97 of the requests with 1.02 of the processor, and with
//! insight's page open 0.94 instead of 0.98. A spare also gets the program more of the processors that it
//! shares with others.

use crate::engine::scheduler::policy::BUILD_FACTOR;
use crate::engine::scheduler::slots::Stall;
use crate::engine::scheduler::threads::RETRY_AFTER;
use std::time::{Duration, Instant};

/// Time between two looks while polls are long, or something was to be done. Two of them are the most that an
/// empty seat stays empty then.
pub(super) const LOOK: Duration = Duration::from_micros(500 * BUILD_FACTOR);

/// The longest time between two looks while a worker is idle and none is stalled.
///
/// With a stalled one the looks stay frequent: an idle worker does not know that the seat is empty. Measured
/// with 8 and 16 workers on 16 processors, heavy requests beside light ones (`mixed_heavy_requests`): the
/// 99th percentile of the light ones was 5 ms where looks became rarer, and is 0.8 ms; tokio 8 ms.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_millis(4 * BUILD_FACTOR);

/// The same while no worker is idle, none is stalled and not all are slow. They poll the driver between
/// these, and what a look costs is taken from them. Measured (`axum::serve` under wrk, 64 connections, the
/// load on the same two cores; 500 µs against 1, 2 and 4 ms, 88 slices of a second, three times): time 0.99,
/// 0.97, 0.96, and processor 0.98, 0.96, 0.96.
///
/// Rejected: the same pause, also after `Rescue`, while a worker is stalled and another one moves, which is
/// what three of four looks find where the load takes a core from a worker. Measured (`tokio/checks/bars`, 31
/// slices of each row in turns): time and processor 0.96 to 1.04 of what they are without, which is noise,
/// and the 99th percentile with 64 connections 1.1 to 1.25.
const LONGEST_BUSY_PAUSE: Duration = Duration::from_millis(2 * BUILD_FACTOR);

/// The mean length of polls from which on they keep ready tasks waiting. Shorter polls are over before
/// another thread runs.
const LONG_POLL: Duration = Duration::from_micros(150 * BUILD_FACTOR);

/// How long ready tasks have waited in all, lately, while all workers were slow, before the first spare is
/// started. A worker that the system does not let run for a moment looks slow, too, and a spare would only be
/// one more thread that wants its core (`http_500`: 1.09 of tokio's time, and 1.03 when such moments do not
/// count).
const SLOW_FOR: Duration = Duration::from_millis(2 * BUILD_FACTOR);

/// What "lately" means: such moments count if they make up more than a fifth of the time. (Of a longer pause
/// between two looks, [`SPARE_AFTER`] counts at most.)
const RELIEF: u32 = 4;

/// What is remembered of such waits: so much is forgotten in [`RETIRE_AFTER`].
const LONGEST_PRESSURE: Duration = Duration::from_millis(62);

/// How long tasks wait at a worker that is known to be stalled, before workers that move take them. A second
/// spare is started when all workers and the first spare have been stalled for twice as long.
pub(super) const SPARE_AFTER: Duration = Duration::from_millis(BUILD_FACTOR);

/// The longest that all workers are stalled before a further spare is started, however many there are.
const LONGEST_SPARE_AFTER: Duration = Duration::from_millis(16);

/// The number of spares from which on the next one is started after the longest time.
const MANY: usize = 4;

/// How long a poll lasts before it is reported, if no regular worker is free.
pub(super) const REPORT_AFTER: Duration = Duration::from_millis(10);

/// How long no worker of a closed runtime has moved before a thread is started that drops the tasks. A worker
/// that drains moves from task to task; one that does not move is in a poll or a destructor, which may itself
/// wait for the end of another task.
const DRAIN_AFTER: Duration = Duration::from_millis(10);

/// How long tasks that have yielded wait behind a long poll before other workers take them. Such tasks mostly
/// compute, and one more thread that computes makes all others slower.
pub(super) const YIELDED_AFTER: Duration = Duration::from_millis(50);

/// The same if no other spare can follow: the last one is kept free for what is ready. Not for ever, as a
/// blocked poll may wait for a task that has yielded.
const LAST_RESORT: Duration = Duration::from_secs(1);

/// How long a spare stays after the last look at which no regular worker was free: a program that blocks its
/// workers does it again, and to call a thread back takes as long as some polls.
const RETIRE_AFTER: Duration = Duration::from_millis(250);

/// One worker at one look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WorkerSnapshot {
    /// Moves whenever the worker does.
    pub(super) progress: u64,
    /// Parked, or without a thread.
    pub(super) absent_or_parked: bool,
    /// It blocks in place.
    pub(super) blocked_in_place: bool,
    /// A task that has been woken or spawned is queued here.
    pub(super) ready: bool,
    /// A task that has yielded is queued here.
    pub(super) yielded: bool,
}

/// Everything at one look.
#[derive(Debug)]
pub(super) struct Snapshot<'a> {
    pub(super) now: Instant,
    /// By index; those from `staying` on are about to leave.
    pub(super) workers: &'a [WorkerSnapshot],
    /// The number of workers, without and with the spares.
    pub(super) regular: usize,
    pub(super) staying: usize,
    /// Whether one more spare is allowed.
    pub(super) may_add_spare: bool,
    /// Since the last look, the driver thread has woken tasks while no worker was idle.
    pub(super) delivered: bool,
    /// Ready tasks wait where all workers look.
    pub(super) outside: bool,
    /// Tasks that have yielded wait where all workers look.
    pub(super) yielded_outside: bool,
    /// Whether a worker is parked.
    pub(super) parked: bool,
    /// Whether the runtime is closed.
    pub(super) closed: bool,
    /// Whether the driver's seat is taken, and how often it has been.
    pub(super) attended: bool,
    pub(super) attendance: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Sit down in the driver's seat.
    Fetch,
    /// Wake a parked worker for what is queued at this one.
    WakePeer(usize),
    /// Tell one worker that moves to take what is queued at those that do not.
    Rescue,
    AddSpare,
    /// Ask all workers but so many to leave.
    RetireSpares(usize),
    /// This worker's poll blocks it, and no regular worker is free.
    ReportBlocked(usize),
    /// Let another thread drop the tasks that are left, because no worker does.
    Drain,
}

/// What the watchdog remembers from one look to the next.
#[derive(Debug)]
pub(super) struct History {
    workers: Vec<WorkerHistory>,
    /// How often the seat had been taken, at the last look or when this thread left it after that: what the
    /// next look compares with.
    pub(super) attendance: u64,
    /// The last look.
    pub(super) looked: Instant,
    /// For how long, lately, ready tasks have waited while all regular workers were slow: grows with the time
    /// of looks that find it so, and shrinks by a part of the time of others.
    pressure: Duration,
    /// Since when a regular worker has not been slow at each look.
    easy: Option<Instant>,
    /// When no thread could be made for a spare.
    pub(super) failed: Option<Instant>,
}

/// One worker in the history.
#[derive(Debug, Clone)]
struct WorkerHistory {
    progress: u64,
    /// The last look that saw it move, or saw it at work after a sleep; it has been in one poll since then at
    /// the earliest. Not the last look that saw it asleep: the watchdog may have slept since.
    moved: Instant,
    idle: bool,
    stalled: bool,
    slow: bool,
    reported: bool,
}

impl WorkerHistory {
    /// Compares with the previous look, `passed` ago.
    fn look(&mut self, seen: WorkerSnapshot, now: Instant, passed: Duration) {
        let old_progress = std::mem::replace(&mut self.progress, seen.progress);
        let polls = u32::try_from(seen.progress.wrapping_sub(old_progress)).unwrap_or(u32::MAX);
        let idle = seen.absent_or_parked && !seen.blocked_in_place;
        let idle_at_either_look = std::mem::replace(&mut self.idle, idle) || idle;
        self.stalled = polls == 0 && !idle_at_either_look;
        self.slow = LONG_POLL.saturating_mul(polls) <= passed && !idle_at_either_look;
        if !self.stalled {
            self.moved = now;
            self.reported = false;
        }
    }

    /// How long it has been in one poll at least; zero if it is in none or in another than at the last look.
    fn in_one_poll_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.moved)
    }
}

impl History {
    pub(super) fn new(workers: usize, attendance: u64, now: Instant) -> Self {
        let worker = WorkerHistory {
            progress: 0,
            moved: now,
            idle: true,
            stalled: false,
            slow: false,
            reported: false,
        };
        let workers = vec![worker; workers];
        Self {
            workers,
            attendance,
            looked: now,
            pressure: Duration::ZERO,
            easy: None,
            failed: None,
        }
    }

    /// How long worker `index` has been in one poll, as of the look at `now`.
    pub(super) fn in_one_poll_for(&self, index: usize, now: Instant) -> Duration {
        self.workers[index].in_one_poll_for(now)
    }

    /// How long it has been in one poll, in steps.
    pub(super) fn stall(&self, index: usize, now: Instant) -> Stall {
        match &self.workers[index] {
            worker if !worker.stalled => Stall::None,
            worker if worker.in_one_poll_for(now) < YIELDED_AFTER => Stall::Short,
            _ => Stall::Long,
        }
    }

    /// Whether all regular workers have been stuck long enough that spares run tasks that have yielded, too.
    pub(super) fn spares_take_all(&self, snapshot: &Snapshot<'_>) -> bool {
        let limit = if snapshot.may_add_spare { YIELDED_AFTER } else { LAST_RESORT };
        self.none_free(snapshot, 0..snapshot.regular, limit)
    }

    /// Whether workers time polls (lengths.rs): ready tasks wait for long polls, or have done so, and there
    /// are still spares for that. A spare for a worker that blocks in place says nothing of polls.
    pub(super) fn polls_are_long(&self, snapshot: &Snapshot<'_>) -> bool {
        let workers = &snapshot.workers[..snapshot.staying];
        let at_work = workers.iter().filter(|seen| !seen.blocked_in_place).count();
        at_work > snapshot.regular || self.pressure >= SLOW_FOR
    }

    /// How long to wait for the next look. The last one gave `orders`, and came `pause` after the one before.
    pub(super) fn next_pause(
        &self,
        snapshot: &Snapshot<'_>,
        orders: &[Order],
        pause: Duration,
    ) -> Duration {
        // A worker that blocks in place has handed over its tasks, and left no seat empty.
        let longest = if self.stalled(snapshot).any(|(_, seen)| !seen.blocked_in_place) {
            LOOK
        } else if snapshot.parked {
            LONGEST_PAUSE
        } else if self.stalled(snapshot).next().is_some() || self.all_slow(snapshot) {
            LOOK
        } else {
            LONGEST_BUSY_PAUSE
        };
        if orders.is_empty() { (pause * 2).min(longest) } else { LOOK }
    }

    /// One look: says what is to be done.
    pub(super) fn decide(&mut self, snapshot: &Snapshot<'_>, orders: &mut Vec<Order>) {
        let passed = snapshot.now.saturating_duration_since(self.looked);
        self.looked = snapshot.now;
        for (worker, &seen) in self.workers.iter_mut().zip(snapshot.workers) {
            worker.look(seen, snapshot.now, passed);
        }
        let before = std::mem::replace(&mut self.attendance, snapshot.attendance);
        if !snapshot.attended && before == snapshot.attendance {
            orders.push(Order::Fetch);
        }
        if snapshot.closed {
            orders.extend(self.drain(snapshot));
            return;
        }
        orders.extend(self.help_stalled(snapshot));
        orders.extend(self.change_spares(snapshot, passed));
        self.report(snapshot, orders);
    }

    /// Something is queued behind a poll that goes on.
    fn help_stalled(&self, snapshot: &Snapshot<'_>) -> Option<Order> {
        let takes_all = self.spares_take_all(snapshot);
        let regular = &snapshot.workers[..snapshot.regular];
        // Helpers do not count for tasks that have yielded, as long as they leave it to the workers.
        let may_take =
            takes_all || regular.iter().any(|seen| seen.absent_or_parked && !seen.blocked_in_place);
        let queued = |seen: &WorkerSnapshot| {
            let yielded = seen.yielded || snapshot.yielded_outside;
            seen.ready || snapshot.outside || (yielded && may_take)
        };
        if snapshot.parked {
            // Slow is enough: the worker may have kept what it thought would soon be done.
            let slow = |index: usize| self.workers[index].slow;
            let mut workers = snapshot.workers.iter().enumerate();
            let held = workers
                .find(|&(index, seen)| (slow(index) || seen.blocked_in_place) && queued(seen));
            if let Some((index, _)) = held {
                return Some(Order::WakePeer(index));
            }
        }
        let waits = |(index, seen): (usize, &WorkerSnapshot)| {
            let time = self.in_one_poll_for(index, snapshot.now);
            (seen.ready && time >= SPARE_AFTER) || (seen.yielded && time >= YIELDED_AFTER)
        };
        let moves = |index: usize| {
            let seen = snapshot.workers[index];
            !self.workers[index].stalled && !seen.blocked_in_place && !seen.absent_or_parked
        };
        ((0..snapshot.staying).any(moves) && self.stalled(snapshot).any(waits))
            .then_some(Order::Rescue)
    }

    /// The workers that have been in one poll since the last look, or block in place.
    fn stalled<'a>(
        &'a self,
        snapshot: &'a Snapshot<'_>,
    ) -> impl Iterator<Item = (usize, &'a WorkerSnapshot)> {
        let workers = snapshot.workers.iter().enumerate();
        workers.filter(|(index, seen)| self.workers[*index].stalled || seen.blocked_in_place)
    }

    /// Each worker of `range` has been in one poll for `limit`, or blocks in place.
    fn none_free(
        &self,
        snapshot: &Snapshot<'_>,
        mut range: std::ops::Range<usize>,
        limit: Duration,
    ) -> bool {
        range.all(|index| {
            let seen = snapshot.workers[index];
            let stuck =
                self.workers[index].stalled && self.in_one_poll_for(index, snapshot.now) >= limit;
            seen.blocked_in_place || stuck
        })
    }

    /// Each regular worker is slow, or blocks in place.
    fn all_slow(&self, snapshot: &Snapshot<'_>) -> bool {
        (0..snapshot.regular)
            .all(|index| self.workers[index].slow || snapshot.workers[index].blocked_in_place)
    }

    fn change_spares(&mut self, snapshot: &Snapshot<'_>, time: Duration) -> Option<Order> {
        let passed = |since: Instant, limit| snapshot.now.saturating_duration_since(since) >= limit;
        let all_slow = self.all_slow(snapshot);
        let waits = all_slow && self.ready_waits(snapshot);
        self.pressure = match waits {
            true => (self.pressure + time.min(SPARE_AFTER)).min(LONGEST_PRESSURE),
            false => self.pressure.saturating_sub(time / RELIEF),
        };
        if all_slow {
            self.easy = None;
            let may_start = snapshot.may_add_spare
                && self.failed.is_none_or(|failed| passed(failed, RETRY_AFTER));
            let yielded = || {
                self.spares_take_all(snapshot)
                    && self.none_free(snapshot, 0..snapshot.staying, SPARE_AFTER)
                    && self.yielded_waits(snapshot)
            };
            let needed = may_start && ((waits && self.no_spare_serves(snapshot)) || yielded());
            return needed.then_some(Order::AddSpare);
        }
        let easy = *self.easy.get_or_insert(snapshot.now);
        let needed = needed(snapshot);
        let is_over = needed < snapshot.staying && passed(easy, RETIRE_AFTER);
        is_over.then_some(Order::RetireSpares(needed))
    }

    /// Whether no spare serves the ready tasks that wait while the regular workers are slow: there is no
    /// spare, or all are stalled. The more spares there are, the longer the stall has to be.
    fn no_spare_serves(&self, snapshot: &Snapshot<'_>) -> bool {
        let spares = snapshot.staying.saturating_sub(snapshot.regular).min(MANY);
        let limit = (SPARE_AFTER * (1 << spares)).min(LONGEST_SPARE_AFTER);
        let stalled = self.none_free(snapshot, 0..snapshot.staying, limit);
        stalled || (spares == 0 && self.pressure >= SLOW_FOR)
    }

    /// Whether ready tasks wait, or have waited since the last look.
    fn ready_waits(&self, snapshot: &Snapshot<'_>) -> bool {
        snapshot.delivered || snapshot.outside || snapshot.workers.iter().any(|seen| seen.ready)
    }

    fn yielded_waits(&self, snapshot: &Snapshot<'_>) -> bool {
        snapshot.yielded_outside || snapshot.workers.iter().any(|seen| seen.yielded)
    }

    /// The runtime is closed, and no worker drops the tasks that are left. A worker that has ended looks like
    /// one that is stalled, and does not count either.
    fn drain(&self, snapshot: &Snapshot<'_>) -> Option<Order> {
        let is_stuck = |(index, seen): (usize, &WorkerSnapshot)| {
            let worker = &self.workers[index];
            seen.blocked_in_place
                || seen.absent_or_parked
                || (worker.stalled && worker.in_one_poll_for(snapshot.now) >= DRAIN_AFTER)
        };
        let stuck = snapshot.workers.iter().enumerate().all(is_stuck);
        (stuck && !snapshot.parked).then_some(Order::Drain)
    }

    /// No regular worker is free: each poll that has lasted for long is told of once.
    fn report(&mut self, snapshot: &Snapshot<'_>, orders: &mut Vec<Order>) {
        let waits = self.ready_waits(snapshot) || self.yielded_waits(snapshot);
        let matters = waits || snapshot.staying > snapshot.regular;
        if !matters || !self.none_free(snapshot, 0..snapshot.regular, REPORT_AFTER) {
            return;
        }
        let no_help = waits
            && !snapshot.may_add_spare
            && self.none_free(snapshot, 0..snapshot.staying, REPORT_AFTER);
        for (index, worker) in self.workers.iter_mut().enumerate().take(snapshot.staying) {
            let long = worker.stalled && worker.in_one_poll_for(snapshot.now) >= REPORT_AFTER;
            if long && (no_help || !snapshot.workers[index].blocked_in_place) && !worker.reported {
                worker.reported = true;
                orders.push(Order::ReportBlocked(index));
            }
        }
    }
}

/// How many of the first workers stay: all that block in place, and as many as there should be that do not. A
/// worker that leaves while it blocks would be missing: its slot counts, but no thread can be started there.
fn needed(snapshot: &Snapshot<'_>) -> usize {
    let staying = &snapshot.workers[..snapshot.staying];
    let blocked = staying.iter().filter(|seen| seen.blocked_in_place).count();
    let last = staying.iter().rposition(|seen| seen.blocked_in_place);
    (snapshot.regular + blocked).max(last.map_or(0, |last| last + 1)).min(snapshot.staying)
}

#[cfg(test)]
mod tests;
