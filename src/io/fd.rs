//! Unix: any file descriptor as a source, and the descriptor of an `Async`.

use super::Async;
use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Registry, Token};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// A source made from anything that owns a pollable file descriptor.
///
/// Sockets of other crates, pipes, terminals, eventfds, inotify and DRM handles all become usable as
/// `Async::new(Fd::new(handle))`. It reads and writes whatever `T` reads and writes.
///
/// The descriptor must be in non-blocking mode (`O_NONBLOCK`); setting it is left to the caller, because
/// the mode belongs to the open file and other processes may share that. Regular files cannot be polled.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{Async, Fd, Interest};
/// use std::os::unix::net::UnixDatagram;
///
/// let (ours, theirs) = UnixDatagram::pair()?;
/// ours.set_nonblocking(true)?;
/// let ours = Async::new(Fd::new(ours))?;
///
/// theirs.send(b"ping")?;
/// let mut buf = [0; 16];
/// let n = ours.async_io(Interest::READABLE, |fd| fd.get_ref().recv(&mut buf)).await?;
/// assert_eq!(&buf[..n], b"ping");
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug)]
pub struct Fd<T>(T);

impl<T: AsFd> Fd<T> {
    /// Makes a source of `inner`, which must be in non-blocking mode.
    pub fn new(inner: T) -> Self {
        Self(inner)
    }

    /// Returns the owner of the descriptor.
    pub fn get_ref(&self) -> &T {
        &self.0
    }

    /// Gives the owner of the descriptor back.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: AsFd> Source for Fd<T> {
    fn register(
        &mut self,
        registry: &Registry,
        token: Token,
        interests: mio::Interest,
    ) -> io::Result<()> {
        SourceFd(&self.as_raw_fd()).register(registry, token, interests)
    }

    fn reregister(
        &mut self,
        registry: &Registry,
        token: Token,
        interests: mio::Interest,
    ) -> io::Result<()> {
        SourceFd(&self.as_raw_fd()).reregister(registry, token, interests)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.as_raw_fd()).deregister(registry)
    }
}

impl<T> Read for &Fd<T>
where
    for<'a> &'a T: Read,
{
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&self.0).read(buf)
    }

    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&self.0).read_vectored(bufs)
    }
}

impl<T> Write for &Fd<T>
where
    for<'a> &'a T: Write,
{
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&self.0).write(buf)
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&self.0).write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.0).flush()
    }
}

impl<T: AsFd> AsFd for Fd<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl<T: AsFd> AsRawFd for Fd<T> {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

impl<S: Source + AsFd> AsFd for Async<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.get_ref().as_fd()
    }
}

impl<S: Source + AsRawFd> AsRawFd for Async<S> {
    fn as_raw_fd(&self) -> RawFd {
        self.get_ref().as_raw_fd()
    }
}
