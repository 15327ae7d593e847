//! How late timers are: many in one second, each in a task of its own; and short ones, one after the
//! other in one task.
//!
//! The thread that waits for the result waits without the runtime, so that in each of them the
//! workers alone look after the timers.

use crate::clock::Clock;
use crate::contest::{Contest, Figure, Lane, Start, lane};
use crate::runtimes::{Join, Liten, Smol, Spawner, Tokio};
use crate::statistics::quantile;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const TIMERS: u64 = 100_000;
const TIMERS_IN_TESTS: u64 = 1_000;
const SPREAD: Duration = Duration::from_secs(1);
const SPREAD_IN_TESTS: Duration = Duration::from_millis(10);
/// Longer than any of the runtimes needs to make the tasks.
const HEAD_START: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(30);

/// Microseconds: between the ticks of a millisecond clock, most of them.
const SHORT: [u64; 8] = [500, 700, 1_100, 1_300, 1_700, 1_900, 2_300, 3_000];
const SHORT_CYCLES: usize = 8;

pub(crate) fn contests(workers: usize) -> Vec<Contest> {
    let figure = |suffix, goal| Figure { suffix, unit: "ns", goal };
    vec![
        Contest {
            name: "timers_lateness".to_owned(),
            figures: vec![figure("p99", Some(0.50)), figure("p50", None)],
            lanes: vec![many::<Liten>(workers), many::<Tokio>(workers), many::<Smol>(workers)],
            slice: SPREAD,
            rounds: 3,
        },
        Contest {
            name: "short_sleep_lateness".to_owned(),
            figures: vec![figure("", Some(0.15))],
            lanes: vec![short::<Liten>(workers), short::<Tokio>(workers), short::<Smol>(workers)],
            slice: Duration::from_millis(100),
            rounds: 7,
        },
    ]
}

fn many<R: Clock>(workers: usize) -> (&'static str, Start) {
    lane::<R, _>(move || Many(R::start(workers)))
}

struct Many<R>(R);

impl<R: Clock> Lane for Many<R> {
    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let (timers, spread) =
            if slice.is_zero() { (TIMERS_IN_TESTS, SPREAD_IN_TESTS) } else { (TIMERS, SPREAD) };
        let lateness: Arc<Vec<AtomicU64>> =
            Arc::new((0..timers).map(|_| AtomicU64::new(0)).collect());
        let left = Arc::new(AtomicUsize::new(lateness.len()));
        let (done, all) = mpsc::sync_channel(1);
        let spawner = self.0.spawner();
        let start = Instant::now() + HEAD_START.min(spread);
        let results = lateness.clone();
        let parent = self.0.spawn(async move {
            for index in 0..timers {
                let deadline = start + part(spread, index);
                let (results, left, done) = (results.clone(), left.clone(), done.clone());
                let sleeper = spawner.spawn(async move {
                    R::sleep_until(deadline).await;
                    let late = deadline.elapsed().as_nanos() as u64;
                    results[index as usize].store(late, Ordering::Relaxed);
                    if left.fetch_sub(1, Ordering::AcqRel) == 1 {
                        done.send(()).expect("the bench waits");
                    }
                });
                sleeper.detach();
            }
        });
        parent.detach();
        all.recv_timeout(PATIENCE).expect("all timers fire");
        let mut values: Vec<_> =
            lateness.iter().map(|late| late.load(Ordering::Relaxed) as f64).collect();
        vec![quantile(&mut values, 0.99), quantile(&mut values, 0.5)]
    }
}

/// A part of `spread` that looks random and is the same in each run: the finisher of SplitMix64.
fn part(spread: Duration, index: u64) -> Duration {
    let mut bits = (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^= bits >> 31;
    Duration::from_nanos(bits % spread.as_nanos() as u64)
}

fn short<R: Clock>(workers: usize) -> (&'static str, Start) {
    lane::<R, _>(move || Short(R::start(workers)))
}

struct Short<R>(R);

impl<R: Clock> Lane for Short<R> {
    fn measure(&mut self, slice: Duration) -> Vec<f64> {
        let cycles = if slice.is_zero() { 1 } else { SHORT_CYCLES };
        let (done, all) = mpsc::sync_channel(1);
        let sleeper = self.0.spawn(async move {
            let mut lateness = Vec::with_capacity(cycles * SHORT.len());
            for _ in 0..cycles {
                for micros in SHORT {
                    let deadline = Instant::now() + Duration::from_micros(micros);
                    R::sleep_until(deadline).await;
                    lateness.push(deadline.elapsed().as_nanos() as f64);
                }
            }
            done.send(lateness).expect("the bench waits");
        });
        sleeper.detach();
        let mut lateness = all.recv_timeout(PATIENCE).expect("all timers fire");
        vec![quantile(&mut lateness, 0.5)]
    }
}
