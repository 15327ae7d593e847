//! How fast numbers grow that are counted by place, seen by several looks.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::panic::Location;
use std::time::{Duration, Instant};

/// The time that is judged, and the shortest. While no request comes, looks are mostly five seconds apart.
const WINDOW: Duration = Duration::from_secs(12);
const SHORTEST: Duration = Duration::from_secs(4);

type Place = &'static Location<'static>;

/// The looks at one runtime, the oldest first.
#[derive(Default)]
pub(in crate::insight) struct Rates {
    looks: VecDeque<(Instant, Vec<(Place, u64)>)>,
}

impl Rates {
    /// Takes a look at the numbers. A place that is missing counts as 0.
    pub(in crate::insight) fn look(
        &mut self,
        at: Instant,
        numbers: impl Iterator<Item = (Place, u64)>,
    ) {
        let age = |look: &(Instant, _)| at.saturating_duration_since(look.0);
        // One look that is older shows what was counted before the others.
        while self.looks.get(1).is_some_and(|second| age(second) >= WINDOW) {
            self.looks.pop_front();
        }
        self.looks.push_back((at, numbers.collect()));
    }

    /// The places whose numbers grow by `least` in a second, with by how much they do; the fastest first.
    pub(super) fn faster_than(&self, least: u64) -> Vec<(Place, u64)> {
        let Some((at, now)) = self.looks.back() else { return Vec::new() };
        let is_long_ago = |look: &&(Instant, _)| at.saturating_duration_since(look.0) >= SHORTEST;
        let Some((then, before)) = self.looks.iter().rev().find(is_long_ago) else {
            return Vec::new();
        };
        let seconds = at.saturating_duration_since(*then).as_secs_f64();
        let per_second = |&(place, number): &(Place, u64)| {
            let before = before.iter().find(|(other, _)| *other == place);
            let more = number.saturating_sub(before.map_or(0, |(_, before)| *before));
            (place, (more as f64 / seconds) as u64)
        };
        let mut found: Vec<_> = now.iter().map(per_second).collect();
        found.retain(|(_, per_second)| *per_second >= least);
        found.sort_by_key(|(place, per_second)| (Reverse(*per_second), *place));
        found
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    /// By how much a number grows in a second after looks in each second, if it is so large by then.
    fn found(seconds: u64, number: impl Fn(u64) -> u64) -> Vec<u64> {
        let (mut rates, begin, place) = (Rates::default(), Instant::now(), Location::caller());
        for second in 0..=seconds {
            let at = begin + Duration::from_secs(second);
            rates.look(at, [(place, number(second))].into_iter());
        }
        assert!(rates.looks.len() <= 14);
        rates.faster_than(1_000).into_iter().map(|(_, per_second)| per_second).collect()
    }

    #[test]
    fn what_grows_fast_is_found_until_it_has_ended() {
        assert_eq!(found(30, |second| 50_000 * second), [50_000]);
        assert_eq!(found(3, |second| 50_000 * second), [0; 0], "for short");
        assert_eq!(found(30, |second| 50_000 * second.min(25)), [0; 0], "it has ended");
        assert_eq!(found(30, |second| 900 * second), [0; 0], "it is slow");
        let second_life = |second: u64| if second < 28 { 1_000_000 } else { 10 };
        assert_eq!(found(30, second_life), [0; 0], "it begins anew");
    }
}
