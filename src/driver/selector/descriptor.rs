//! Where the selector knows sources by their descriptors.

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use std::io;

/// Changes for what a source is registered. The system reports what is ready then.
///
/// # Errors
///
/// The system does not know the descriptor, or has no memory.
pub(in crate::driver) fn reregister(
    registry: &Registry,
    descriptor: i32,
    token: Token,
    interest: Interest,
) -> io::Result<()> {
    registry.reregister(&mut SourceFd(&descriptor), token, interest)
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
