//! The engine: what runs tasks, waits for events and keeps time, and what nobody outside the crate sees.
//!
//! The faces (`runtime`, `task`, `net` and the others beside this folder) stand on it and import downwards
//! only. Inside, too, a room imports rooms that stand above it in this table and none below, but for those
//! that `tests/tidy.rs` lists. This is the order to read them in:

pub(crate) mod ended;
pub(crate) mod hint;
pub(crate) mod recycler;
pub(crate) mod rng;
pub(crate) mod scoped;
pub(crate) mod slab;
pub(crate) mod sync_shim;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod thread_name;
pub(crate) mod wakers;
#[cfg_attr(not(feature = "tokio-name"), path = "engine/words/liten.rs")]
#[cfg_attr(feature = "tokio-name", path = "engine/words/tokio.rs")]
pub(crate) mod words;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod park;
pub(crate) mod queue;

pub(crate) mod cancellation;
pub(crate) mod task;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod blocking;
#[cfg_attr(target_family = "wasm", path = "engine/driver/wasm.rs")]
pub(crate) mod driver;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod scheduler;
