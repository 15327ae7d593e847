//! What is kept, and why.

use crate::engine::task::RunningTask;
use crate::insight::trace::Trace;
use crate::runtime::SlowPoll;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The last seconds before something went wrong; given to the function of
/// [`FlightRecorderBuilder::to_fn`](super::FlightRecorderBuilder::to_fn).
#[derive(Debug)]
pub struct Snapshot {
    pub(super) trace: Trace,
    pub(super) reason: SnapshotReason,
    pub(super) at: SystemTime,
    pub(super) skipped: u64,
    pub(super) path: Option<PathBuf>,
}

impl Snapshot {
    /// Returns what was recorded. As JSON it says the reason, too.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Returns why it was kept.
    pub fn reason(&self) -> &SnapshotReason {
        &self.reason
    }

    /// Returns when it was made.
    pub fn at(&self) -> SystemTime {
        self.at
    }

    /// Returns how many snapshots were not made since the last one, because one of their kind had been made
    /// shortly before.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Returns the file that it is in. `None` if there is no folder for it, or it could not be written.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

/// Why a snapshot was made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SnapshotReason {
    /// A task has panicked.
    Panic(RunningTask),
    /// A poll was slow, and may still last.
    SlowPoll(SlowPoll),
    /// The process has received the signal with this number.
    Signal(i32),
    /// The program has called [`FlightRecorder::request`](super::FlightRecorder::request).
    Request,
}

impl fmt::Display for SnapshotReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(task) => write!(f, "{task}, has panicked"),
            Self::SlowPoll(slow) => slow.fmt(f),
            Self::Signal(number) => write!(f, "signal {number}"),
            Self::Request => f.write_str("the program has asked for it"),
        }
    }
}

/// Reasons that are bounded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Panic,
    SlowPoll,
    Signal,
    Request,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Panic, Self::SlowPoll, Self::Signal, Self::Request];

    /// As a part of a file's name, which has no `-`.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::SlowPoll => "slow_poll",
            Self::Signal => "signal",
            Self::Request => "request",
        }
    }
}

impl SnapshotReason {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Panic(_) => Kind::Panic,
            Self::SlowPoll(_) => Kind::SlowPoll,
            Self::Signal(_) => Kind::Signal,
            Self::Request => Kind::Request,
        }
    }

    /// The task in whose poll it has happened, if it was in one.
    pub(super) fn task(&self) -> Option<RunningTask> {
        match self {
            Self::Panic(task) => Some(*task),
            Self::SlowPoll(slow) => slow.task(),
            Self::Signal(_) | Self::Request => None,
        }
    }
}
