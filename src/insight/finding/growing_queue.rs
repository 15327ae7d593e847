//! Channels or sets in which more and more lies, and the sentence about them.

use super::long_wait::Named;
use crate::engine::task::RunningTask;
use crate::insight::description::DescribedTask;
use crate::runtime::gauges::Measured;
use crate::short::Place;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// Channels without a bound, or [`JoinSet`](crate::task::JoinSet)s, that were made at one place and in which
/// more and more lies; from [`Finding::GrowingQueue`](super::Finding::GrowingQueue). Its `Display` is a
/// sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrowingQueue {
    pub(super) measured: Measured,
    pub(super) made_at: &'static Location<'static>,
    /// How many there are of which kind.
    pub(super) what: String,
    pub(super) before: usize,
    pub(super) length: usize,
    pub(super) duration: Duration,
    /// How many tasks of the runtime are alive.
    pub(super) living: usize,
    pub(super) user: Option<Named>,
    /// What the user does, after its name, or why there is no name.
    pub(super) user_does: String,
}

impl GrowingQueue {
    /// Returns the place in the source where they were made.
    pub fn made_at(&self) -> &'static Location<'static> {
        self.made_at
    }

    /// Returns how many values lay in them at the first of these looks, about.
    pub fn before(&self) -> usize {
        self.before
    }

    /// Returns how many there are now, about.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the time in which they became so many more.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Returns the task that has received from the longest of them last, if one is known.
    pub fn receiver(&self) -> Option<RunningTask> {
        self.user.as_ref().map(|(task, _)| *task)
    }
}

impl fmt::Display for GrowingQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { before, length, duration, living, .. } = self;
        let seconds = duration.as_secs_f64();
        let rate = (length - before) as f64 / seconds;
        let (values, advice) = match self.measured {
            Measured::JoinSet => (
                "tasks",
                "unless that is done in the end, call join_next as they end, or use a TaskTracker",
            ),
            _ => ("messages", "receive faster, or give it a bound, so that its senders wait"),
        };
        let (what, place) = (&self.what, Place(self.made_at));
        write!(
            f,
            "more and more {values} lie in {what} made at {place}: from some {before} to some {length} in \
             {seconds:.0} s, {rate:.0} more each second"
        )?;
        if self.measured == Measured::JoinSet {
            write!(f, ", of which {living} at most are alive in this runtime")?;
        }
        if let Some((task, name)) = &self.user {
            write!(f, "; {}, ", DescribedTask::waiting(*task, name.as_deref()))?;
        }
        write!(f, "{}: {advice}", self.user_does)
    }
}
