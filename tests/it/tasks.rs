//! One task from its spawn to its end: handles, wakers, panics, and what it needs.

mod abort;
mod cancellation;
mod hooks;
mod join_handle;
mod large_futures;
pub(crate) mod panic;
mod panicking_drops;
pub(crate) mod panicking_wakers;
mod send_bounds;
mod spawn;
mod tracker;
mod unusual_wakers;
mod wake;
mod whole_life;
