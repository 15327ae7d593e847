//! Places whose tasks have allocated more and more that is not given back, seen by several looks.

use super::Finding;
use super::growth::{Grown, Growth};
use crate::insight::memory::{PlaceMemory, standard_deviation};
use std::panic::Location;
use std::time::{Duration, Instant};

/// The fewest bytes by which a place must have grown.
const LEAST: usize = 64_000_000;

/// And so many times the standard deviation of an estimate.
const DEVIATIONS: f64 = 5.0;

/// It must have grown for so long: a cache that is being filled grows, too.
const LONG: Duration = Duration::from_secs(60);

pub(in crate::insight) struct GrowingMemory(Growth<&'static Location<'static>>);

impl Default for GrowingMemory {
    fn default() -> Self {
        Self(Growth::lasting(LONG))
    }
}

impl GrowingMemory {
    /// Takes a look, of which the place with the most comes first.
    pub(in crate::insight) fn look(&mut self, at: Instant, memory: &[PlaceMemory]) {
        let bytes = |place: &PlaceMemory| usize::try_from(place.bytes()).unwrap_or(usize::MAX);
        self.0
            .look(at, memory.iter().filter_map(|place| Some((place.spawned_at()?, bytes(place)))));
    }

    pub(in crate::insight) fn findings(&self) -> Vec<Finding> {
        let finding = |Grown { what: spawned_at, before, now: bytes, duration }| {
            Finding::GrowingMemory { spawned_at, before, bytes, duration }
        };
        let is_sure = |grown: &Grown<_>| {
            (grown.now - grown.before) as f64 > DEVIATIONS * standard_deviation(grown.now as f64)
        };
        self.0.growing(LEAST).into_iter().filter(is_sure).map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(bytes: impl Fn(u64) -> u64) -> Vec<String> {
        let (mut memory, begin, place) =
            (GrowingMemory::default(), Instant::now(), Location::caller());
        for second in 0..90 {
            let of_tasks = PlaceMemory::new(Some(place), bytes(second));
            let of_others = PlaceMemory::new(None, second * 100_000_000);
            memory.look(begin + Duration::from_secs(second), &[of_others, of_tasks]);
        }
        memory.findings().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn memory_of_tasks_that_grows_for_long_is_told() {
        let grows = said(|second| second * 3_000_000);
        let [sentence] = &grows[..] else { panic!("{grows:?}") };
        assert!(sentence.contains("growing_memory.rs:"), "{sentence}");
        assert!(sentence.contains(" MB in 89 s"), "{sentence}");
        assert_eq!(said(|second| second.min(40) * 3_000_000), [""; 0], "it is full");
        assert_eq!(said(|second| second * 500_000), [""; 0], "too little");
        assert_eq!(said(|second| second % 30 * 9_000_000), [""; 0], "it is given back");
    }
}
