//! Bodies that measure timers.

use crate::clock::Clock;
use crate::row::Row;
use crate::runtimes::{Runtime, Spawner, Tokio};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

const SLEEPS: usize = 10_000;
const EXPIRIES: usize = 10_000;
/// Longer than any of the runtimes needs to make the sleepers.
const UNTIL_EXPIRY: Duration = Duration::from_millis(60);
const PATIENCE: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(3600);

pub(crate) fn rows<R: Clock>() -> Vec<Row<R>> {
    vec![
        // A clock reading per sleep would be a good part of what is measured; the moment does not matter.
        Row::new("sleep_cancel_one_task", SLEEPS, |runtime, n| {
            let deadline = Instant::now() + LONG;
            cancel(runtime, 1, n, move || R::sleep_until(deadline))
        }),
        Row::new("sleep_cancel_two_tasks", SLEEPS, |runtime, n| {
            let deadline = Instant::now() + LONG;
            cancel(runtime, 2, n, move || R::sleep_until(deadline))
        }),
        Row::new("sleep_for_cancel_one_task", SLEEPS, |runtime, n| {
            cancel(runtime, 1, n, || R::sleep(LONG))
        }),
        Row::new("mass_expiry", EXPIRIES, mass_expiry),
    ]
}

/// Makes sleeps, polls each once and drops it, in so many tasks at once. The operation is one sleep
/// of one task.
fn cancel<R: Clock, S: Future<Output = ()> + Send + 'static>(
    runtime: &R,
    tasks: usize,
    iterations: u64,
    make: impl Fn() -> S + Copy + Send + 'static,
) -> Duration {
    let once = || {
        let arrived = Arc::new(AtomicUsize::new(0));
        let sleepers =
            (0..tasks).map(|_| runtime.spawn(make_and_drop(arrived.clone(), tasks, make)));
        let sleepers: Vec<_> = sleepers.collect();
        runtime.block_on(async {
            let mut longest = Some(Duration::ZERO);
            for sleeper in sleepers {
                let taken = sleeper.await;
                longest = longest.and_then(|longest| Some(longest.max(taken?)));
            }
            longest
        })
    };
    // About once in ten thousand times tokio leaves a task behind a busy one, in a queue that the idle worker
    // does not look at. No other runtime is given a second chance.
    let starts = if R::NAME == Tokio::NAME { 20 } else { 1 };
    let started = || (0..starts).find_map(|_| once()).expect("a worker is free for each task");
    (0..iterations).map(|_| started()).sum()
}

/// How long it took, or `None` if the other tasks did not start.
async fn make_and_drop<S: Future<Output = ()>>(
    arrived: Arc<AtomicUsize>,
    tasks: usize,
    make: impl Fn() -> S,
) -> Option<Duration> {
    // All tasks start together, each on a worker of its own: this waits without an await.
    arrived.fetch_add(1, Ordering::SeqCst);
    let arrival = Instant::now();
    while arrived.load(Ordering::SeqCst) < tasks {
        if arrival.elapsed() > PATIENCE {
            return None;
        }
    }
    let start = Instant::now();
    for _ in 0..SLEEPS {
        let sleep = pin!(make());
        assert_eq!(sleep.poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
    }
    Some(start.elapsed())
}

/// Many tasks wait for the same moment. What counts is the time from there until the last one has run.
fn mass_expiry<R: Clock>(runtime: &R, iterations: u64) -> Duration {
    let spawner = runtime.spawner();
    let mut total = Duration::ZERO;
    for _ in 0..iterations {
        let deadline = Instant::now() + UNTIL_EXPIRY;
        let sleepers = runtime.spawn(async move {
            let sleeper = |_| spawner.spawn(R::sleep_until(deadline));
            let sleepers: Vec<_> = (0..EXPIRIES).map(sleeper).collect();
            for sleeper in sleepers {
                sleeper.await;
            }
        });
        runtime.block_on(sleepers);
        total += deadline.elapsed();
    }
    total
}
