//! Which tasks are long: their polls take so long that short tasks should not wait for them.
//!
//! A task that yields leaves the way to others. But most tasks that compute do not yield. They wait for a
//! message or for a request, or are spawned for one piece of work, and so they would count as ready, like the
//! short tasks that answer events. So a *long* task, when it is woken or spawned, queues with those that have
//! yielded, and everything that is said of these is true of it: it runs when nothing is ready, or after a
//! bounded number of ready tasks; helpers leave it to the regular workers; the brake holds it.
//!
//! | task | is long |
//! |---|---|
//! | one of class `Bulk` | always (worker/classes.rs) |
//! | one of class `Latency` | never |
//! | one that is woken | by the record of its own polls (task/home.rs) |
//! | a new one | if the first polls of tasks of its type were mostly long: by [`LongTypes`] |
//!
//! # All that is called long
//!
//! | what | from | and then | constant |
//! |---|---|---|---|
//! | a worker's tasks, on average | 67 µs | it offers its core to helpers at times | `LONG` in policy.rs |
//! | its polls since the last look, on average | 150 µs | it is *slow* | `LONG_POLL` in decision.rs |
//! | one poll | 500 µs | it lengthens the record of its task, or type | [`LONG_FROM`] |
//! | one poll, if no regular worker is free | 10 ms | it is reported | `REPORT_AFTER` in decision.rs |
//! | one poll | 50 ms | workers that move take what has yielded | `YIELDED_AFTER` in decision.rs |
//! | a task that has been polled | 2 long polls more than short | it is long | `LONG` in home.rs |
//! | a new one | 4 long first polls more than short | it is long | [`LONG`] |
//!
//! # When polls are timed
//!
//! A reading of the clock costs as much as the cheapest poll (policy.rs), so polls are timed only while
//! the watchdog says that ready tasks wait for long polls (`History::polls_are_long`). A worker asks at
//! its fair turns and after a sleep, and keeps the answer among the flags that it reads before each poll,
//! at each wake and each spawn anyway. So nothing costs more while polls are short. Blocking in place ends
//! it until the worker asks again. A worker that times no polls takes each task that it wakes for a short
//! one, and each poll there clears the record. A task that is spawned by a thread that is no worker counts
//! as short at first, because each such spawn would pay for asking.
//!
//! A record is of one task, and not of its type, where the task itself has been polled: the connections of a
//! server are of one type, and few of them ask for much at a time. For a new task the type is all that is
//! known. If half of the first polls of a type are short, none of its tasks is long: such a type may be what
//! many requests wait for.
//!
//! # What it costs
//!
//! * A short task that waits for a long one, for a lock or an answer, waits for what is ready as well, and
//!   with a quota for the brake. Helpers, which run a ready task after a millisecond, leave a long one alone
//!   for 50.
//! * Tasks of one type may be long and short, such as boxed futures. While most first polls of the type are
//!   long, the short ones wait as the long ones do until they have been polled.
//! * A task that is cancelled counts as short, because its destructor may free what others wait for. Time
//!   that a task blocks in place does not count as the length of its poll.
//!
//! Rejected: to count as long what a long task spawns. A task that computes may spawn what answers others.
//! And: to let the watchdog mark the polls that it finds under way, without a reading of the clock. It looks
//! every half millisecond at most, so it misses half of the polls of 1 ms; and the threads that it finds in
//! one poll for long are mostly those that the system does not let run.

use crate::engine::scheduler::policy::BUILD_FACTOR;
use crate::engine::sync_shim::atomic::{AtomicU8, Ordering};
use crate::engine::task::header::FutureType;
use crossbeam_utils::CachePadded;
use std::array;
use std::time::Duration;

/// A poll of this length is long. Well above what handlers of requests mostly take, and shorter than the
/// time slices of the system.
pub(super) const LONG_FROM: Duration = Duration::from_micros(500 * BUILD_FACTOR);

/// Entries for types. Two types that share one count as one.
const TYPES: usize = 64;
/// New tasks of a type are long from this level on: so many more first polls were long than short.
const LONG: u8 = 4;
const HIGHEST: u8 = 8;

/// The types of futures whose tasks are long from the beginning.
pub(super) struct LongTypes(CachePadded<[AtomicU8; TYPES]>);

impl LongTypes {
    pub(super) fn new() -> Self {
        Self(CachePadded::new(array::from_fn(|_| AtomicU8::new(0))))
    }

    /// A task of that type was polled for the first time.
    pub(super) fn first_poll(&self, of: FutureType, was_long: bool) {
        let level = self.level(of);
        // Ordering: Relaxed, a guess that orders nothing. One of two changes at the same time may be lost.
        let before = level.load(Ordering::Relaxed);
        let after = after_first_poll(before, was_long);
        if after != before {
            level.store(after, Ordering::Relaxed);
        }
    }

    /// Whether a new task of that type is long.
    pub(super) fn is_long(&self, of: FutureType) -> bool {
        // Ordering: Relaxed, see `first_poll`.
        self.level(of).load(Ordering::Relaxed) >= LONG
    }

    fn level(&self, of: FutureType) -> &AtomicU8 {
        // The middle of the product depends on all lower bits of the address.
        &self.0[((of.address() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize
            & (TYPES - 1)]
    }
}

/// The level of a type after a first poll.
fn after_first_poll(level: u8, was_long: bool) -> u8 {
    if was_long { HIGHEST.min(level + 1) } else { level.saturating_sub(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First polls by their number, and whether they were long, and whether new tasks are afterwards.
    const TABLE: [(&[(u8, bool)], bool); 6] = [
        (&[], false),
        (&[(LONG - 1, true)], false),
        (&[(LONG, true)], true),
        (&[(100, false), (LONG, true)], true),
        (&[(100, true), (HIGHEST - LONG, false)], true),
        (&[(100, true), (HIGHEST - LONG + 1, false)], false),
    ];

    #[test]
    fn new_tasks_are_long_when_most_first_polls_of_their_type_were() {
        for (polls, is_long) in TABLE {
            let after = |level, &(number, was_long): &(u8, bool)| {
                (0..number).fold(level, |level, _| after_first_poll(level, was_long))
            };
            assert_eq!(polls.iter().fold(0, after) >= LONG, is_long, "{polls:?}");
        }
    }

    #[test]
    fn half_of_the_first_polls_are_not_most() {
        let mut level = 0;
        for poll in 0..100 {
            level = after_first_poll(level, poll % 2 == 0);
            assert!(level < LONG);
        }
    }
}
