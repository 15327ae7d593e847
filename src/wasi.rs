//! A runtime for WASI 0.2 components: one thread, no tasks unless asked for, and everything waits for
//! pollables.
//!
//! On `wasm32-wasip2` this is what the rest of the crate stands on. Elsewhere it is the feature `wasi`, on
//! a host made of a condition variable, so that code for components can be run and tested as an ordinary
//! program.
//!
//! ```
//! use liten::wasi::{Host, block_on};
//! use std::time::Duration;
//!
//! block_on(|reactor| async move {
//!     reactor.wait_for(reactor.host().clock(Duration::from_millis(1))).await;
//! });
//! ```
//!
//! # The parts
//!
//! Each is useful without those above it.
//!
//! | part | what it does |
//! |---|---|
//! | [`Host`] | four functions: is it ready, block, make a clock, get me out of there |
//! | [`Poller`] | pollables under keys; positions become keys |
//! | [`Reactor`] | futures that wait for pollables; wakes those that are ready |
//! | [`block_on`](fn@block_on) | polls one future, and turns the reactor while it waits |
//!
//! There is no spawn here. Joins, races and groups of any crate give as much concurrency as is wanted, by
//! futures that borrow; for tasks there is `liten::task`.
//!
//! Readiness, not completion: interest is in one operation, for one wait, and never in a file descriptor. A
//! completion-based system (WASI 0.3) would be another [`Host::Pollable`], one per operation under way, and
//! leave the rest as it is.

mod block_on;
mod current;
mod drive;
mod host;
mod poller;
mod reactor;
mod root;

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(all(target_family = "wasm", any(feature = "net", feature = "futures-io")))]
pub(crate) mod source;
#[cfg(all(target_family = "wasm", any(feature = "net", feature = "futures-io")))]
pub(crate) mod stream;
#[cfg(target_family = "wasm")]
mod system;

#[cfg(not(target_family = "wasm"))]
pub use block_on::block_on;
pub use host::Host;
pub use poller::{EventKey, Poller};
pub use reactor::{Reactor, Registration, WaitFor};

#[cfg(target_family = "wasm")]
pub use crate::runtime::block_on::block_on_with as block_on;
#[cfg(target_family = "wasm")]
pub(crate) use current::enter;
#[cfg(target_family = "wasm")]
pub(crate) use drive::{Attendant, Deadlock, drive};
#[cfg(not(target_family = "wasm"))]
pub use native::{Event, NativeHost, NativePollable};
#[cfg(target_family = "wasm")]
pub use system::WasiHost;

/// The host of the system that the program is built for.
#[cfg(not(target_family = "wasm"))]
pub type SystemHost = NativeHost;
/// The host of the system that the program is built for.
#[cfg(target_family = "wasm")]
pub type SystemHost = WasiHost;
