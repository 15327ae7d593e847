//! What Apple's systems do in their own way: who is at the other end of a Unix socket, and its addresses.

use super::UnixStream;
use super::unix::UCred;
use nix::sys::socket::{getsockopt, sockopt::LocalPeerPid};
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
    let pid = getsockopt(stream, LocalPeerPid)?;
    Ok(UCred { uid: uid.as_raw(), gid: gid.as_raw(), pid: Some(pid) })
}
