//! liten, tokio and smol in one process, in turns: nanoseconds per operation and the ratios, as a
//! Markdown table.
//!
//! Criterion measures one runtime after the other, so that a neighbour on the machine who wakes up
//! in between looks like a difference. Here each round measures all three within some tens of
//! milliseconds, and a ratio is taken within a round; the table shows the medians over all rounds.
//!
//! Usage: `cargo bench --bench ratios -- [--rounds N] [--workers N] [ROW]…`. `ROW` is a part of a
//! row's name.

#[path = "contest/clock.rs"]
mod clock;
#[path = "contest/echo.rs"]
mod echo;
#[path = "contest/row.rs"]
mod row;
#[path = "contest/runtimes.rs"]
mod runtimes;
#[path = "contest/sleeps.rs"]
mod sleeps;
#[path = "contest/tasks.rs"]
mod tasks;

use row::Row;
use runtimes::{Liten, Runtime, Smol, Tokio};
use std::time::{Duration, Instant};

/// How long one measurement of one runtime is meant to take.
const SLICE: Duration = Duration::from_millis(20);
const ROUNDS: usize = 31;
/// A row whose rounds take long, for one of the runtimes or because the machine is busy, makes do
/// with fewer.
const ROW: Duration = Duration::from_secs(4);
const FEWEST_ROUNDS: usize = 5;

fn main() {
    let options = Options::read();
    let cpus = num_cpus::get();
    println!("{cpus} CPUs; ns per operation: medians of up to {} rounds;", options.rounds);
    println!("ratios: median of the rounds' ratios, lowest and highest; below 1, liten is faster");
    let mut counts = options.workers.map_or(vec![cpus, 4], |workers| vec![workers]);
    counts.dedup();
    for (index, workers) in counts.into_iter().enumerate() {
        let [liten, tokio, smol] = [Liten::NAME, Tokio::NAME, Smol::NAME];
        println!(
            "\n| {workers} workers | {liten} | {tokio} | {smol} | {liten} / {tokio} | {liten} / {smol} |"
        );
        println!("|---|---|---|---|---|---|");
        options.compare(workers, tasks::rows(workers), tasks::rows(workers), tasks::rows(workers));
        // Timers and sockets once: the number of workers is not what their rows are about.
        if index == 0 {
            // Two tasks at once need two workers.
            let at_least_two = workers.max(2);
            options.compare(at_least_two, sleeps::rows(), sleeps::rows(), sleeps::rows());
            options.compare(workers, echo::rows(), echo::rows(), echo::rows());
        }
    }
}

struct Options {
    rounds: usize,
    slice: Duration,
    workers: Option<usize>,
    /// Rows whose name contains one of these. Empty: all.
    names: Vec<String>,
}

impl Options {
    fn read() -> Self {
        let mut options = Self { rounds: ROUNDS, slice: SLICE, workers: None, names: Vec::new() };
        let mut benching = false;
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let value = arguments.next().and_then(|value| value.parse().ok());
                value.filter(|&value| value > 0).expect("a number above 0 follows the option")
            };
            match argument.as_str() {
                "--bench" => benching = true,
                "--rounds" => options.rounds = number(),
                "--workers" => options.workers = Some(number()),
                option if option.starts_with("--") => {}
                name => options.names.push(name.to_owned()),
            }
        }
        // `cargo test --benches`: it is enough that everything runs.
        if !benching {
            options.rounds = 1;
            options.slice = Duration::ZERO;
        }
        options
    }

    fn wants(&self, row: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|name| row.contains(name.as_str()))
    }

    fn compare(
        &self,
        workers: usize,
        liten: Vec<Row<Liten>>,
        tokio: Vec<Row<Tokio>>,
        smol: Vec<Row<Smol>>,
    ) {
        for ((liten, tokio), smol) in liten.into_iter().zip(tokio).zip(smol) {
            if self.wants(liten.name) {
                let (name, operations) = (liten.name, liten.operations);
                let lanes = [
                    Lane::new(liten, workers, self.slice),
                    Lane::new(tokio, workers, self.slice),
                    Lane::new(smol, workers, self.slice),
                ];
                let rounds = self.rounds(&lanes);
                if self.slice.is_zero() {
                    println!("| {name} | ran |");
                } else {
                    report(name, operations as f64, &rounds);
                }
            }
        }
    }

    fn rounds(&self, lanes: &[Lane; 3]) -> Vec<[f64; 3]> {
        let start = Instant::now();
        let late = |index| index >= FEWEST_ROUNDS && start.elapsed() > ROW;
        (0..self.rounds)
            .take_while(|&index| !late(index))
            .map(|index| round(lanes, index))
            .collect()
    }
}

/// One runtime, running, with the body of the row.
struct Lane {
    run: Box<dyn Fn(u64) -> Duration>,
    iterations: u64,
}

impl Lane {
    fn new<R: Runtime>(row: Row<R>, workers: usize, slice: Duration) -> Self {
        let runtime = R::start(workers);
        let run = Box::new(move |iterations| (row.run)(&runtime, iterations));
        // The first run warms up, the second one calibrates.
        run(1);
        let one = run(1).max(Duration::from_nanos(1));
        let iterations = (slice.as_nanos() / one.as_nanos()).max(1) as u64;
        Self { run, iterations }
    }

    /// Nanoseconds per iteration.
    fn measure(&self) -> f64 {
        (self.run)(self.iterations).as_nanos() as f64 / self.iterations as f64
    }
}

/// Measures all three, each time beginning with another one.
fn round(lanes: &[Lane; 3], index: usize) -> [f64; 3] {
    let mut results = [0.0; 3];
    for offset in 0..lanes.len() {
        let lane = (index + offset) % lanes.len();
        results[lane] = lanes[lane].measure();
    }
    results
}

fn report(name: &str, operations: f64, rounds: &[[f64; 3]]) {
    let nanos = |lane: usize| {
        let sorted = sorted(rounds.iter().map(|round| round[lane] / operations));
        format!("{:.0}", sorted[sorted.len() / 2])
    };
    let ratio = |other: usize| {
        let sorted = sorted(rounds.iter().map(|round| round[0] / round[other]));
        let (lowest, highest) = (sorted[0], sorted[sorted.len() - 1]);
        format!("{:.2} ({lowest:.2}–{highest:.2})", sorted[sorted.len() / 2])
    };
    println!(
        "| {name} | {} | {} | {} | {} | {} |",
        nanos(0),
        nanos(1),
        nanos(2),
        ratio(1),
        ratio(2)
    );
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
