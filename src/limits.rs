//! How much of the processors this process may use, as Linux tells it in files.
//!
//! Three things limit a process: the processors on which its threads may run (its affinity, within the
//! processors that are online), the cpuset of its group, and a quota of time per period. Each group above
//! its own may have a quota, too, and the smallest share counts. All of them may change while the program
//! runs.
//!
//! | file | what it is |
//! |---|---|
//! | `groups` | the process's groups: which there are, and where their files lie |
//! | `parse` | the forms in which the numbers are written |
//! | `reader` | reads all of it, again and again, without an allocation |
//! | `processor_time` | what the process has used |
//! | `follow` | from what was read: how many workers there are to be, and when to read again |
//! | `report` | what the program is told |
//!
//! A file that is missing, that cannot be read, or that has another form than expected limits nothing. So
//! does everything on a system without these files. Nothing here changes a limit, or needs a privilege.

#[cfg(test)]
pub(crate) mod fake_system;
mod follow;
mod groups;
mod parse;
pub(crate) mod processor_time;
mod reader;
mod report;

pub(crate) use follow::{Follow, workers};

pub(crate) use reader::{Reader, Reading};
pub use report::CpuLimits;

use std::time::Duration;

/// A share of the processors: in each period, the threads of a group together may run for so long. When they
/// have, the system stops all of them until the period ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) time: Duration,
    pub(crate) period: Duration,
}

impl Quota {
    /// `None` if one of them is nothing, which the system does not take for a limit either.
    fn new(time: Duration, period: Duration) -> Option<Self> {
        (!time.is_zero() && !period.is_zero()).then_some(Self { time, period })
    }

    /// How many processors that is.
    pub(crate) fn cpus(self) -> f64 {
        self.time.as_nanos() as f64 / self.period.as_nanos() as f64
    }

    /// The number of threads that may all run all the time, rounded up.
    fn threads(self) -> usize {
        let threads = self.time.as_nanos().div_ceil(self.period.as_nanos());
        usize::try_from(threads).unwrap_or(usize::MAX)
    }
}
