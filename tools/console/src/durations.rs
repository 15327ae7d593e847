//! How often a task took how long: a histogram that is small as long as the times are alike.

use console_api::tasks::DurationHistogram;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use std::time::Duration;

/// Each power of two has so many steps, 2 to the power of this.
const STEP_BITS: u32 = 3;
const STEPS: u64 = 1 << STEP_BITS;

/// A few bytes for each step that has occurred, and not an array of all steps: a program may have very many
/// tasks, and each has two of these.
#[derive(Default)]
pub(crate) struct Durations {
    /// Steps, and how often each has occurred. A task has few, so they are searched one after the other.
    counts: Vec<(u16, u32)>,
    longest: u64,
}

impl Durations {
    pub(crate) fn add(&mut self, duration: Duration) {
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.longest = self.longest.max(nanoseconds);
        let step = step(nanoseconds);
        match self.counts.iter_mut().find(|(known, _)| *known == step) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.counts.push((step, 1)),
        }
    }

    /// In the form of the protocol. `None` if there is nothing.
    pub(crate) fn histogram(&self) -> Option<DurationHistogram> {
        let mut histogram = Histogram::<u64>::new(2).ok()?;
        for &(step, count) in &self.counts {
            histogram.record_n(middle(step).min(self.longest), count.into()).ok()?;
        }
        let mut raw_histogram = Vec::new();
        V2Serializer::new().serialize(&histogram, &mut raw_histogram).ok()?;
        let max_value = self.longest;
        (!self.counts.is_empty()).then_some(DurationHistogram {
            raw_histogram,
            max_value,
            high_outliers: 0,
            highest_outlier: None,
        })
    }
}

/// Small numbers are steps of their own.
fn step(number: u64) -> u16 {
    if number < STEPS {
        return number as u16;
    }
    let shift = number.ilog2() - STEP_BITS;
    (u64::from(shift + 1) * STEPS + (number >> shift) % STEPS) as u16
}

/// The number in the middle of that step.
fn middle(step: u16) -> u64 {
    let step = u64::from(step);
    if step < STEPS {
        return step;
    }
    let shift = step / STEPS - 1;
    ((STEPS + step % STEPS) << shift) + (1 << shift >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn the_middle_of_a_step_is_near_its_numbers() {
        let mut last = 0;
        for number in (0..5_000).chain((0..64).map(|bit| 1 << bit)).chain([u64::MAX]) {
            let step = step(number);
            assert!(step >= last || number < 5_000, "{number}");
            last = step;
            let distance = middle(step).abs_diff(number);
            assert!(distance as f64 <= number as f64 / 16.0, "{number}: {}", middle(step));
        }
    }

    #[test]
    fn a_client_reads_what_was_added() {
        let mut durations = Durations::default();
        assert!(durations.histogram().is_none());
        for _ in 0..99 {
            durations.add(Duration::from_micros(10));
        }
        durations.add(Duration::from_secs(3));
        let sent = durations.histogram().unwrap();
        assert_eq!((sent.max_value, sent.high_outliers), (3_000_000_000, 0));
        let read: Histogram<u64> =
            Deserializer::new().deserialize(&mut &sent.raw_histogram[..]).unwrap();
        assert_eq!(read.len(), 100);
        let near = |wanted: u64, seen: u64| wanted.abs_diff(seen) * 100 < wanted * 8;
        assert!(near(10_000, read.value_at_quantile(0.5)), "{}", read.value_at_quantile(0.5));
        assert!(near(3_000_000_000, read.max()), "{}", read.max());
    }
}
