//! How often something took how long, counted by one thread and read by others.
//!
//! Each doubling of the time has eight buckets, so the middle of a bucket is at most 6 % from all in it. All
//! numbers are fixed, so histograms of several threads can be added up, and to count one takes no division.

use crate::engine::nanos::nanos;
use crate::engine::scheduler::Count;
use std::array;
use std::ops::Range;
use std::time::Duration;

/// What takes less than two to the power of this, in nanoseconds, is in the first bucket: 64 ns. To read the
/// clock takes about as long.
const FIRST_BITS: u32 = 6;
/// What takes two to the power of this and more, in nanoseconds, is in the last bucket: 17 s.
const LAST_BITS: u32 = 34;
/// Two to the power of this is the number of buckets for one doubling.
const PART_BITS: u32 = 3;

/// Polls of this length and longer are counted when the watchdog reports them. It is a bound of buckets, and
/// more than two of the watchdog's longest pauses, so that the watchdog sees each.
pub(super) const RARE_POLL: Duration = Duration::from_nanos(1 << 24);

/// How many buckets there are.
pub(crate) const BUCKETS: usize = (((LAST_BITS - FIRST_BITS) << PART_BITS) + 2) as usize;

/// The two threads that may count in one histogram write to buckets, and to sums, of their own: see
/// [`Histogram::add_rare`].
pub(super) struct Histogram {
    counts: [Count; BUCKETS],
    /// In nanoseconds.
    sum: Count,
    rare_sum: Count,
}

/// The times of one worker.
pub(super) struct Histograms {
    /// How long polls took: a sample of the short ones, by the worker, and all long ones, by the watchdog.
    pub(super) poll_times: Histogram,
    /// How long tasks that were spawned or woken were ready before they were polled: all, or a sample.
    pub(super) latencies: Histogram,
}

impl Histograms {
    pub(super) fn new() -> Self {
        Self { poll_times: Histogram::new(), latencies: Histogram::new() }
    }
}

/// What a histogram had counted at one time, or several of them together.
#[derive(Debug, Clone)]
pub(crate) struct HistogramCounts {
    pub(crate) buckets: [u64; BUCKETS],
    pub(crate) sum: Duration,
}

impl Histogram {
    pub(super) fn new() -> Self {
        let counts = array::from_fn(|_| Count::default());
        Self { counts, sum: Count::default(), rare_sum: Count::default() }
    }

    /// Counts `times` times what took `time`.
    pub(super) fn add(&self, time: Duration, times: u64) {
        let nanoseconds = nanos(time);
        self.counts[bucket(nanoseconds)].add(times);
        add(&self.sum, nanoseconds.saturating_mul(times));
    }

    /// Counts once what took `time`. For the thread that counts the long times, which the caller of
    /// [`Histogram::add`] does not count.
    pub(super) fn add_rare(&self, time: Duration) {
        let nanoseconds = nanos(time);
        self.counts[bucket(nanoseconds)].add(1);
        add(&self.rare_sum, nanoseconds);
    }

    pub(super) fn read(&self) -> HistogramCounts {
        let buckets = array::from_fn(|bucket| self.counts[bucket].get());
        let sum = self.sum.get().saturating_add(self.rare_sum.get());
        HistogramCounts { buckets, sum: Duration::from_nanos(sum) }
    }

    /// What one bucket has counted; 0 if there is no such bucket.
    pub(super) fn count(&self, bucket: usize) -> u64 {
        self.counts.get(bucket).map_or(0, Count::get)
    }
}

impl HistogramCounts {
    pub(crate) fn empty() -> Self {
        Self { buckets: [0; BUCKETS], sum: Duration::ZERO }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (bucket, other) in self.buckets.iter_mut().zip(other.buckets) {
            *bucket += other;
        }
        self.sum += other.sum;
    }
}

/// Adds to a sum, up to the largest number. Only the thread that counts in it may call this.
fn add(sum: &Count, nanoseconds: u64) {
    sum.add(nanoseconds.min(u64::MAX - sum.get()));
}

/// The bucket in which a time of `nanoseconds` is counted.
pub(crate) fn bucket(nanoseconds: u64) -> usize {
    // The highest bit says which doubling it is, the next ones which part of that.
    let bits = (nanoseconds | 1).ilog2();
    if bits < FIRST_BITS {
        return 0;
    }
    let part = (nanoseconds >> (bits - PART_BITS)) as usize & ((1 << PART_BITS) - 1);
    let bucket = 1 + (((bits - FIRST_BITS) << PART_BITS) as usize) + part;
    bucket.min(BUCKETS - 1)
}

/// What is counted in `bucket`: from the first time on, below the second one.
///
/// # Panics
///
/// Panics if there is no such bucket.
pub(crate) fn bounds(bucket: usize) -> Range<Duration> {
    assert!(bucket < BUCKETS, "there are {BUCKETS} buckets, from 0 on");
    let end = if bucket == BUCKETS - 1 { Duration::MAX } else { lowest(bucket + 1) };
    lowest(bucket)..end
}

fn lowest(bucket: usize) -> Duration {
    let Some(above) = bucket.checked_sub(1) else { return Duration::ZERO };
    let (doubling, part) = (above >> PART_BITS, above as u64 & ((1 << PART_BITS) - 1));
    let whole = (1 << PART_BITS) + part;
    Duration::from_nanos(whole << (doubling as u32 + FIRST_BITS - PART_BITS))
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_time_is_in_one_bucket_and_within_its_bounds() {
        proptest!(|(shift in 0..64_u32, word: u64)| {
            let time = word >> shift;
            let within = bounds(bucket(time));
            prop_assert!(within.contains(&Duration::from_nanos(time)), "{time} in {within:?}");
        });
        for index in 1..BUCKETS {
            assert_eq!(bounds(index - 1).end, bounds(index).start, "no gap before {index}");
        }
        assert_eq!(bounds(0), Duration::ZERO..Duration::from_nanos(64));
        assert_eq!(bounds(BUCKETS - 1), Duration::from_nanos(1 << LAST_BITS)..Duration::MAX);
    }

    #[test]
    fn the_bounds_of_a_bucket_are_an_eighth_apart_at_most() {
        for index in 1..BUCKETS - 1 {
            let Range { start, end } = bounds(index);
            assert!((end - start) * 8 <= start, "{start:?}..{end:?}");
        }
    }

    #[test]
    fn what_two_threads_count_is_added_up() {
        let histogram = Histogram::new();
        let (short, long) = (Duration::from_nanos(300), Duration::from_secs(3_600));
        histogram.add(short, 60);
        histogram.add_rare(long);
        let mut counts = histogram.read();
        let total = |counts: &HistogramCounts| counts.buckets.iter().sum::<u64>();
        assert_eq!((total(&counts), counts.sum), (61, 60 * short + long));
        assert_eq!([histogram.count(bucket(300)), histogram.count(BUCKETS - 1)], [60, 1]);
        assert_eq!(histogram.count(BUCKETS), 0);
        counts.add(&histogram.read());
        assert_eq!(total(&counts), 122);
    }
}
