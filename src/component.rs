//! One thread that waits for a host without descriptors: WASI 0.2, or a condition variable in its place.
//!
//! `contract` is what a host has to offer. `poller` waits for several of its operations, `reactor` wakes the
//! futures that wait for them, and `drive` polls a `root` and turns the reactor in between.

mod contract;
mod current;
mod drive;
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

pub use contract::Host;
pub(crate) use current::enter;
#[cfg(target_family = "wasm")]
pub(crate) use drive::{Attendant, Deadlock, drive};
#[cfg(not(target_family = "wasm"))]
pub use native::{Event, NativeHost, NativePollable};
pub use poller::{EventKey, Poller};
pub use reactor::{Reactor, Registration, WaitFor};
#[cfg(target_family = "wasm")]
pub use system::WasiHost;

/// The host of the system that the program is built for.
#[cfg(not(target_family = "wasm"))]
pub type SystemHost = NativeHost;
/// The host of the system that the program is built for.
#[cfg(target_family = "wasm")]
pub type SystemHost = WasiHost;
