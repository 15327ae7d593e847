//! Signals of Unix: liten's.

use crate::runtime::context;
pub use liten::signal::unix::{Signal, SignalKind};
use std::io;

/// Listens for signals of a kind.
///
/// # Errors
///
/// Returns an error if the kind cannot be listened for, and the error of the operating system.
///
/// # Panics
///
/// Panics outside a runtime.
#[track_caller]
pub fn signal(kind: SignalKind) -> io::Result<Signal> {
    context::assert_io();
    liten::signal::unix::signal(kind)
}
