//! Why there is no permit.

use crate::engine::impls::impl_error;
use crate::sync::permits::{Closed, Refusal};

/// The semaphore is closed.
#[derive(Debug)]
pub struct AcquireError(());

impl_error!([] AcquireError, "semaphore closed");

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

impl_error!([] TryAcquireError, this => match this {
    Self::Closed => "semaphore closed",
    Self::NoPermits => "no permits available",
});

impl From<Refusal> for TryAcquireError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Closed => Self::Closed,
            Refusal::TooFew => Self::NoPermits,
        }
    }
}
