//! The one place that chooses between what is shipped (std, with parking_lot's locks; on wasm std
//! alone), loom and shuttle.
//!
//! Everything above takes its atomics, cells, locks, threads, thread-locals, deques and readings of the
//! clock from here, so that the models and the explored schedules run the production code and not a copy of
//! it. What is not listed here is not used. Rejected: re-exporting loom's whole surface, so that one could
//! not see what the models have to follow.

mod coarse_clock;
#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, any(liten_loom, liten_shuttle)))]
mod modelled;
#[cfg(not(any(target_family = "wasm", all(test, any(liten_loom, liten_shuttle)))))]
mod native;
#[cfg(not(all(test, any(liten_loom, liten_shuttle))))]
mod plain;
#[cfg(all(test, liten_shuttle))]
mod shuttle;
#[cfg(not(any(target_family = "wasm", all(test, liten_shuttle))))]
mod spin_word;
#[cfg_attr(target_family = "wasm", path = "sync_shim/wasm/used.rs")]
mod used;
#[cfg(target_family = "wasm")]
mod wasm;

pub(crate) use self::coarse_clock::CoarseClock;
#[cfg(all(test, liten_loom))]
pub(crate) use self::loom::*;
#[cfg(all(test, any(liten_loom, liten_shuttle)))]
pub(crate) use self::modelled::*;
#[cfg(not(any(target_family = "wasm", all(test, any(liten_loom, liten_shuttle)))))]
pub(crate) use self::native::*;
#[cfg(all(test, liten_shuttle))]
pub(crate) use self::shuttle::*;
pub(crate) use self::used::Used;
#[cfg(target_family = "wasm")]
pub(crate) use self::wasm::*;
#[cfg(all(test, liten_loom))]
use ::loom as model;
#[cfg(all(test, liten_shuttle))]
use ::shuttle as model;
