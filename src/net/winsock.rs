//! What is Windows only: socket handles, and how it says "not yet".

use super::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use std::io;
use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket, RawSocket};

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
pub(super) fn allow_quick_rebind(_socket: &TcpSocket) -> io::Result<()> {
    Ok(())
}

/// Lends the socket handle that the expression names.
macro_rules! handle {
    ($($face:ty: |$this:ident| $inner:expr;)*) => {$(
        impl AsSocket for $face {
            fn as_socket(&self) -> BorrowedSocket<'_> {
                let $this = self;
                $inner.as_socket()
            }
        }

        impl AsRawSocket for $face {
            fn as_raw_socket(&self) -> RawSocket {
                let $this = self;
                $inner.as_raw_socket()
            }
        }
    )*};
}

handle! {
    TcpListener: |this| this.io;
    TcpStream: |this| this.io;
    TcpSocket: |this| this.inner();
    UdpSocket: |this| this.io;
}
