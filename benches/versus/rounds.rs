//! Runs a contest: all its lanes live side by side and are measured in turns.

use crate::contest::{Contest, Lane, Start};
use crate::statistics::{Spread, median};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A contest that takes longer than this many times what it should, because one of the runtimes is
/// slow or the machine is busy, makes do with fewer rounds.
const LONGEST: u32 = 2;
const FEWEST_ROUNDS: usize = 5;

/// How thoroughly to measure.
#[derive(Clone, Copy)]
pub(crate) enum Effort {
    /// It is enough that everything runs.
    Once,
    /// So many rounds, or as many as the contest says.
    Rounds(Option<usize>),
}

/// What came out for one figure.
pub(crate) struct Score {
    /// The median of each lane.
    pub(crate) medians: Vec<f64>,
    /// The first lane's cost in relation to that of each other lane, taken within a round.
    pub(crate) ratios: Vec<Spread>,
}

/// One score for each figure, or the reason why there is none.
pub(crate) fn run(contest: &Contest, effort: Effort) -> Result<Vec<Score>, String> {
    let start = |(name, start): &(&'static str, Start)| Ok((*name, caught("", start)?));
    let mut lanes = contest.lanes.iter().map(start).collect::<Result<Vec<Running>, String>>()?;
    let rounds = match effort {
        Effort::Once => vec![round(&mut lanes, 0, Duration::ZERO)?],
        Effort::Rounds(rounds) => play(contest, &mut lanes, rounds.unwrap_or(contest.rounds))?,
    };
    Ok((0..contest.figures.len()).map(|figure| score(&rounds, figure)).collect())
}

/// A lane and its name.
type Running = (&'static str, Box<dyn Lane>);
/// The figures of each lane.
type Round = Vec<Vec<f64>>;

fn play(contest: &Contest, lanes: &mut [Running], rounds: usize) -> Result<Vec<Round>, String> {
    for (name, lane) in &mut *lanes {
        caught(name, || lane.warm_up(contest.slice))?;
    }
    let planned = contest.slice * (lanes.len() * rounds) as u32;
    let start = Instant::now();
    let late = |index| index >= FEWEST_ROUNDS && start.elapsed() > planned * LONGEST;
    (0..rounds)
        .take_while(|&index| !late(index))
        .map(|index| round(lanes, index, contest.slice))
        .collect()
}

/// Measures all lanes, each time beginning with another one.
fn round(lanes: &mut [Running], index: usize, slice: Duration) -> Result<Round, String> {
    let mut results = vec![Vec::new(); lanes.len()];
    for offset in 0..lanes.len() {
        let at = (index + offset) % lanes.len();
        let (name, lane) = &mut lanes[at];
        results[at] = caught(name, || lane.measure(slice))?;
    }
    Ok(results)
}

fn score(rounds: &[Round], figure: usize) -> Score {
    let lanes = rounds[0].len();
    let of_lane = |lane: usize| rounds.iter().map(move |round| round[lane][figure]);
    let ratio = |lane| Spread::of(of_lane(0).zip(of_lane(lane)).map(|(ours, other)| ours / other));
    Score {
        medians: (0..lanes).map(|lane| median(of_lane(lane))).collect(),
        ratios: (1..lanes).map(ratio).collect(),
    }
}

/// A panic becomes an error that says which lane it was in, if it has a name here: one server that
/// falls silent is no reason to measure nothing more.
fn caught<T>(lane: &str, action: impl FnOnce() -> T) -> Result<T, String> {
    let result = catch_unwind(AssertUnwindSafe(action));
    result.map_err(|reason| match lane {
        "" => text(&*reason),
        lane => format!("{lane}: {}", text(&*reason)),
    })
}

/// What a panic says.
fn text(panic: &(dyn Any + Send)) -> String {
    let literal = panic.downcast_ref::<&str>().map(ToString::to_string);
    let formatted = || panic.downcast_ref::<String>().cloned();
    literal.or_else(formatted).unwrap_or_else(|| "it does not start".to_owned())
}
