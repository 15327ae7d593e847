//! How long a share of all counted times is at most.

use crate::observe::histogram::{self, BUCKETS, HistogramCounts};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// The longest of a share of all times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantile {
    /// It is this long, give or take 6 %, or 32 ns.
    About(Duration),
    /// It is this long or longer; no more is known.
    From(Duration),
}

impl HistogramCounts {
    pub(super) fn total(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The middle of the bucket that this share of the counts ends in; of the last bucket, which has no end,
    /// its begin. Zero if nothing was counted.
    pub(super) fn quantile(&self, share: f64) -> Quantile {
        let wanted = ((self.total() as f64 * share).ceil() as u64).max(1);
        let mut counted = 0;
        let reached = self.buckets.iter().position(|count| {
            counted += count;
            counted >= wanted
        });
        match reached {
            None => Quantile::About(Duration::ZERO),
            Some(bucket) if bucket == BUCKETS - 1 => {
                Quantile::From(histogram::bounds(bucket).start)
            }
            Some(bucket) => {
                let Range { start, end } = histogram::bounds(bucket);
                Quantile::About((start + end) / 2)
            }
        }
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::About(time) => rounded(*time).fmt(f),
            Self::From(time) => write!(f, "≥ {} s", time.as_secs()),
        }
    }
}

/// The time with one or two digits that say something: "6.0 s", "117 ms", "1.0 ms", "20 µs".
fn rounded(time: Duration) -> String {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let seconds = time.as_secs_f64();
    match units.into_iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) if seconds < 10.0 * unit => format!("{:.1} {name}", seconds / unit),
        Some((unit, name)) => format!("{:.0} {name}", seconds / unit),
        None => format!("{} ns", time.as_nanos()),
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_one_way() {
        let nanoseconds = [256, 10_240, 1_048_576, 117_440_512, 6_442_450_944];
        let said = nanoseconds.map(|time| Quantile::About(Duration::from_nanos(time)).to_string());
        assert_eq!(said, ["256 ns", "10 µs", "1.0 ms", "117 ms", "6.4 s"]);
    }

    fn add(counts: &mut HistogramCounts, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        counts.buckets[histogram::bucket(nanoseconds)] += 1;
    }

    #[test]
    fn a_quantile_is_about_the_longest_of_that_share() {
        let mut counts = HistogramCounts::empty();
        assert_eq!(counts.quantile(0.5), Quantile::About(Duration::ZERO));
        (1..=100).for_each(|micros| add(&mut counts, Duration::from_micros(micros)));
        for (share, micros) in [(0.0, 1), (0.5, 50), (0.99, 99), (1.0, 100)] {
            let time = Duration::from_micros(micros);
            let Quantile::About(shown) = counts.quantile(share) else { panic!("{counts:?}") };
            assert!(shown.abs_diff(time) <= time * 7 / 100, "{share}: {shown:?}");
        }
        let last = histogram::bounds(BUCKETS - 1).start;
        add(&mut counts, last - Duration::from_nanos(1));
        let Quantile::About(shown) = counts.quantile(1.0) else { panic!("{counts:?}") };
        assert!(shown < last && shown >= last * 9 / 10, "{shown:?}");
        add(&mut counts, Duration::MAX);
        assert_ne!(counts.quantile(0.98), Quantile::From(last));
        assert_eq!(counts.quantile(1.0), Quantile::From(last), "it has no end");
    }
}
