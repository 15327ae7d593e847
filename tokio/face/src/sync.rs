//! Channels and locks: liten's, which count against a task's budget and know its runtime.

pub use liten::sync::*;

#[doc(no_inline)]
pub use liten::sync::{broadcast, futures, mpsc, oneshot, watch};
