//! One row of a table: a body with its name, the same for all runtimes.

use std::time::{Duration, Instant};

/// Runs what is measured so many times, and returns what counts of the time this took.
pub(crate) type Body<R> = dyn Fn(&R, u64) -> Duration;

/// What is measured, for the runtime `R`.
pub(crate) struct Row<R> {
    pub(crate) name: &'static str,
    /// Operations (spawns, yields, messages, …) in one iteration.
    pub(crate) operations: u64,
    pub(crate) run: Box<Body<R>>,
}

impl<R> Row<R> {
    pub(crate) fn new(
        name: &'static str,
        operations: usize,
        run: impl Fn(&R, u64) -> Duration + 'static,
    ) -> Self {
        Self { name, operations: operations as u64, run: Box::new(run) }
    }
}

#[allow(dead_code, reason = "the timer benches start and stop the clock elsewhere")]
/// The time that `iterations` calls take.
pub(crate) fn time(iterations: u64, mut body: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..iterations {
        body();
    }
    start.elapsed()
}
