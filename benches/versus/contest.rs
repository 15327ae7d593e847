//! What the frame knows of a row: which runtimes take part, and which figures come out.
//!
//! All figures are costs, so lower is better; but for a rate, which has no goal.

use crate::runtimes::Runtime;
use std::time::Duration;

/// How long one measurement of one runtime is meant to take.
pub(crate) const SLICE: Duration = Duration::from_millis(20);
pub(crate) const ROUNDS: usize = 31;

/// One runtime in one contest, running. Dropping it ends it.
pub(crate) trait Lane {
    /// Once, before the first measurement.
    fn warm_up(&mut self, slice: Duration) {
        self.measure(slice);
    }

    /// One measurement of about `slice`: one value for each figure of the contest. NaN: this system
    /// does not tell. A `slice` of zero asks for the shortest run that touches everything.
    fn measure(&mut self, slice: Duration) -> Vec<f64>;
}

/// Starts a lane. Panics with the reason if that cannot be done here.
pub(crate) type Start = Box<dyn Fn() -> Box<dyn Lane>>;

pub(crate) struct Figure {
    /// Which figure of the row it is: "p99", "cpu". Empty for the main one.
    pub(crate) suffix: &'static str,
    pub(crate) unit: &'static str,
    /// The highest ratio liten / tokio that we want to see.
    pub(crate) goal: Option<f64>,
}

pub(crate) struct Contest {
    pub(crate) name: String,
    pub(crate) figures: Vec<Figure>,
    /// Name and start of each runtime. The first is liten, which the others are compared with.
    pub(crate) lanes: Vec<(&'static str, Start)>,
    pub(crate) slice: Duration,
    pub(crate) rounds: usize,
}

/// A lane of the runtime `R`.
pub(crate) fn lane<R: Runtime, L: Lane + 'static>(
    start: impl Fn() -> L + 'static,
) -> (&'static str, Start) {
    (R::NAME, boxed(start))
}

/// A lane under a name of its own.
pub(crate) fn boxed<L: Lane + 'static>(start: impl Fn() -> L + 'static) -> Start {
    Box::new(move || Box::new(start()))
}
