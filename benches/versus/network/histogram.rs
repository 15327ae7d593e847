//! Latencies, counted in buckets of constant relative width, so that a run of any length needs the
//! same small memory and a record costs no allocation.

use std::time::Duration;

/// Each power of two is cut into so many equal buckets: a value is off by less than one part of them.
const BITS: u32 = 7;
const PARTS: usize = 1 << BITS;
/// Up to 2^40 ns, which is 18 minutes.
const POWERS: usize = 40 - BITS as usize;

pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; (POWERS + 1) * PARTS], total: 0 }
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        let bucket = bucket(nanos).min(self.counts.len() - 1);
        self.counts[bucket] += 1;
        self.total += 1;
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Nanoseconds that `share` of the latencies do not exceed; 0 if there are none.
    pub(crate) fn quantile(&self, share: f64) -> u64 {
        let rank = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank.max(1)
        });
        reached.map_or(0, lowest)
    }
}

/// Each of the lowest values has a bucket of its own; above, the highest bits of the value are its
/// place among the parts of its power of two.
fn bucket(nanos: u64) -> usize {
    let power = nanos.max(1).ilog2().saturating_sub(BITS);
    let parts = (nanos >> power) as usize;
    power as usize * PARTS + parts
}

/// The lowest value in a bucket.
fn lowest(bucket: usize) -> u64 {
    let power = (bucket / PARTS).saturating_sub(1);
    ((bucket - power * PARTS) as u64) << power
}
