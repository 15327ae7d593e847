//! The places at which a program asks whether it should misbehave.
//!
//! A place is armed for a whole run or not at all. So a run in which a place fires has it fire
//! again and again, and the next run has other places do so: rare combinations come up more often
//! than if each place fired now and then in every run.

use std::collections::BTreeMap;

use crate::choices::{Chance, Choices, Kind, entity, mix};

/// In how many runs a place is armed.
const ARMED: Chance = Chance::one_in(4);
/// How often an armed place fires.
const FIRES: Chance = Chance::one_in(4);

/// No hash map, whose first one on a thread would take keys from the system.
#[derive(Default)]
pub(crate) struct Places {
    /// Those that were reached, and whether they are armed.
    armed: BTreeMap<u64, bool>,
    /// Those that fired, each with the host on which it did.
    fired: BTreeMap<u64, String>,
}

impl Places {
    /// Whether the program on that host is to misbehave at the place now.
    pub(crate) fn fires(&mut self, choices: &mut Choices, host: &str, place: &str) -> bool {
        let here = entity(place);
        let is_armed = *self.armed.entry(here).or_insert_with(|| {
            // This is no disturbance: a place that is armed and never fires changes nothing.
            let mut draw = choices.draw(Kind::Run, here);
            draw.below(65_536) < u64::from(ARMED.0)
        });
        if !is_armed {
            return false;
        }
        // Each host counts for itself, so that none moves the choices of another one.
        let here = mix(here ^ entity(host));
        let fires = choices.disturbs(Kind::Buggify, here, FIRES).is_some();
        if fires {
            self.fired.entry(here).or_insert_with(|| format!("{place} on {host}"));
        }
        fires
    }

    /// What the choices were drawn by, in words.
    pub(crate) fn names(&self) -> impl Iterator<Item = (u64, String)> {
        self.fired.iter().map(|(place, name)| (*place, name.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn choices(seed: u64) -> Choices {
        Choices::new(seed, BTreeSet::new(), false, BTreeSet::new())
    }

    /// Which of a hundred questions at the place are answered with yes, beside those at others.
    fn answers(seed: u64, place: &str, beside: &[(&str, &str)]) -> Vec<usize> {
        let (mut choices, mut places) = (choices(seed), Places::default());
        let fires = |_: &usize| {
            for (host, other) in beside {
                places.fires(&mut choices, host, other);
            }
            places.fires(&mut choices, "a", place)
        };
        (0..100).filter(fires).collect()
    }

    #[test]
    fn a_place_is_armed_in_a_fourth_of_the_runs_and_fires_a_fourth_of_the_times() {
        let runs: Vec<usize> = (0..1_000).map(|seed| answers(seed, "x", &[]).len()).collect();
        let armed = runs.iter().filter(|fired| **fired > 0).count();
        assert!((200..300).contains(&armed), "armed in {armed} of 1,000 runs");
        let fired: usize = runs.iter().sum();
        let share = fired as f64 / (100 * armed) as f64;
        assert!((0.2..0.3).contains(&share), "an armed place fires {share} of the times");
    }

    #[test]
    fn two_places_are_armed_by_themselves() {
        let armed = |seed: &u64, place| !answers(*seed, place, &[]).is_empty();
        let both = (0..1_000).filter(|seed| armed(seed, "x") && armed(seed, "y")).count();
        assert!((30..100).contains(&both), "both are armed in {both} of 1,000 runs");
    }

    #[test]
    fn a_further_place_or_host_changes_no_answer() {
        for seed in 0..50 {
            let alone = answers(seed, "x", &[]);
            assert_eq!(alone, answers(seed, "x", &[("a", "y"), ("b", "x")]), "seed {seed}");
        }
    }

    #[test]
    fn no_place_fires_when_the_run_is_calm() {
        let fires = |seed: &u64, is_calm| {
            let (mut choices, mut places) = (choices(*seed), Places::default());
            if is_calm {
                choices.be_calm();
            }
            (0..100).any(|_| places.fires(&mut choices, "a", "x"))
        };
        assert!((0..100).any(|seed| fires(&seed, false)));
        assert!(!(0..100).any(|seed| fires(&seed, true)));
    }
}
