//! What the BSDs do in their own way: who is at the other end of a Unix socket.

use super::UnixStream;
use super::unix::UCred;
use nix::unistd::getpeereid;
use std::io;

pub(super) fn peer_credentials(stream: &UnixStream) -> io::Result<UCred> {
    let (uid, gid) = getpeereid(stream)?;
    Ok(UCred { uid: uid.as_raw(), gid: gid.as_raw(), pid: None })
}
