//! How many tasks a worker runs between two polls of the driver: so many that the time between them is about
//! the same, whatever the tasks cost. Pure: the time is passed in.
//!
//! A count alone is no bound: 61 polls of 1 ms are 61 ms. A reading of the clock per task costs a third of
//! the cheapest task. So the worker reads the clock when it polls the driver anyway, and judges by the time
//! since the last reading how many tasks to run until the next. Tasks that become long are noticed at once,
//! and tasks that become short step by step: one long poll says more about the next than ten short ones.

use std::time::{Duration, Instant};

/// The most tasks between two polls of the driver. tokio's event interval is 61 too; a prime does not
/// fall into step with common numbers of tasks.
pub(super) const FAIR_INTERVAL: u32 = 61;

/// What the time between two polls of the driver should be. Long enough that a poll that finds nothing, which
/// costs about a microsecond, is no burden.
const WANTED: Duration = Duration::from_micros(200);

/// If the interval is this small, the tasks are long.
const LONG: u32 = 2;

/// A worker that computes beside a helper offers its core to others after so much time. The helper, and
/// the clients that it serves on this machine, need a core that a worker would keep to the end of its slice,
/// some milliseconds. Not more often: a thread that gives its core up loses the remainder of its slice to
/// threads that do not. Measured (`mixed_0.2ms`; two workers, the load on the same two cores): the 99th
/// percentile is
/// 0.8 to 1.2 of tokio's without it.
const OFFER: Duration = Duration::from_millis(1);

#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    interval: u32,
    /// The last reading of the clock; none if the worker has rested since.
    since: Option<Instant>,
    /// The last time that the worker offered its core.
    offered: Option<Instant>,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { interval: FAIR_INTERVAL, since: None, offered: None }
    }

    /// The worker has rested, so the time since the last reading says nothing about its tasks.
    pub(super) fn rested(self) -> Self {
        Self { since: None, ..self }
    }

    /// As many tasks as the last answer said have run, and it is `now`: how many may run until the next poll
    /// of the driver?
    pub(super) fn next(&mut self, now: Instant) -> u32 {
        if let Some(since) = self.since.replace(now) {
            let spent = now.saturating_duration_since(since);
            self.interval = if spent > WANTED {
                let fit = u128::from(self.interval) * WANTED.as_nanos() / spent.as_nanos();
                u32::try_from(fit).unwrap_or(FAIR_INTERVAL).max(1)
            } else {
                (self.interval * 2).min(FAIR_INTERVAL)
            };
        }
        self.interval
    }

    /// After [`Pace::next`]: whether the worker computes, and has done so for long enough to offer its core
    /// to others once.
    pub(super) fn offers(&mut self) -> bool {
        let Some(now) = self.since.filter(|_| self.interval <= LONG) else {
            return false;
        };
        let offered = *self.offered.get_or_insert(now);
        let due = now.saturating_duration_since(offered) >= OFFER;
        if due {
            self.offered = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_that_become_long_are_noticed_at_once_and_short_ones_step_by_step() {
        let mut now = Instant::now();
        let mut pace = Pace::new();
        let mut after = |time: Duration| {
            now += time;
            pace.next(now)
        };
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
        let mut now = Instant::now();
        let mut pace = Pace::new();
        let mut offers = |time: Duration| {
            now += time;
            pace.next(now);
            pace.offers()
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
        let start = Instant::now();
        let mut pace = Pace::new();
        pace.next(start);
        pace = pace.rested();
        assert_eq!(pace.next(start + Duration::from_secs(1)), FAIR_INTERVAL);
        assert_eq!(pace.next(start + Duration::from_secs(1) + 2 * WANTED), FAIR_INTERVAL / 2);
    }
}
