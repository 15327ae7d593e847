//! What the programs and tests of this package share.

pub mod guard;
#[cfg(target_family = "wasm")]
pub mod http;
pub mod scripted;
pub mod witness;
