//! What is Linux and Android only: options that other systems lack, the peer of a Unix socket,
//! and abstract addresses.

use super::unix::UCred;
use super::{TcpSocket, TcpStream, UdpSocket, UnixStream};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use socket2::SockRef;
use std::io;
#[cfg(target_os = "android")]
use std::os::android::net::SocketAddrExt;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::SocketAddr;
use std::path::Path;

/// The address that `path` stands for: an abstract name if its first byte is zero.
pub(super) fn unix_address(path: &Path) -> io::Result<SocketAddr> {
    match path.as_os_str().as_bytes() {
        [0, name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(path),
    }
}

/// Whether `path` stands for an abstract name.
pub(super) fn is_abstract(path: &Path) -> bool {
    path.as_os_str().as_bytes().first() == Some(&0)
}

pub(super) fn peer_credentials(stream: &UnixStream) -> io::Result<UCred> {
    let peer = getsockopt(stream, PeerCredentials)?;
    Ok(UCred { uid: peer.uid(), gid: peer.gid(), pid: Some(peer.pid()) })
}

impl TcpStream {
    options! {
        |this| SockRef::from(this);
        /// Returns whether segments are acknowledged at once (`TCP_QUICKACK`). Linux and Android only.
        quickack() -> bool: tcp_quickack;
        /// Acknowledges segments at once, instead of waiting a moment for data that could take the
        /// acknowledgement along (`TCP_QUICKACK`). Linux and Android only.
        ///
        /// It is no lasting setting: the operating system returns to its own judgement later.
        set_quickack(on: bool) -> (): set_tcp_quickack;
    }
}

/// The network interface of a socket.
macro_rules! device {
    ($($face:ty)*) => {$(
        impl $face {
            options! {
                |this| SockRef::from(this);
                /// Returns the name of the network interface that the socket is bound to
                /// (`SO_BINDTODEVICE`). Linux and Android only.
                device() -> Option<Vec<u8>>: device;
                /// Binds the socket to the network interface of this name, so that nothing comes in or goes
                /// out by another one (`SO_BINDTODEVICE`); `None` undoes it. Linux and Android only.
                ///
                /// Old systems allow it to privileged programs only.
                bind_device(interface: Option<&[u8]>) -> (): bind_device;
            }
        }
    )*};
}

device!(TcpSocket UdpSocket);
