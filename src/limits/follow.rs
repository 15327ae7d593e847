//! What follows from the limits that were read. Pure: the time and the reading come in.
//!
//! | read by the driver thread | the processors are |
//! |---|---|
//! | the thread's own affinity, as at its first reading | those of the start |
//! | another affinity | those: a change from outside |
//! | a cpuset | no more than that one has |
//!
//! The driver thread gets its affinity from the worker that starts it, which a program may have pinned to one
//! processor. So what it begins with says nothing about the process. A program does not know this thread, so
//! a change comes from outside: `taskset -a`, a cpuset, a processor that has gone offline.

use super::{Quota, Reading};
use std::time::{Duration, Instant};

/// How often limits are read while the runtime has work. It takes some 50 µs.
const EVERY: Duration = Duration::from_secs(1);

/// The first time is sooner: the program may have moved itself to a group.
const FIRST: Duration = Duration::from_millis(100);

/// How many workers are best for so many processors with that quota: one that may run all the time for each,
/// and one more for a part of a processor that is left over.
///
/// Rounded up, and not down as by std: the last worker has to wait, so that the quota is not used up
/// (`engine/scheduler/brake.rs`), and gets the part that would be lost.
pub(crate) fn workers(cpus: usize, quota: Option<Quota>) -> usize {
    cpus.min(quota.map_or(usize::MAX, Quota::threads)).max(1)
}

/// Knows the limits of the start, and when to read them again.
#[derive(Debug)]
pub(crate) struct Follow {
    /// The processors at the start.
    cpus: usize,
    /// The affinity of the thread that reads, when it did so first.
    own: Option<usize>,
    due: Instant,
}

impl Follow {
    pub(crate) fn new(cpus: usize, now: Instant) -> Self {
        Self { cpus, own: None, due: now + FIRST }
    }

    /// Whether the limits are to be read now. A clock that has gone back is no harm.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.due;
        if is_due {
            self.due = now + EVERY;
        }
        is_due
    }

    /// How many processors the process has by that reading.
    pub(crate) fn cpus(&mut self, reading: Reading) -> usize {
        let affinity = match (reading.affinity, self.own) {
            (Some(now), Some(first)) if now != first => now,
            (Some(now), _) => {
                self.own = Some(now);
                self.cpus
            }
            (None, _) => self.cpus,
        };
        affinity.min(reading.cpuset.unwrap_or(usize::MAX)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(percent: u64) -> Option<Quota> {
        Quota::new(Duration::from_millis(percent), Duration::from_millis(100))
    }

    #[test]
    fn there_is_a_worker_for_each_processor_and_each_part_of_one() {
        let rows: &[(usize, Option<Quota>, usize)] = &[
            (8, None, 8),
            (8, percent(100), 1),
            (8, percent(101), 2),
            (8, percent(150), 2),
            (8, percent(1), 1),
            (2, percent(400), 2),
            (1000, percent(10), 1),
            (1000, percent(100_000), 1000),
            (0, None, 1),
            (4, Quota::new(Duration::MAX, Duration::from_nanos(1)), 4),
        ];
        for &(cpus, quota, expected) in rows {
            assert_eq!(workers(cpus, quota), expected, "{cpus} and {quota:?}");
        }
    }

    #[test]
    fn only_changes_of_the_driver_threads_affinity_count() {
        let reading = |affinity, cpuset| Reading { affinity, cpuset, quota: None };
        // At the start there are 8 processors; the thread was started by a worker that is pinned to one.
        let mut follow = Follow::new(8, Instant::now());
        let rows = [
            (reading(Some(1), None), 8),
            (reading(Some(1), Some(4)), 4),
            (reading(Some(2), Some(4)), 2),
            (reading(Some(1), Some(8)), 8),
            (reading(Some(16), None), 16),
            (reading(None, None), 8),
            (reading(Some(1), Some(0)), 1),
        ];
        for (row, (reading, expected)) in rows.into_iter().enumerate() {
            assert_eq!(follow.cpus(reading), expected, "row {row}");
        }
    }

    #[test]
    fn limits_are_read_at_intervals() {
        let start = Instant::now();
        let mut follow = Follow::new(1, start);
        assert!(!follow.is_due(start));
        assert!(follow.is_due(start + FIRST) && !follow.is_due(start + FIRST));
        assert!(!follow.is_due(start), "the clock has gone back");
        assert!(follow.is_due(start + FIRST + EVERY));
    }
}
