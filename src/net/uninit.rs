//! Receiving into memory that is not initialised, for the families of I/O traits that lend such.
//!
//! It saves filling the buffer with zeros before each read. hyper makes a new buffer per read, of 8 KB for
//! the first request and up to 400 KB for a large body; to clear that costs as much as a system call.

use super::TcpStream;
#[cfg(unix)]
use super::UnixStream;
use crate::engine::driver::readiness::Direction;
use socket2::SockRef;
use std::io;
use std::mem::MaybeUninit;
use std::task::{Context, Poll};

/// A stream that the kernel fills uninitialised memory from.
pub(super) trait Receive {
    /// Receives into `buf`: when it returns a length, so many bytes at the beginning are initialised. No
    /// byte is ever made uninitialised, whatever it returns.
    ///
    /// The length is never more than there is room for. Callers rely on all that in `unsafe` code, so the
    /// trait is implemented in this file only.
    fn poll_receive(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>>;
}

macro_rules! receives {
    ($face:ty) => {
        impl Receive for $face {
            fn poll_receive(
                &self,
                cx: &mut Context<'_>,
                buf: &mut [MaybeUninit<u8>],
            ) -> Poll<io::Result<usize>> {
                let full = <$face>::full_read(buf.len());
                // Through `try_io`, so that mio learns of a `WouldBlock` on systems where it has to.
                self.io.poll_transfer(cx, Direction::Read, full, |stream| {
                    stream.try_io(|| SockRef::from(self).recv(buf))
                })
            }
        }
    };
}

receives!(TcpStream);
#[cfg(unix)]
receives!(UnixStream);
