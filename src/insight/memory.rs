//! How much memory the tasks of each place have allocated and not given back, from a sample.

mod allocator;
mod samples;

pub use allocator::TrackingAllocator;

use crate::short::Place;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;

/// Memory that tasks of one place have allocated, and that has not been given back; from
/// [`memory_by_place`].
///
/// The task that has allocated it may have ended, and the memory may be another one's by now. The memory of a
/// task that is spawned counts for the task that spawns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceMemory {
    spawned_at: Option<&'static Location<'static>>,
    bytes: u64,
}

impl PlaceMemory {
    pub(super) fn new(spawned_at: Option<&'static Location<'static>>, bytes: u64) -> Self {
        Self { spawned_at, bytes }
    }

    /// Returns the place in the source from which the tasks were spawned. `None` stands for what was
    /// allocated outside tasks: by other threads, in blocking work, by the runtime, by the future of
    /// `block_on`, such as that of `main`.
    pub fn spawned_at(&self) -> Option<&'static Location<'static>> {
        self.spawned_at
    }

    /// Returns how many bytes it is, about.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl fmt::Display for PlaceMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MB by ", self.bytes / 1_000_000)?;
        match self.spawned_at {
            Some(place) => write!(f, "tasks from {}", Place(place)),
            None => f.write_str("other code than tasks"),
        }
    }
}

/// The standard deviation of an estimate of so many bytes.
pub(super) fn standard_deviation(bytes: f64) -> f64 {
    (bytes * samples::INTERVAL).sqrt()
}

/// Returns what tasks have allocated and not given back, by the places of their spawns, the most first.
///
/// It is known if the program's allocator is a [`TrackingAllocator`]; else there is none. The figures are
/// estimates from one allocation in 128 KiB. Of a place with 100 MB, two in three are within 4 %, and nearly
/// all within 12 %; of one with 1 MB, two in three are within 40 %.
pub fn memory_by_place() -> Vec<PlaceMemory> {
    let mut places: HashMap<_, u64> = HashMap::new();
    for (place, bytes) in samples::live() {
        *places.entry(place).or_default() += bytes;
    }
    let of = |(spawned_at, bytes)| PlaceMemory::new(spawned_at, bytes);
    let mut places: Vec<_> = places.into_iter().map(of).collect();
    places.sort_by_key(|place| (std::cmp::Reverse(place.bytes), place.spawned_at));
    places
}
