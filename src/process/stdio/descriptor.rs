//! Unix: the descriptors of the pipes.

use super::{ChildStderr, ChildStdin, ChildStdout, closed};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

impl ChildStdin {
    /// Takes the descriptor out of the runtime and returns it, in blocking mode. Unix only.
    ///
    /// # Errors
    ///
    /// Returns [`BrokenPipe`](io::ErrorKind::BrokenPipe) if it has been closed, else the error of the
    /// operating system.
    pub fn into_owned_fd(mut self) -> io::Result<OwnedFd> {
        self.pipe.take().ok_or_else(closed)?.into_owned_fd()
    }
}

/// # Panics
///
/// Panics if it has been closed.
impl AsFd for ChildStdin {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_ref().expect("the child's stdin has been closed").as_fd()
    }
}

/// # Panics
///
/// Panics if it has been closed.
impl AsRawFd for ChildStdin {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

macro_rules! output {
    ($($type:ident)*) => {$(
        impl $type {
            /// Takes the descriptor out of the runtime and returns it, in blocking mode. Unix only.
            ///
            /// # Errors
            ///
            /// Returns the error of the operating system.
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                self.pipe.into_owned_fd()
            }
        }

        impl AsFd for $type {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.pipe.as_fd()
            }
        }

        impl AsRawFd for $type {
            fn as_raw_fd(&self) -> RawFd {
                self.as_fd().as_raw_fd()
            }
        }
    )*};
}

output!(ChildStdout ChildStderr);
