//! The bodies that the criterion benches run too, as contests, with the goals of each.

use crate::contest::{Contest, Figure, Lane, ROUNDS, SLICE, Start};
use crate::idle::{self, Idle};
use crate::row::{Body, Row, time};
use crate::runtimes::{Liten, Runtime, Smol, Tokio};
use crate::{sleeps, tasks};
use std::rc::Rc;
use std::time::Duration;

/// The highest ratio liten / tokio that we want to see.
const GOALS: &[(&str, f64)] = &[
    ("spawn_many_in_task", 0.25),
    ("spawn_many_local", 0.20),
    ("spawn_many_remote_idle", 0.25),
    ("spawn_many_remote_busy1", 0.30),
    ("spawn_many_remote_busy2", 0.30),
    ("yield_many", 0.35),
    ("ping_pong", 0.45),
    ("chained_spawn", 0.30),
    ("channel_bounce", 0.40),
    ("fork_join", 0.40),
    ("sleep_cancel_one_task", 0.40),
    ("sleep_cancel_two_tasks", 0.25),
    ("sleep_for_cancel_one_task", 0.80),
    (IDLE_TIMEOUT, 0.80),
];
const IDLE_TIMEOUT: &str = "idle_timeout";
const IDLE_MESSAGES: usize = 10_000;

pub(crate) fn scheduler(workers: usize) -> Vec<Contest> {
    contests(workers, tasks::rows(workers), tasks::rows(workers), tasks::rows(workers))
}

pub(crate) fn timers(workers: usize) -> Vec<Contest> {
    let mut timers = contests(workers, sleeps::rows(), sleeps::rows(), sleeps::rows());
    let lanes =
        vec![of_row(idle_timeout::<Liten>(), workers), of_row(idle_timeout::<Tokio>(), workers)];
    timers.push(contest(IDLE_TIMEOUT, GOALS, lanes));
    timers
}

/// smol has neither `select!` nor a `Notify`.
fn idle_timeout<R: Idle>() -> Row<R> {
    Row::new(IDLE_TIMEOUT, IDLE_MESSAGES, |runtime: &R, iterations| {
        time(iterations, || {
            runtime.block_on(runtime.spawn(idle::exchange::<R>(runtime.spawner(), IDLE_MESSAGES)));
        })
    })
}

fn contests(
    workers: usize,
    liten: Vec<Row<Liten>>,
    tokio: Vec<Row<Tokio>>,
    smol: Vec<Row<Smol>>,
) -> Vec<Contest> {
    let rows = liten.into_iter().zip(tokio).zip(smol);
    let all = |((liten, tokio), smol): ((Row<Liten>, Row<Tokio>), Row<Smol>)| {
        let name = liten.name;
        let lanes = vec![of_row(liten, workers), of_row(tokio, workers), of_row(smol, workers)];
        contest(name, GOALS, lanes)
    };
    rows.map(all).collect()
}

/// A row that is measured in time, with the goal that the list has for it.
pub(crate) fn contest(
    name: &str,
    goals: &[(&str, f64)],
    lanes: Vec<(&'static str, Start)>,
) -> Contest {
    let goal = goals.iter().find(|(known, _)| *known == name).map(|&(_, goal)| goal);
    Contest {
        name: name.to_owned(),
        figures: vec![Figure { suffix: "", unit: "ns", goal }],
        lanes,
        slice: SLICE,
        rounds: ROUNDS,
    }
}

pub(crate) fn of_row<R: Runtime>(row: Row<R>, workers: usize) -> (&'static str, Start) {
    (R::NAME, start_of(row, move || R::start(workers)))
}

/// A lane that runs `row` on what `start` makes.
pub(crate) fn start_of<R: 'static>(row: Row<R>, start: impl Fn() -> R + 'static) -> Start {
    let run: Rc<Body<R>> = row.run.into();
    let operations = row.operations as f64;
    Box::new(move || {
        Box::new(OfRow { runtime: start(), run: run.clone(), operations, iteration: None })
    })
}

struct OfRow<R> {
    runtime: R,
    run: Rc<Body<R>>,
    operations: f64,
    /// How long one iteration took the last time.
    iteration: Option<Duration>,
}

impl<R: 'static> Lane for OfRow<R> {
    fn warm_up(&mut self, slice: Duration) {
        // The first one is cold and says nothing about the number that fits into a slice.
        (self.run)(&self.runtime, 1);
        self.iteration = Some((self.run)(&self.runtime, 1));
        self.measure(slice);
    }

    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let iteration = self.iteration.unwrap_or(slice).max(Duration::from_nanos(1));
        let iterations = (slice.as_nanos() / iteration.as_nanos()).max(1) as u64;
        let taken = (self.run)(&self.runtime, iterations);
        self.iteration = Some(taken / u32::try_from(iterations).unwrap_or(u32::MAX));
        vec![taken.as_nanos() as f64 / iterations as f64 / self.operations]
    }
}
