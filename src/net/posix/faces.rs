//! What the sockets and pipes have on Unix only: file descriptors, and options that Winsock lacks.

use crate::net::unix::pipe::{Receiver, Sender};
use crate::net::{
    TcpListener, TcpSocket, TcpStream, UdpSocket, UnixDatagram, UnixListener, UnixStream,
};
use socket2::SockRef;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

impl TcpSocket {
    options! {
        |this| this.inner();
        /// Returns whether other sockets may listen on the same address and port (`SO_REUSEPORT`). Unix only.
        reuseport() -> bool: reuse_port;
        /// Lets several sockets listen on the same address and port (`SO_REUSEPORT`). Unix only.
        set_reuseport(on: bool) -> (): set_reuse_port;
    }
}

/// The field of an IPv6 packet that asks routers for a certain treatment.
macro_rules! traffic_class {
    ($($face:ty)*) => {$(
        impl $face {
            options! {
                |this| SockRef::from(this);
                /// Returns the traffic class in outgoing IPv6 packets (`IPV6_TCLASS`). Unix only. An IPv4
                /// socket has none.
                tclass_v6() -> u32: tclass_v6;
                /// Sets the traffic class in outgoing IPv6 packets (`IPV6_TCLASS`), 0 to 255. Unix only. An
                /// IPv4 socket has none.
                set_tclass_v6(class: u32) -> (): set_tclass_v6;
            }
        }
    )*};
}

traffic_class!(TcpSocket UdpSocket);

/// Lends the file descriptor that the expression names.
macro_rules! descriptor {
    ($($face:ty: |$this:ident| $inner:expr;)*) => {$(
        impl AsFd for $face {
            fn as_fd(&self) -> BorrowedFd<'_> {
                let $this = self;
                $inner.as_fd()
            }
        }

        impl AsRawFd for $face {
            fn as_raw_fd(&self) -> RawFd {
                let $this = self;
                $inner.as_raw_fd()
            }
        }
    )*};
}

descriptor! {
    TcpListener: |this| this.io;
    TcpStream: |this| this.io;
    TcpSocket: |this| this.inner();
    UdpSocket: |this| this.io;
    UnixDatagram: |this| this.io;
    UnixListener: |this| this.io;
    UnixStream: |this| this.io;
    Receiver: |this| this.io;
    Sender: |this| this.io;
}
