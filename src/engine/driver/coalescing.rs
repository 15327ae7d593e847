//! Coalescing: timers that are close together share a turn.
//!
//! A turn for one timer costs as much as one for a hundred: a sleep in the poller, a wake, the clock to be
//! set. Alone, a timer is worth that, and is served to the tick of the wheel. Where many tasks each have an
//! interval, every tick has its timer, and turns at each of them cost several times what the tasks
//! themselves do.
//!
//! # When timers are coalesced
//!
//! Timers are *dense* if at least [`DENSE`] of the ticks in the [`OUTLOOK`] after the last turn that fired
//! timers hold some. Then the next turn comes no sooner than [`DELAY_NS`] after that one, and fires all that
//! is due by then. It follows that
//!
//! - a timer is late by the wheel's tick and [`DELAY_NS`] at most: what was due at the last turn has
//!   fired there, so whatever waits for the end of the delay became due after its beginning;
//! - the first timers after a pause are served as if they were alone;
//! - what a few tasks wait for, each for one moment after the other, is never dense, however short their
//!   sleeps are: that there are many wakes is not the question, but whether one could serve several.
//!
//! What a thousand intervals of 10 ms cost that lie evenly in the period, as a multiple of tokio's processor
//! time, and how late their ticks are:
//!
//! | delay | processor time | 99 of 100 are late by less than |
//! |---|---|---|
//! | none | 5.5 | 100 to 350 µs |
//! | 250 µs | 1.5 | 330 µs |
//! | 400 µs | 1.15 | 480 µs |
//! | 500 µs | 0.9 | 590 µs |
//!
//! The median lateness is about half the delay, whatever decides when a delay begins, and each turn costs the
//! same. So a lower median is paid for in turns. On another machine, of 100,000 timers in a second the median
//! is 0.05 of tokio's without coalescing; with 120, 250 and 400 µs it is 0.09, 0.18 and 0.25, and the
//! processor time of the intervals 1.35, 0.79 and 0.84.
//!
//! Rejected: to judge by how many timers have fired lately. By that number, one task that sleeps for a
//! hundred microseconds again and again looks like many tasks. And longer ticks for the wheel: they delay a
//! lone timer, too.

use crate::engine::driver::timers::Timers;
use crate::engine::driver::wheel::TICK_BITS;
use crate::engine::sync_shim::atomic::Ordering;

/// How long after a turn that fired timers the next ones may have to wait, if they are dense.
const DELAY_NS: u64 = 400_000;

/// How many ticks are looked at: about a millisecond.
const OUTLOOK: u64 = 16;

/// Timers are dense if at least this many of the next [`OUTLOOK`] ticks have timers.
const DENSE: u32 = 4;

/// Entries looked at of a bucket that has not been opened yet. It is a hint: that there are more, and earlier
/// ones among them, is found out when the bucket is opened.
const SAMPLE: usize = 32;

impl Timers {
    /// The moment until which the next timers wait for each other; `None`: they do not. `served` is the time
    /// of the last turn that fired timers.
    pub(super) fn coalesced_until(&self, served: u64, now: u64) -> Option<u64> {
        let end = served.saturating_add(DELAY_NS);
        let is_near = now < end && self.next_deadline().is_some_and(|next| next < end);
        (is_near && self.is_dense(served)).then_some(end)
    }

    /// Whether many of the ticks that follow `time` hold timers.
    fn is_dense(&self, time: u64) -> bool {
        let end = time.saturating_add(OUTLOOK << TICK_BITS);
        let mut ahead = 0;
        for shard in &self.shards {
            // Ordering: Relaxed. The partner is `Shard::lower_next`; whether timers are dense is a guess,
            // and the lock orders what is read of the wheel.
            if shard.next.load(Ordering::Relaxed) <= end {
                ahead |= shard.timers.lock().wheel.ticks_ahead(time, OUTLOOK, SAMPLE);
            }
        }
        ahead.count_ones() >= DENSE
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
