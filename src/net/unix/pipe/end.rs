//! `Receiver` and `Sender`: the two ends of a pipe.

use super::{End, check, set_blocking};
use crate::engine::driver::Driver;
use crate::engine::sync_shim::Arc;
use crate::io::{Async, current_driver};
use mio::Interest;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

/// The end of a pipe that is read, through [`AsyncRead`](crate::io::AsyncRead), which `&Receiver`
/// implements too.
///
/// Reading returns 0, the end, when all senders are gone. Writing fails when all receivers are dropped.
///
/// # Examples
///
/// Without waiting inside an operation:
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::net::unix::pipe;
///
/// let (sender, receiver) = pipe::pipe()?;
/// assert_eq!(sender.try_write(b"hello")?, 5);
/// let mut received = [0; 16];
/// let n = loop {
///     receiver.readable().await?;
///     match receiver.try_read(&mut received) {
///         Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
///         result => break result?,
///     }
/// };
/// assert_eq!(&received[..n], b"hello");
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug)]
pub struct Receiver {
    pub(in crate::net) io: Async<mio::unix::pipe::Receiver>,
}

/// The end of a pipe that is written, through [`AsyncWrite`](crate::io::AsyncWrite), which `&Sender`
/// implements too.
///
/// Dropping it is what ends the pipe for the reader; closing through the trait does nothing. Writes of up
/// to `PIPE_BUF` bytes (4096 on Linux) are not mixed with those of other writers.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{AsyncReadExt, AsyncWriteExt};
/// use liten::net::unix::pipe;
///
/// let (mut sender, mut receiver) = pipe::pipe()?;
/// sender.write_all(b"hello").await?;
/// drop(sender);
/// let mut received = String::new();
/// receiver.read_to_string(&mut received).await?;
/// assert_eq!(received, "hello");
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug)]
pub struct Sender {
    pub(in crate::net) io: Async<mio::unix::pipe::Sender>,
}

/// The methods of an end over mio's of the same name: conversions from and to files and descriptors, and
/// those that the one end alone has.
macro_rules! end {
    ($end:ident, $interest:expr, $($methods:tt)*) => {
        impl $end {
            /// Makes it of a file that is this end of a pipe, and puts it into non-blocking mode.
            ///
            /// The mode belongs to the open pipe: each process that shares the descriptor has it too.
            ///
            /// # Errors
            ///
            /// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) if the file is no pipe or is open for
            /// the other end only, otherwise the error of the operating system.
            ///
            /// # Panics
            ///
            /// Panics if it is called outside a runtime.
            #[track_caller]
            pub fn from_file(file: File) -> io::Result<Self> {
                Self::from_owned_fd(file.into())
            }

            /// [`from_file`](Self::from_file) for a file descriptor.
            ///
            /// # Errors
            ///
            /// As [`from_file`](Self::from_file).
            ///
            /// # Panics
            ///
            /// Panics if it is called outside a runtime.
            #[track_caller]
            pub fn from_owned_fd(fd: OwnedFd) -> io::Result<Self> {
                let driver = current_driver();
                let pipe = mio::unix::pipe::$end::from(check(fd, End::$end)?);
                // First of all: a blocking pipe in the driver would hold up the thread that uses it.
                pipe.set_nonblocking(true)?;
                Self::adopt(&driver, pipe)
            }

            /// Makes it of a file without looking what that is. It must be in non-blocking mode.
            ///
            /// A file that is in blocking mode holds up the thread that uses it.
            ///
            /// # Errors
            ///
            /// Returns the error of the operating system if it cannot poll the file.
            ///
            /// # Panics
            ///
            /// Panics if it is called outside a runtime.
            #[track_caller]
            pub fn from_file_unchecked(file: File) -> io::Result<Self> {
                Self::from_owned_fd_unchecked(file.into())
            }

            /// [`from_file_unchecked`](Self::from_file_unchecked) for a file descriptor.
            ///
            /// # Errors
            ///
            /// As [`from_file_unchecked`](Self::from_file_unchecked).
            ///
            /// # Panics
            ///
            /// Panics if it is called outside a runtime.
            #[track_caller]
            pub fn from_owned_fd_unchecked(fd: OwnedFd) -> io::Result<Self> {
                Self::adopt(&current_driver(), fd.into())
            }

            /// Registers an end that is in non-blocking mode.
            pub(super) fn adopt(
                driver: &Arc<Driver>,
                pipe: mio::unix::pipe::$end,
            ) -> io::Result<Self> {
                Ok(Self { io: Async::register(driver, pipe, $interest, None)? })
            }

            /// Takes the end out of the runtime and returns its descriptor in blocking mode, as other
            /// programs expect it.
            ///
            /// # Errors
            ///
            /// Returns the error of the operating system; the end is then closed.
            pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
                let fd = self.into_nonblocking_fd()?;
                set_blocking(&fd)?;
                Ok(fd)
            }

            /// Takes the end out of the runtime and returns its descriptor, still in non-blocking mode.
            ///
            /// # Errors
            ///
            /// Returns the error of the operating system if it refuses to deregister the end, which is then
            /// closed.
            pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
                Ok(self.io.into_inner()?.into())
            }

            $($methods)*
        }
    };
}

end! {
    Receiver, Interest::READABLE,
    read_readiness!();
    own_operations!();
    try_reads!();
}

end! {
    Sender, Interest::WRITABLE,
    write_readiness!();
    own_operations!();
    try_writes!();
}
