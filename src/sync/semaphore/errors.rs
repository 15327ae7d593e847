//! Why there is no permit.

use crate::sync::permits::{Closed, Refusal};
use std::error::Error;
use std::fmt;

/// The semaphore is closed.
#[derive(Debug)]
pub struct AcquireError(());

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl Error for AcquireError {}

impl From<Closed> for AcquireError {
    fn from(_: Closed) -> Self {
        Self(())
    }
}

/// Why no permit was taken at once.
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is closed.
    Closed,
    /// There are not enough permits, or futures wait for them already.
    NoPermits,
}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "semaphore closed",
            Self::NoPermits => "no permits available",
        })
    }
}

impl Error for TryAcquireError {}

impl From<Refusal> for TryAcquireError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Closed => Self::Closed,
            Refusal::TooFew => Self::NoPermits,
        }
    }
}
