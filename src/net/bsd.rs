//! What the BSDs and Apple's systems do in their own way: the peer of a Unix socket, and its
//! addresses.

use super::UnixStream;
use super::unix::UCred;
use nix::unistd::getpeereid;
use std::io;
use std::os::unix::net::SocketAddr;
use std::path::Path;

/// The address that `path` stands for.
pub(super) fn unix_address(path: &Path) -> io::Result<SocketAddr> {
    SocketAddr::from_pathname(path)
}

/// Whether `path` stands for an abstract name: there are none here.
pub(super) fn is_abstract(_path: &Path) -> bool {
    false
}

pub(super) fn peer_credentials(stream: &UnixStream) -> io::Result<UCred> {
    let (uid, gid) = getpeereid(stream)?;
    Ok(UCred { uid: uid.as_raw(), gid: gid.as_raw(), pid: peer_process(stream)? })
}

#[cfg(target_vendor = "apple")]
fn peer_process(stream: &UnixStream) -> io::Result<Option<i32>> {
    use nix::sys::socket::{getsockopt, sockopt::LocalPeerPid};
    Ok(Some(getsockopt(stream, LocalPeerPid)?))
}

#[cfg(not(target_vendor = "apple"))]
fn peer_process(_stream: &UnixStream) -> io::Result<Option<i32>> {
    Ok(None)
}
