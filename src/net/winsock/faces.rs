//! What the sockets have on Windows only: socket handles.

use crate::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket, RawSocket};

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
