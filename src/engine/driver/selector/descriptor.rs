//! Where the selector knows sources by their descriptors.

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use std::io;

/// Whether the selector is epoll or kqueue, which know a source by its descriptor alone. On other systems mio
/// notes with the socket for what it is registered, and would undo a change by the descriptor.
pub(in crate::engine::driver) const KNOWS_DESCRIPTORS: bool = cfg!(any(
    target_vendor = "apple",
    target_os = "android",
    target_os = "dragonfly",
    target_os = "freebsd",
    target_os = "illumos",
    target_os = "linux",
    target_os = "netbsd",
    target_os = "openbsd",
));

/// Changes for what a source is registered. The system reports what is ready then.
///
/// # Errors
///
/// The system does not know the descriptor, or has no memory.
pub(in crate::engine::driver) fn reregister(
    registry: &Registry,
    descriptor: i32,
    token: Token,
    interest: Interest,
) -> io::Result<()> {
    registry.reregister(&mut SourceFd(&descriptor), token, interest)
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
