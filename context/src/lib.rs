//! The parts of tokio that liten's feature `tokio-context` uses, in a version that has them all.
//!
//! Of no use elsewhere: depend on tokio itself.

pub use tokio::{runtime, task};
