//! Rounds in which both processes have their turn, and the ratios that come of them.

use crate::contestant::Contestant;
use crate::statistics::{Spread, median};
use std::fmt;
use std::time::Duration;

const ROUNDS: usize = 15;
/// What the slower of the two should take for its turn.
const SLICE: Duration = Duration::from_millis(50);
/// So often it is tried how many operations that makes. Each try is a warm-up as well.
const TRIES: usize = 8;

/// What one turn has cost, per operation.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) time: f64,
    pub(crate) processor: f64,
}

/// One round: the cost for the package over liten, and for tokio.
pub(crate) type Round = [Cost; 2];

/// What the first costs in relation to the second.
pub(crate) struct Ratios {
    time: Spread,
    processor: f64,
}

impl Ratios {
    pub(crate) fn of(rounds: &[Round]) -> Self {
        Self {
            time: Spread::of(rounds.iter().map(|[face, real]| face.time / real.time)),
            processor: median(rounds.iter().map(|[face, real]| face.processor / real.processor)),
        }
    }
}

impl fmt::Display for Ratios {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread { lowest, median, highest } = self.time;
        write!(
            f,
            "time {median:.2} ({lowest:.2} to {highest:.2})   processor {:.2}",
            self.processor
        )
    }
}

/// Plays `rounds` rounds of `turn`, which measures one of the two. The first one changes with each round.
pub(crate) fn play(
    pair: &mut [Contestant; 2],
    rounds: usize,
    mut turn: impl FnMut(&mut Contestant, usize) -> Result<Cost, String>,
) -> Result<Ratios, String> {
    let mut played = Vec::with_capacity(rounds);
    for round in 0..rounds {
        let mut costs = [Cost { time: f64::NAN, processor: f64::NAN }; 2];
        for index in [round % 2, 1 - round % 2] {
            costs[index] = turn(&mut pair[index], index)?;
        }
        played.push(costs);
    }
    Ok(Ratios::of(&played))
}

/// Measures work inside the processes.
pub(crate) fn work(
    pair: &mut [Contestant; 2],
    name: &str,
    first_count: usize,
) -> Result<Ratios, String> {
    let mut count = first_count;
    for _ in 0..TRIES {
        let mut slower = Duration::ZERO;
        for contestant in &mut *pair {
            slower = slower.max(timed(contestant, name, count)?);
        }
        count = scaled(count, slower);
    }
    play(pair, ROUNDS, |contestant, _| {
        let before = contestant.processor_time()?;
        let time = timed(contestant, name, count)?;
        let processor = contestant.processor_time()? - before;
        Ok(Cost { time: time.as_secs_f64(), processor: processor.as_secs_f64() })
    })
}

fn timed(contestant: &mut Contestant, name: &str, count: usize) -> Result<Duration, String> {
    contestant.ask(format_args!("work {name} {count}")).map(Duration::from_nanos)
}

/// The number of operations that takes a slice, if `count` take `taken`. It grows or shrinks by ten at most,
/// because a first measurement may be far off.
fn scaled(count: usize, taken: Duration) -> usize {
    let factor = SLICE.as_secs_f64() / taken.as_secs_f64().max(1e-9);
    ((count as f64 * factor.clamp(0.1, 10.0)) as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::{Cost, Ratios, SLICE, scaled};

    #[test]
    fn the_ratio_is_the_median_of_the_rounds_own() {
        let round =
            |face, real| [face, real].map(|cost| Cost { time: cost, processor: 2.0 * cost });
        // The medians of the columns would give 4 / 3.
        let ratios = Ratios::of(&[round(4.0, 8.0), round(1.0, 3.0), round(9.0, 1.0)]);
        assert_eq!(ratios.to_string(), "time 0.50 (0.33 to 9.00)   processor 0.50");
    }

    #[test]
    fn the_number_of_operations_follows_the_time_they_take_and_never_jumps() {
        assert_eq!(scaled(100, SLICE), 100);
        assert_eq!(scaled(100, SLICE / 2), 200);
        assert_eq!(scaled(100, SLICE / 1000), 1000);
        assert_eq!(scaled(100, SLICE * 1000), 10);
        assert_eq!(scaled(1, SLICE * 1000), 1);
    }
}
