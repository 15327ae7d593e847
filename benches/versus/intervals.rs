//! Many tasks with an interval each: what a tick costs the processors, and how late it is.
//!
//! Spread, every tick has a moment of its own, a hundred of them in a millisecond; equal, all come at the
//! same moments. The thread that measures sleeps meanwhile, without the runtime.

use crate::clock::Clock;
use crate::contest::{Contest, Figure, Lane, Start, lane};
use crate::network::cpu::process_time;
use crate::runtimes::{Join, Liten, Smol, Spawner, Tokio};
use crate::statistics::quantile;
use std::future::Future;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const TASKS: u32 = 1_000;
const PERIOD: Duration = Duration::from_millis(10);
/// The ticks of all tasks lie evenly in a period.
const STEP: Duration = Duration::from_micros(10);
/// Longer than any of the runtimes needs to make the tasks.
const HEAD_START: Duration = Duration::from_millis(30);
const SLICE: Duration = Duration::from_millis(500);
const ROUNDS: usize = 9;
const PATIENCE: Duration = Duration::from_secs(30);

/// A runtime's interval.
trait Beat: Clock {
    type Interval: Send + 'static;

    fn interval_at(start: Instant) -> Self::Interval;

    /// Waits for the next tick and returns when it was due.
    fn tick(interval: &mut Self::Interval) -> impl Future<Output = Instant> + Send;
}

impl Beat for Liten {
    type Interval = liten::time::Interval;

    fn interval_at(start: Instant) -> Self::Interval {
        liten::time::interval_at(start.into(), PERIOD)
    }

    async fn tick(interval: &mut Self::Interval) -> Instant {
        interval.tick().await.into()
    }
}

impl Beat for Tokio {
    type Interval = tokio::time::Interval;

    fn interval_at(start: Instant) -> Self::Interval {
        tokio::time::interval_at(start.into(), PERIOD)
    }

    async fn tick(interval: &mut Self::Interval) -> Instant {
        interval.tick().await.into()
    }
}

impl Beat for Smol {
    type Interval = (smol::Timer, Instant);

    fn interval_at(start: Instant) -> Self::Interval {
        (smol::Timer::interval_at(start, PERIOD), start)
    }

    /// smol tells when a tick was noticed, and not when it was due.
    async fn tick((timer, next): &mut Self::Interval) -> Instant {
        smol::stream::StreamExt::next(timer).await;
        std::mem::replace(next, *next + PERIOD)
    }
}

pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    let cpu = |goal| Figure { suffix: "cpu", unit: "ns", goal: Some(goal) };
    let p99 = Figure { suffix: "p99", unit: "ns", goal: Some(0.30) };
    let contest = |name: &str, figures, step| Contest {
        name: name.to_owned(),
        figures,
        lanes: vec![
            many::<Liten>(workers, step),
            many::<Tokio>(workers, step),
            many::<Smol>(workers, step),
        ],
        slice: SLICE,
        rounds: ROUNDS,
    };
    vec![
        contest("mixed_intervals_spread", vec![cpu(1.30), p99], STEP),
        contest("mixed_intervals_equal", vec![cpu(1.00)], Duration::ZERO),
    ]
}

fn many<R: Beat>(workers: usize, step: Duration) -> (&'static str, Start) {
    lane::<R, _>(move || Many { runtime: R::start(workers), step })
}

struct Many<R> {
    runtime: R,
    /// How much later than those of the task before the ticks of a task come.
    step: Duration,
}

impl<R: Beat> Lane for Many<R> {
    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let ticks = (slice.as_nanos() / PERIOD.as_nanos()).max(1) as u32;
        let start = Instant::now() + HEAD_START;
        let (done, all) = mpsc::channel();
        let (spawner, step) = (self.runtime.spawner(), self.step);
        let parent = self.runtime.spawn(async move {
            for index in 0..TASKS {
                let (first, done) = (start + step * index, done.clone());
                let task = spawner.spawn(async move {
                    let mut interval = R::interval_at(first);
                    let mut lateness = Vec::with_capacity(ticks as usize);
                    for _ in 0..ticks {
                        let due = R::tick(&mut interval).await;
                        lateness.push(due.elapsed().as_nanos() as f64);
                    }
                    done.send(lateness).expect("the bench waits");
                });
                task.detach();
            }
        });
        parent.detach();
        thread::sleep(start.saturating_duration_since(Instant::now()));
        let before = process_time();
        // Asleep until nearly the end: the tasks' results would wake this thread a thousand times.
        thread::sleep(PERIOD * ticks);
        let used = before.zip(process_time()).map(|(before, after)| after.saturating_sub(before));
        let results = (0..TASKS).map(|_| all.recv_timeout(PATIENCE).expect("all tasks end"));
        let mut lateness: Vec<_> = results.flatten().collect();
        let cost = used.map_or(f64::NAN, |used| used.as_nanos() as f64);
        vec![cost / f64::from(ticks * TASKS), quantile(&mut lateness, 0.99)]
    }
}
