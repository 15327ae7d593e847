//! `UCred`: the user and the process at the other end of a Unix socket.

/// The user, group and process at the other end of a Unix socket when the connection was made; from
/// [`UnixStream::peer_cred`](super::UnixStream::peer_cred).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UCred {
    pub(in crate::net) uid: u32,
    pub(in crate::net) gid: u32,
    pub(in crate::net) pid: Option<i32>,
}

impl UCred {
    /// Returns the effective user id.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Returns the effective group id.
    #[must_use]
    pub fn gid(&self) -> u32 {
        self.gid
    }

    /// Returns the process id, where the operating system tells it: on Linux, Android and macOS.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.pid
    }
}
