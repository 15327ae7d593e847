//! What is done in Windows' own way: sockets have no descriptors, and `connect` has another word for
//! "not yet".

mod faces;

use socket2::Socket;
use std::io;
use std::os::windows::io::AsRawSocket;

/// Whether `connect` failed only because the connection is still being made.
pub(super) fn is_in_progress(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

/// The descriptor of a socket: it has none.
pub(super) fn descriptor(_socket: &impl AsRawSocket) -> Option<i32> {
    None
}

/// Does nothing: here the option would let a listener steal an address that is in use, and without it an
/// address can be taken over at once.
pub(super) fn allow_quick_rebind(_socket: &Socket) -> io::Result<()> {
    Ok(())
}
