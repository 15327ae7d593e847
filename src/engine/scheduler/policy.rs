//! The decisions that a worker makes by numbers alone. Pure: the worker says what has happened and what the
//! time is, and no queue is read here.
//!
//! | question | asked at | answer | constants |
//! |---|---|---|---|
//! | Is this a fair turn? | each tick | `is_turn_due` | [`FAIR_INTERVAL`], [`WANTED`] |
//! | Does the task in the next slot run? | each tick with one | `may_run_from_next_slot` | [`NEXT_CAP`] |
//! | Does a yielded one run before a ready one? | each pop of a ready task | `is_yielded_due` | [`INTAKE`] |
//! | Is the driver polled before a yielded one? | nothing is ready | `yielded_alone` | [`YIELDS_ALONE`] |
//! | Does an intake pause? | each tick | `pauses` | |
//! | Is an intake due, though no hint says so? | each fair turn | `is_intake_due` | |
//! | How much may it bring in? | each intake | `begin_intake` | [`INTAKE`] |
//! | How many tasks run until the next fair turn? | each fair turn and sleep | `interval` | as above |
//! | Are these tasks not worth a peer? | a batch, each fair turn | `are_cheap` | [`CHEAP`], [`KEPT`] |
//! | Are they soon done? | timers; the fair turn after a sleep | `are_soon_done` | [`WANTED`] |
//! | Does it offer its core to others? | each fair turn | `offers` | [`LONG`], [`OFFER`] |
//!
//! # The intake of shared work
//!
//! *Shared work* is what waits in the wake channel and in the queues that all workers share. In an *intake* a
//! worker looks for it. A worker that has tasks of its own then runs as many tasks as the intake brought
//! before the next one: the *pause*. All intakes of one *pass* bring in [`INTAKE`] tasks from the injector at
//! most. A pass begins with an intake that brings something, and lasts until what was in the deque then has
//! been popped.
//!
//! # What its tasks cost
//!
//! A count alone is no bound between two polls of the driver: 61 polls of 1 ms are 61 ms. A reading of the
//! clock takes some 20 ns, and the cheapest poll some 24 (`sleep_cancel_one_task` and `yield_many` in
//! `benches/README.md`), so one reading per task would nearly double that poll. Therefore the worker reads
//! the clock when it polls the driver or parks anyway, and divides the time since the last reading by the
//! tasks that have run. Tasks that become long are noticed at once, and tasks that become short step by step:
//! one long poll says more about the next than ten short ones.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How many tasks in a row may come from the next slot (tokio: 3). More favours pairs that wake each
/// other over all others.
pub(super) const NEXT_CAP: u32 = 3;

/// How many tasks that have yielded run, with no other task ready, before the driver is polled. A task that
/// yields until an event has come then finds the event after a few yields, and not after those of 200 µs.
///
/// At most once in a row of yields: the poll is a call to the system, which a task that yields for long pays
/// as often as there are fair turns. A pop of the ready deque, and a park, begin a new row; a task from the
/// next slot does not. tokio polls its driver at each of these yields.
pub(super) const YIELDS_ALONE: usize = 4;

/// The most tasks that one pass brings in from the injector, so that a backlog there does not pile up in
/// front of the tasks that are here. More means fewer looks, and a longer wait for a task
/// that always has work.
pub(super) const INTAKE: usize = 512;

/// The most tasks between two polls of the driver. tokio's event interval is 61 too; a prime does not
/// fall into step with common numbers of tasks.
pub(super) const FAIR_INTERVAL: u32 = 61;

/// How much longer a debug build takes for a task, for a poll of the driver and for a look of the watchdog.
/// The lengths of time that are chosen by what these cost are longer there by as much. Measured with
/// `tokio/checks/bars --debug`, with this for [`WANTED`] and for the length of a long poll against without:
/// processor of `http_64` 1.23 to 1.28 of tokio's against 1.44, of `http_500` 1.36 against 1.50, of `echo_1`
/// 1.23 against 1.47. With it for the watchdog's times, too, against without: `http_64` 1.10 against 1.13,
/// `http_500` 1.08 against 1.32, and threads switch 0.35 times per request, as on tokio, against 0.54 times.
/// The unit tests, which bring their own times, have the lengths of a release build.
pub(super) const BUILD_FACTOR: u64 = if cfg!(all(debug_assertions, not(test))) { 5 } else { 1 };

/// The time that should pass between two polls of the driver. Long enough that a poll that finds nothing,
/// which costs about a microsecond, is no burden.
///
/// Rejected: 1 ms, for fewer and larger rounds. Measured (`axum::serve` and an echo, 64 and 500 connections,
/// the load on the same two cores; 21 slices each in turns): time 1.01 to 1.07 of what it is with 200 µs,
/// processor 1.02 to 1.11, because the other worker finds nothing meanwhile, and goes to sleep.
const WANTED: Duration = Duration::from_micros(200 * BUILD_FACTOR);

/// How long two tasks may take together that events have woken, for a worker to run both of them and leave
/// its peer asleep. It takes about as long to wake a peer by a system call, for it to steal the second task,
/// and to go to sleep again. Measured: see `benches/README.md`.
const PAIR: Duration = Duration::from_micros(50 * BUILD_FACTOR);

/// After how many readings of the clock in a row, between which tasks took no more than [`PAIR`] each, a
/// worker does so. A peer that sleeps takes the second task only when the watchdog has noticed that the first
/// one is long, up to 8 ms later. Where less than one such stretch in 64 has a long task, no more than the
/// slowest hundredth of the tasks wait for that.
const CALM: u8 = 64;

/// The largest [`Policy::interval`] at which the tasks count as long.
const LONG: u32 = 2;

/// Tasks that cost less than this, and that were woken together, are not worth a peer: they are done sooner
/// than they come to another core. The lines of a task's header, of its future and of its place in what it
/// waits for take some 100 ns each to get there, and as long to come back with its next wake. Measured
/// (`sync_watch`, two cores): a task costs 98 ns if one worker runs all of them, and 300 on each of two
/// workers. With 300 ns here the second worker would stay, because by then the tasks cost as much.
const CHEAP: Duration = Duration::from_micros(1);

/// How long the last of such tasks may wait for its turn. If one of them blocks, the watchdog wakes a peer
/// for the others some milliseconds later.
const KEPT: Duration = Duration::from_millis(1);

/// How long a worker that computes beside a helper keeps its core before it offers it to other threads. The
/// helper, and the clients that it serves on this machine, need a core that a worker would keep to the end of
/// its slice, some milliseconds. Not more often: a thread that gives its core up loses the remainder of its
/// slice to threads that do not. Measured (`mixed_0.2ms`; two workers, the load on the same two cores): the
/// 99th percentile is 0.8 to 1.2 of tokio's without it.
///
/// A worker does not offer its core beside spares that only replace workers which block in place: those
/// compute, too, and the core does not come back for tens of milliseconds. Measured (`mixed_in_place`, 99th
/// percentile in 32 runs of a second each): the median 9 ms, ten over 20 and up to 81; without it 7.5, none
/// and up to 10.
const OFFER: Duration = Duration::from_millis(1);

/// In nanoseconds, for times that fit in 32 bits.
const fn nanoseconds(time: Duration) -> u32 {
    time.as_nanos() as u32
}

/// The numbers. Each is changed for itself, at its own moments.
///
/// What is true between any two calls: without a pass there is room for [`INTAKE`] tasks.
#[derive(Debug, Default)]
pub(super) struct Policy {
    /// Ticks until the next fair turn, or until the chosen tick.
    until_fair: Cell<u32>,
    /// How many ticks there are from the tick that a probe has chosen (probe.rs) to the next fair turn. 0:
    /// none is chosen.
    after_chosen: Cell<u32>,
    /// The value of `until_fair` when the clock was last read, so that the difference is the number of ticks
    /// since. One more if it was read in a fair turn: the tick of that turn also runs a task.
    counted_from: Cell<u32>,
    /// Polls in a row that came from the next slot.
    next_polls: Cell<u32>,
    /// Ready tasks that run before one that has yielded does in spite of them.
    until_yielded: Cell<usize>,
    /// Tasks that have yielded and that run, with nothing ready, until the driver is polled. 0: it has been,
    /// in this row.
    until_poll: Cell<usize>,
    /// Ticks until the next look for shared work, if there seems to be some.
    pause: Cell<u32>,
    /// How many tasks may still be brought in during this pass.
    room: Cell<usize>,
    /// Pops until the end of this pass; 0: none has begun.
    pass: Cell<usize>,
    /// The cost of a task in nanoseconds, at most [`WANTED`].
    cost: Cell<u32>,
    /// How many readings of the clock in a row have found short tasks, as far as a byte can count.
    calm: Cell<u8>,
    /// The time since the last reading of the clock went to tasks: not before the first reading, nor after a
    /// task that has blocked in place.
    is_timed: Cell<bool>,
    /// The worker has slept since the last fair turn.
    has_slept: Cell<bool>,
    /// The last time that the worker offered its core.
    offered: Cell<Option<Instant>>,
}

impl Policy {
    pub(super) fn new() -> Self {
        Self {
            until_fair: Cell::new(FAIR_INTERVAL),
            counted_from: Cell::new(FAIR_INTERVAL),
            until_yielded: Cell::new(INTAKE),
            until_poll: Cell::new(YIELDS_ALONE),
            room: Cell::new(INTAKE),
            cost: Cell::new(nanoseconds(WANTED) / FAIR_INTERVAL),
            has_slept: Cell::new(true),
            ..Self::default()
        }
    }
}

/// The ticks: when the driver is polled, and which one a probe has chosen.
impl Policy {
    /// One tick: whether it is the chosen one or a fair turn.
    #[inline]
    pub(super) fn is_turn_due(&self) -> bool {
        let until_fair = self.until_fair.get();
        if until_fair != 0 {
            self.until_fair.set(until_fair - 1);
        }
        until_fair == 0
    }

    /// In a tick that is due: whether it is the chosen one. If not, it is a fair turn.
    pub(super) fn take_chosen_tick(&self) -> bool {
        let after = self.after_chosen.take();
        if after != 0 {
            // As if the counter had run on, with this tick.
            self.until_fair.set(after - 1);
            self.counted_from.set(self.counted_from.get() + after);
        }
        after != 0
    }

    /// A fair turn, after `busy` nanoseconds since the clock was last read. Returns whether the worker has
    /// slept since the last one.
    pub(super) fn begin_fair_turn(&self, busy: u64) -> bool {
        self.ran(self.counted_from.get(), busy);
        self.counted_from.set(self.interval());
        self.until_fair.set(self.interval() - 1);
        self.has_slept.take()
    }

    /// How many ticks come before the next fair turn; 0 if one of them is chosen already.
    pub(super) fn ticks_left(&self) -> u32 {
        if self.after_chosen.get() == 0 { self.until_fair.get() } else { 0 }
    }

    /// Chooses a tick behind this one, the `chosen`th, which comes before the next fair turn. None has been
    /// chosen there yet.
    pub(super) fn choose_tick(&self, chosen: u32) {
        debug_assert_eq!(self.after_chosen.get(), 0);
        let after = self.until_fair.get() + 1 - chosen;
        self.after_chosen.set(after);
        self.until_fair.set(self.until_fair.get() - after);
        self.counted_from.set(self.counted_from.get() - after);
    }

    /// The worker goes to sleep, after `busy` nanoseconds since the clock was last read.
    pub(super) fn begin_sleep(&self, busy: u64) {
        // One of the ticks has found no task.
        self.ran((self.counted_from.get() - self.until_fair.get()).saturating_sub(1), busy);
    }

    /// The worker has slept, and has just read the clock.
    pub(super) fn end_sleep(&self) {
        self.is_timed.set(true);
        self.has_slept.set(true);
        // The tasks may have become long since the last fair turn.
        let interval = self.interval();
        if self.until_fair.get() + self.after_chosen.get() > interval {
            // If that leaves no tick behind the chosen one, none is chosen.
            self.after_chosen.set(0);
            self.until_fair.set(self.until_fair.get().min(interval));
        }
        self.counted_from.set(self.until_fair.get());
    }

    /// A task of the worker has blocked the thread in place, which says nothing about the others.
    pub(super) fn blocked_in_place(&self) {
        self.is_timed.set(false);
    }
}

/// Which of the worker's own queues is next.
impl Policy {
    /// The worker is about to park: a row of yields begins anew after that.
    pub(super) fn begin_row(&self) {
        self.until_yielded.set(INTAKE);
        self.until_poll.set(YIELDS_ALONE);
    }

    /// Whether the task from the next slot may run at once, and counts it: at most [`NEXT_CAP`] run in a row.
    #[inline]
    pub(super) fn may_run_from_next_slot(&self) -> bool {
        let polls = self.next_polls.get();
        if polls < NEXT_CAP {
            self.next_polls.set(polls + 1);
        }
        polls < NEXT_CAP
    }

    /// The next task comes from another queue.
    #[inline]
    pub(super) fn leave_next_slot(&self) {
        self.next_polls.set(0);
    }

    /// Counts a pop of the ready deque. `true`: a task that has yielded runs before that.
    #[inline]
    pub(super) fn is_yielded_due(&self) -> bool {
        let until_yielded = self.until_yielded.get();
        if until_yielded != 0 {
            self.until_yielded.set(until_yielded - 1);
            self.until_poll.set(YIELDS_ALONE);
        }
        until_yielded == 0
    }

    /// The next pop of the ready deque finds that a task that has yielded runs before.
    pub(super) fn yielded_is_due(&self) {
        self.until_yielded.set(0);
    }

    /// A task that has yielded runs in spite of ready ones, with `waiting` of its kind. All of them
    /// will have had one when [`INTAKE`] ready tasks have run, or as many ready tasks as there are of them.
    pub(super) fn yielded_runs(&self, waiting: usize) {
        self.until_yielded.set((INTAKE / waiting.max(1)).max(1));
    }

    /// Whether tasks that have yielded run without a poll of the driver, because it was polled in this row.
    #[inline]
    pub(super) fn is_row_over(&self) -> bool {
        self.until_poll.get() == 0
    }

    /// A task that has yielded is to run, no other is ready, and the row is not over. Returns whether the
    /// driver is polled before, after which something may be ready.
    #[must_use = "what an event has made ready may wait for the yielded task"]
    pub(super) fn yielded_alone(&self) -> bool {
        // The ready deque has been looked at, and was empty.
        self.until_yielded.set(INTAKE);
        let until_poll = self.until_poll.get().saturating_sub(1);
        self.until_poll.set(until_poll);
        until_poll == 0
    }

    /// The driver was polled, and nothing is ready. The look at the ready deque does not begin another row.
    pub(super) fn end_row(&self) {
        self.until_yielded.set(INTAKE);
        self.until_poll.set(0);
    }
}

/// The intake of shared work.
impl Policy {
    /// One tick: whether there is no intake in it.
    #[inline]
    pub(super) fn pauses(&self) -> bool {
        let pause = self.pause.get();
        if pause != 0 {
            self.pause.set(pause - 1);
        }
        pause != 0
    }

    /// Whether an intake is due, though no hint says that there is shared work. `queued` tasks are in the
    /// deque: thieves may have taken what the last intake brought.
    pub(super) fn is_intake_due(&self, queued: usize) -> bool {
        self.pause.set(self.pause.get().min(queued as u32));
        self.pause.get() == 0
    }

    /// The deque was popped, and a task was `found` or not. One that found nothing ends the pass.
    #[inline]
    pub(super) fn popped(&self, found: bool) {
        let pass = self.pass.get();
        if pass != 0 {
            self.end_pass_after(if found { pass - 1 } else { 0 });
        }
    }

    #[inline]
    fn end_pass_after(&self, pops: usize) {
        self.pass.set(pops);
        if pops == 0 {
            self.room.set(INTAKE);
        }
    }

    /// An intake begins, with `queued` tasks in the deque. Returns how many it may bring in; 0: until the
    /// pass ends, only the worker's channel is worth a look.
    pub(super) fn begin_intake(&self, queued: usize) -> usize {
        if self.pass.get() > queued {
            // Thieves have taken from what the pass was to last for.
            self.end_pass_after(queued);
        }
        self.room.get()
    }

    /// The injector has `brought` in tasks, of the `room` that there was for them. With these,
    /// `queued` tasks are in the deque.
    pub(super) fn brought(&self, room: usize, brought: usize, queued: usize) {
        // A small remainder is not worth an intake: what it brings would lengthen the queue by little, and
        // cost the next intake a whole round of the worker's own tasks.
        let left = room.saturating_sub(brought);
        self.room.set(if left < INTAKE / 2 { 0 } else { left });
        if brought != 0 && self.pass.get() == 0 {
            self.pass.set(queued);
        }
    }

    /// The intake is over: there was `room` for that many tasks, `brought` is the number of those that came
    /// from the injector, and `added` counts those from the channel, too.
    pub(super) fn end_intake(&self, room: usize, brought: usize, added: usize) {
        let pause = match room {
            0 => self.pass.get().min(FAIR_INTERVAL as usize) - 1,
            _ => brought,
        };
        self.pause.set(pause.max(added) as u32);
    }
}

/// The cost of tasks.
impl Policy {
    /// The clock is read; `ran` tasks have run in the `busy` nanoseconds since its last reading.
    ///
    /// The caller counts those nanoseconds for the busy time of the thread anyway, so they are computed once.
    pub(super) fn ran(&self, ran: u32, busy: u64) {
        if self.is_timed.replace(true) && ran != 0 {
            let each = (busy / u64::from(ran)).min(u64::from(nanoseconds(WANTED)));
            // Fits: no more than `WANTED`.
            self.cost.set((each as u32).max(self.cost.get() / 2));
            let is_short = each <= u64::from(nanoseconds(PAIR));
            self.calm.set(if is_short { self.calm.get().saturating_add(1) } else { 0 });
        }
    }

    /// How many tasks run until the next poll of the driver.
    pub(super) fn interval(&self) -> u32 {
        (nanoseconds(WANTED) / self.cost.get().max(1)).clamp(1, FAIR_INTERVAL)
    }

    /// Whether this number of tasks takes no longer than the time between two polls of the driver should be.
    pub(super) fn are_soon_done(&self, tasks: usize) -> bool {
        self.cost_of(tasks) <= WANTED
    }

    /// Whether this number of tasks, which events have woken, are one or two and done before a peer is awake.
    pub(super) fn is_short_pair(&self, tasks: usize) -> bool {
        tasks <= 2 && self.cost_of(tasks) <= PAIR && self.calm.get() >= CALM
    }

    /// Whether this number of tasks, which were woken together, are done sooner by this worker alone.
    pub(super) fn are_cheap(&self, tasks: usize) -> bool {
        self.cost_of(1) < CHEAP && self.cost_of(tasks) <= KEPT
    }

    /// The cost of this number of tasks.
    fn cost_of(&self, tasks: usize) -> Duration {
        Duration::from_nanos((tasks as u64).saturating_mul(u64::from(self.cost.get())))
    }

    /// After [`Policy::ran`], with the time that was read: whether the worker computes, and has done so for
    /// long enough to offer its core to others once.
    pub(super) fn offers(&self, now: Instant) -> bool {
        if self.interval() > LONG {
            return false;
        }
        let offered = self.offered.get().unwrap_or(now);
        let due = now.saturating_duration_since(offered) >= OFFER;
        self.offered.set(Some(if due { now } else { offered }));
        due
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
