//! What is done in Unix' own way: the descriptor of a socket, and how `connect` says "not yet".

mod faces;

use nix::libc;
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;

/// Whether `connect` failed only because the connection is still being made.
pub(super) fn is_in_progress(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINPROGRESS)
}

/// The descriptor of a socket.
pub(super) fn descriptor(socket: &impl AsRawFd) -> Option<i32> {
    Some(socket.as_raw_fd())
}

/// Prepares a listener for taking over an address whose old connections have not run out yet, as the
/// standard library does.
pub(super) fn allow_quick_rebind(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_address(true)
}
