//! Floor 0: the one place that chooses between what is shipped (std, with parking_lot's locks) and loom.
//!
//! Everything above takes its atomics, cells, locks, threads, thread-locals, deques and readings of the clock
//! from here, so that the models run the production code and not a copy of it. Rejected: re-exporting loom's
//! whole surface (tokio's shim has 1,000 lines); what is not listed here is not used.

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(not(all(test, liten_loom)))]
mod native;

#[cfg(all(test, liten_loom))]
pub(crate) use self::loom::*;
#[cfg(not(all(test, liten_loom)))]
pub(crate) use self::native::*;
