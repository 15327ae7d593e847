//! What a worker's tasks cost, and what follows from it: how many of them run between two polls of the
//! driver, and whether they are worth a peer. Pure: the time is passed in.
//!
//! A count alone is no bound between two polls: 61 polls of 1 ms are 61 ms. A reading of the clock takes some
//! 20 ns, and the cheapest poll some 24 (`sleep_cancel_one_task` and `yield_many` in `benches/README.md`), so
//! one reading per task would nearly double that poll. Therefore the worker reads the clock when it polls the
//! driver or parks anyway, and divides the time since the last reading by the tasks that have run. Tasks that
//! become long are noticed at once, and tasks that become short step by step: one long poll says more about
//! the next than ten short ones.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The most tasks between two polls of the driver. tokio's event interval is 61 too; a prime does not
/// fall into step with common numbers of tasks.
pub(super) const FAIR_INTERVAL: u32 = 61;

/// How much longer a debug build takes for a task, for a poll of the driver and for a look of the watchdog.
/// The lengths of time that are chosen by what these cost are longer there by as much. Measured (`tokio/bars
/// --debug`, with this for [`WANTED`] and for the length of a long poll against without): processor of
/// `http_64` 1.23 to 1.28 of tokio's against 1.44, of `http_500` 1.36 against 1.50, of `echo_1` 1.23 against
/// 1.47. The unit tests, which bring their own times, have the lengths of a release build.
pub(super) const BUILD_FACTOR: u64 = if cfg!(all(debug_assertions, not(test))) { 5 } else { 1 };

/// What the time between two polls of the driver should be. Long enough that a poll that finds nothing, which
/// costs about a microsecond, is no burden.
///
/// Rejected: 1 ms, for fewer and larger rounds. Measured (`axum::serve` and an echo, 64 and 500 connections,
/// the load on the same two cores; 21 slices each in turns): time 1.01 to 1.07 of what it is with 200 µs,
/// processor 1.02 to 1.11, because the other worker finds nothing meanwhile, and goes to sleep.
const WANTED: Duration = Duration::from_micros(200 * BUILD_FACTOR);

/// The largest [`Pace::interval`] at which the tasks count as long.
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

/// Changed in place and field by field: each rest changes some of the fields, and none of them all.
#[derive(Debug)]
pub(super) struct Pace {
    /// What a task costs in nanoseconds, at the most [`WANTED`].
    cost: Cell<u32>,
    /// The time since the last reading of the clock went to tasks: not before the first reading, nor after a
    /// task that has blocked in place.
    is_timed: Cell<bool>,
    /// The worker has rested since the last fair turn.
    rested: Cell<bool>,
    /// The last time that the worker offered its core.
    offered: Cell<Option<Instant>>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            cost: Cell::new(nanoseconds(WANTED) / FAIR_INTERVAL),
            is_timed: Cell::new(false),
            rested: Cell::new(true),
            offered: Cell::new(None),
        }
    }

    /// The worker has just read the clock after a rest, which is no task.
    pub(super) fn rested(&self) {
        self.is_timed.set(true);
        self.rested.set(true);
    }

    /// A task of the worker has blocked the thread in place, which says nothing about the others.
    pub(super) fn blocked_in_place(&self) {
        self.is_timed.set(false);
    }

    /// Whether the worker has rested since the last call.
    pub(super) fn take_rested(&self) -> bool {
        self.rested.replace(false)
    }

    /// The clock is read; `ran` tasks have run in the `busy` nanoseconds since its last reading.
    ///
    /// The caller counts those nanoseconds for the busy time of the thread anyway, so they are computed once.
    pub(super) fn ran(&self, ran: u32, busy: u64) {
        if self.is_timed.replace(true) && ran != 0 {
            let each = (busy / u64::from(ran)).min(u64::from(nanoseconds(WANTED)));
            // Fits: no more than `WANTED`.
            self.cost.set((each as u32).max(self.cost.get() / 2));
        }
    }

    /// How many tasks run until the next poll of the driver.
    pub(super) fn interval(&self) -> u32 {
        (nanoseconds(WANTED) / self.cost.get().max(1)).clamp(1, FAIR_INTERVAL)
    }

    /// Whether this number of tasks takes no longer than the time between two polls of the driver should be.
    pub(super) fn are_soon_done(&self, tasks: usize) -> bool {
        self.of(tasks) <= WANTED
    }

    /// Whether this number of tasks, which were woken together, are done sooner by this worker alone.
    pub(super) fn are_cheap(&self, tasks: usize) -> bool {
        self.of(1) < CHEAP && self.of(tasks) <= KEPT
    }

    /// What this number of tasks costs.
    fn of(&self, tasks: usize) -> Duration {
        Duration::from_nanos((tasks as u64).saturating_mul(u64::from(self.cost.get())))
    }

    /// After [`Pace::ran`], with the time that was read: whether the worker computes, and has done so for
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn in_64_bits(time: Duration) -> u64 {
        u64::try_from(time.as_nanos()).expect("a short time")
    }

    /// Runs as many tasks as the last answer said, in that time.
    fn next(pace: &Pace, time: Duration) -> u32 {
        pace.ran(pace.interval(), in_64_bits(time));
        pace.interval()
    }

    #[test]
    fn tasks_that_become_long_are_noticed_at_once_and_short_ones_step_by_step() {
        let pace = Pace::new();
        let after = |time| next(&pace, time);
        assert_eq!(after(Duration::ZERO), FAIR_INTERVAL);
        assert_eq!(after(WANTED), FAIR_INTERVAL);
        assert_eq!(after(10 * WANTED), FAIR_INTERVAL / 10);
        assert_eq!(after(Duration::from_secs(1)), 1);
        assert_eq!(after(Duration::from_secs(1)), 1);
        assert_eq!(
            [0; 7].map(|_| after(WANTED / 2)),
            [2, 4, 8, 16, 32, FAIR_INTERVAL, FAIR_INTERVAL]
        );
    }

    #[test]
    fn a_core_is_offered_by_a_worker_that_computes_and_once_in_a_while() {
        let (pace, mut now) = (Pace::new(), Instant::now());
        let mut offers = |time| {
            now += time;
            next(&pace, time);
            pace.offers(now)
        };
        assert_eq!([0; 4].map(|_| offers(WANTED)), [false; 4], "short tasks");
        assert_eq!([0; 4].map(|_| offers(WANTED / 10)), [false; 4], "shorter ones");
        offers(Duration::from_secs(1));
        let part = OFFER / 4;
        let offered = [0; 9].map(|_| offers(part));
        assert_eq!(offered, [false, false, false, true, false, false, false, true, false]);
    }

    #[test]
    fn a_rest_is_no_long_task() {
        let pace = Pace::new();
        pace.ran(1, 0);
        pace.rested();
        assert_eq!(pace.interval(), FAIR_INTERVAL);
        pace.ran(FAIR_INTERVAL, in_64_bits(2 * WANTED));
        assert_eq!(pace.interval(), FAIR_INTERVAL / 2);
        // Nothing ran, or what blocked in place: that says nothing about the tasks.
        pace.ran(0, in_64_bits(SECOND));
        pace.blocked_in_place();
        pace.ran(1, in_64_bits(SECOND));
        assert_eq!(pace.interval(), FAIR_INTERVAL / 2);
    }

    #[test]
    fn a_worker_knows_which_tasks_are_worth_a_peer() {
        let pace = Pace::new();
        pace.ran(1, 0);
        assert!(pace.are_soon_done(FAIR_INTERVAL as usize) && !pace.are_cheap(1), "not known");
        assert!(!pace.are_soon_done(FAIR_INTERVAL as usize + 1));
        let cost = |each: Duration| {
            // Until it is known, which takes several readings for shorter ones.
            for _ in 0..10 {
                pace.ran(10, in_64_bits(10 * each));
            }
        };
        cost(CHEAP / 2);
        assert!(pace.are_cheap(2_000) && !pace.are_cheap(2_001));
        cost(CHEAP);
        assert!(!pace.are_cheap(1));
        cost(SECOND);
        assert!(!pace.are_soon_done(2));
        cost(WANTED / 4);
        assert!(pace.are_soon_done(4) && !pace.are_soon_done(5));
        assert!(!pace.are_soon_done(usize::MAX));
    }
}
