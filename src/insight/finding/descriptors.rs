//! The descriptors of a process that has used up all of them, and the sentence about it.

use crate::short::{Place, counted};
use std::fmt;
use std::panic::Location;

/// The descriptors of a process that has used up all of them; from
/// [`Finding::DescriptorsUsedUp`](super::Finding::DescriptorsUsedUp). Its `Display` is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptors {
    pub(super) used: u64,
    pub(super) limit: u64,
    pub(super) largest: Option<(&'static Location<'static>, usize)>,
    pub(super) listener: Option<(String, u64)>,
}

impl Descriptors {
    /// Returns how many there are.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Returns how many there may be.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the place from which the tasks were spawned that wait for most of the sockets, and how many
    /// sockets these are.
    pub fn largest_place(&self) -> Option<(&'static Location<'static>, usize)> {
        self.largest
    }
}

impl fmt::Display for Descriptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { used, limit, largest, listener } = self;
        write!(
            f,
            "the process has too many open files, {used} of {limit}, so that accept, connect and open fail"
        )?;
        if let Some((place, sockets)) = largest {
            let sockets = counted(*sockets, "socket");
            write!(f, ": {sockets} of tasks spawned at {}", Place(place))?;
        }
        if let Some((address, waiting)) = listener {
            let waiting = counted(*waiting as usize, "connection");
            write!(f, "; {waiting} to {address} cannot be accepted")?;
        }
        f.write_str("; close what is idle, or raise the limit")
    }
}
