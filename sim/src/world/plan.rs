//! What a seed decides about the whole run, before it begins.

use std::collections::BTreeSet;
use std::fmt;

use crate::choices::{Chance, Choices, Kind};
use crate::network::{MILLISECOND, Nanos};

/// The parameters of one run. Runs differ more from each other when each leaves something out and
/// exaggerates something else than when all take the middle of everything.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// How long each call of the program to the system takes.
    pub(crate) step: Nanos,
    /// How often a call is followed by a pause.
    pub(crate) pause: Chance,
    /// The longest usual pause.
    pub(crate) pause_most: Nanos,
    /// How often a pause is a stall, of up to [`STALL`].
    pub(crate) stall: Chance,
    /// How often a poll begins later than it could.
    pub(crate) poll: Chance,
    /// The longest time for which it does.
    pub(crate) poll_most: Nanos,
    /// How often a task is one that is polled when no other thread can run.
    pub(crate) slow: Chance,
    /// How often a thread that became ready later runs first.
    pub(crate) overtake: Chance,
    /// How many processors a host sees.
    pub(crate) cpus: usize,
    /// How far the clock of a host is too fast or too slow at most, in parts of a million.
    pub(crate) drift: u32,
    /// How wrong the date of a host is at most, in nanoseconds.
    pub(crate) skew: Nanos,
}

/// The longest time for which a thread that wants to run does not: what a busy machine does to a
/// thread.
pub(crate) const STALL: Nanos = 20_000_000;

impl Plan {
    /// Nothing is disturbed.
    pub(crate) const CALM: Plan = Plan {
        step: 300,
        pause: Chance::NEVER,
        pause_most: 1,
        stall: Chance::NEVER,
        poll: Chance::NEVER,
        poll_most: 1,
        slow: Chance::NEVER,
        overtake: Chance::NEVER,
        cpus: 1,
        drift: 0,
        skew: 0,
    };

    pub(crate) fn draw(choices: &mut Choices) -> Plan {
        let mut draw = choices.draw(Kind::Run, 0);
        let mut one_of = |chances: &[Chance]| chances[draw.below(chances.len() as u64) as usize];
        let pause = one_of(&[
            Chance::one_in(8),
            Chance::one_in(8),
            Chance::one_in(32),
            Chance::one_in(128),
        ]);
        let stall = one_of(&[Chance::NEVER, Chance::one_in(64), Chance::one_in(512)]);
        let overtake =
            one_of(&[Chance::NEVER, Chance::one_in(2), Chance::one_in(8), Chance::one_in(32)]);
        let poll =
            one_of(&[Chance::one_in(2), Chance::one_in(4), Chance::one_in(8), Chance::one_in(32)]);
        let slow = one_of(&[Chance::NEVER, Chance::NEVER, Chance::one_in(2), Chance::one_in(8)]);
        let step = 100 + draw.below(900);
        let pause_most = [20_000, 100_000, 500_000][draw.below(3) as usize];
        let cpus = 1 + draw.below(4) as usize;
        let poll_most = [pause_most, STALL][draw.below(2) as usize];
        // A bad crystal, and machines that keep their date by NTP, well or badly.
        let drift = [0, 20, 200][draw.below(3) as usize];
        let skew = [0, 1, 100, 900][draw.below(4) as usize] * MILLISECOND;
        Plan { step, pause, pause_most, stall, poll, poll_most, slow, overtake, cpus, drift, skew }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one_in = |chance: Chance| match 65_536_u32.checked_div(chance.0) {
            Some(n) => format!("1 in {n}"),
            None => "never".to_owned(),
        };
        write!(
            f,
            "{} processors; a call takes {} ns; pauses {} of up to {} µs; stalls {} of the pauses; \
             late polls {} of up to {} µs; slow tasks {}; overtakes {}; clocks drift by up to \
             {} ppm, dates are wrong by up to {} ms",
            self.cpus,
            self.step,
            one_in(self.pause),
            self.pause_most / 1_000,
            one_in(self.stall),
            one_in(self.poll),
            self.poll_most / 1_000,
            one_in(self.slow),
            one_in(self.overtake),
            self.drift,
            self.skew / MILLISECOND,
        )
    }
}

/// The kinds of disturbances that a run is to be without, by the variable `LITEN_SIM_CALM`:
/// `pause,overtake`.
pub(crate) fn calm_kinds(list: &str) -> BTreeSet<Kind> {
    let named =
        |word: &str| Kind::ALL.iter().find(|(_, name)| *name == word).map(|(kind, _)| *kind);
    list.split(',').filter_map(|word| named(word.trim())).collect()
}
