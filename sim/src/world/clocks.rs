//! What time it is on a host. The clocks of two machines never run alike.
//!
//! A host's deadlines are points of its own time. They become points of the run's time when a timer
//! is set, and again when the rate of the clock changes.

use std::cmp::Reverse;

use super::actor::{State, Waits};
use super::{Due, World};
use crate::choices::{Chance, Kind, entity};
use crate::network::{MILLISECOND, Nanos};
use crate::objects::ObjectId;

const MILLION: i64 = 1_000_000;

/// The clock of a machine that only counts on, from 0 at the beginning of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// Since this time of the run it has had its present rate.
    since: Nanos,
    /// What it showed then.
    showed: Nanos,
    /// How many nanoseconds it goes on in a million of the run's.
    rate: i64,
}

impl Clock {
    /// A clock that is right at `now`, and is as fast as the run's.
    pub(crate) fn new(now: Nanos) -> Self {
        Self { since: now, showed: now, rate: MILLION }
    }

    /// Lets it gain so many parts of a million from `now` on.
    ///
    /// # Panics
    ///
    /// When it would not go on any more.
    pub(crate) fn set_drift(&mut self, now: Nanos, ppm: i32) {
        let rate = MILLION + i64::from(ppm);
        assert!(rate > 0, "liten-sim: a clock goes on");
        *self = Self { since: now, showed: self.shows(now), rate };
    }

    /// What it shows when the run's time is `now`.
    pub(crate) fn shows(&self, now: Nanos) -> Nanos {
        let span = now.saturating_sub(self.since);
        self.showed.saturating_add(scaled(span, self.rate, MILLION, 0))
    }

    /// When it shows `time` at first, or a later time. No earlier than its last change.
    pub(crate) fn when(&self, time: Nanos) -> Nanos {
        let span = time.saturating_sub(self.showed);
        // Rounded up, so that no wait ends before its time.
        self.since.saturating_add(scaled(span, MILLION, self.rate, self.rate - 1))
    }
}

/// `(span * by + add) / over`.
fn scaled(span: Nanos, by: i64, over: i64, add: i64) -> Nanos {
    if by == over {
        return span;
    }
    // The product has 64 and 32 bits.
    let scaled = (i128::from(span) * i128::from(by) + i128::from(add)) / i128::from(over);
    Nanos::try_from(scaled).unwrap_or(Nanos::MAX)
}

impl World {
    /// What the clock of the running host shows.
    pub(crate) fn local_now(&self) -> Nanos {
        self.hosts[self.running_host()].clock.shows(self.now)
    }

    /// What it will show after `span`, as far as it tells.
    pub(crate) fn local_after(&self, span: Nanos) -> Nanos {
        self.local_now().saturating_add(span)
    }

    /// When the clock of the running host shows `time`.
    pub(crate) fn when(&self, time: Nanos) -> Nanos {
        self.hosts[self.running_host()].clock.when(time)
    }

    /// The clock by which an object counts: that of the host which made it.
    pub(crate) fn clock_of(&self, id: ObjectId) -> Option<Clock> {
        self.objects.get(id).map(|object| self.hosts[object.host].clock)
    }

    /// Draws how the clocks of a new host differ from the run's.
    ///
    /// Both are disturbances, so that a report says whether a failure needs them.
    pub(crate) fn draw_clocks(&mut self, host: usize) {
        let (drift, skew) = (self.plan.drift, self.plan.skew);
        let name = self.hosts[host].name.clone();
        if let Some(ppm) = self.drawn_within(&format!("rate {name}"), drift.into()) {
            self.hosts[host].clock.set_drift(self.now, ppm as i32);
            self.name_clock("rate", &name, format!("{name}, {ppm:+} ppm"));
        }
        if let Some(skew) = self.drawn_within(&format!("date {name}"), skew) {
            self.hosts[host].clock_ahead = skew;
            let millis = skew as f64 / MILLISECOND as f64;
            self.name_clock("date", &name, format!("{name}, {millis:+.3} ms ahead"));
        }
    }

    /// A number between `-most` and `most`, if `most` is not 0.
    fn drawn_within(&mut self, what: &str, most: u64) -> Option<i64> {
        let chance = if most == 0 { Chance::NEVER } else { Chance::ALWAYS };
        let mut draw = self.choices.disturbs(Kind::Clock, entity(what), chance)?;
        Some(draw.below(2 * most + 1) as i64 - most as i64)
    }

    fn name_clock(&mut self, what: &str, host: &str, text: String) {
        self.names.insert(entity(&format!("{what} {host}")), text);
    }

    /// Lets the clock of `host` gain so many parts of a million. Waits that have begun end by the
    /// new rate.
    pub(crate) fn set_drift(&mut self, host: usize, ppm: i32) {
        let before = self.hosts[host].clock;
        self.hosts[host].clock.set_drift(self.now, ppm);
        let clock = self.hosts[host].clock;
        let timers: Vec<_> = self.timers.drain().collect();
        for Reverse((when, number, due)) in timers {
            let when =
                if self.counts_by(due, host) { clock.when(before.shows(when)) } else { when };
            self.timers.push(Reverse((when, number, due)));
        }
    }

    /// Whether the time of `due` is one of the clock of `host`. What the run itself does to threads
    /// has times of the run.
    fn counts_by(&self, due: Due, host: usize) -> bool {
        match due {
            Due::Wait(actor, _) => {
                let actor = &self.actors[actor.0];
                let is_of_run = match &actor.state {
                    State::Blocked(waits) => {
                        waits.are_of_a_disturbance() || *waits == Waits::Clients
                    }
                    _ => false,
                };
                actor.host == host && !is_of_run
            }
            Due::Timer(object, _) => {
                self.objects.get(object).is_some_and(|object| object.host == host)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::Draw;

    #[test]
    fn a_wait_is_as_short_as_it_can_be_and_no_shorter() {
        let mut draw = Draw::from_seed(11);
        let mut clock = Clock::new(7);
        let mut now = 7;
        for _ in 0..20_000 {
            if draw.below(10) == 0 {
                let shown = clock.shows(now);
                clock.set_drift(now, draw.below(1_999_999) as i32 - 999_999);
                assert_eq!(clock.shows(now), shown, "a new rate is no jump");
            }
            let size = draw.below(40);
            let span = draw.below(1 << size);
            let deadline = clock.shows(now) + span;
            let when = clock.when(deadline);
            assert!(clock.shows(when) >= deadline, "{clock:?} {span}");
            assert!(when == clock.since || clock.shows(when - 1) < deadline, "{clock:?} {span}");
            now += draw.below(1 << 20);
        }
    }

    #[test]
    fn a_deadline_that_never_comes_stays_so() {
        let mut clock = Clock::new(0);
        for ppm in [0, 200, -200, 1_000_000, -999_999] {
            clock.set_drift(1_000, ppm);
            assert!(clock.when(Nanos::MAX) > Nanos::MAX / 3, "{ppm}");
            assert_eq!(clock.when(0), 1_000, "{ppm}");
        }
    }

    #[test]
    #[should_panic(expected = "a clock goes on")]
    fn no_clock_goes_back() {
        Clock::new(0).set_drift(0, -1_000_000);
    }
}
