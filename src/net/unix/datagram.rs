//! `UnixDatagram`: datagrams within the machine.

use crate::engine::driver::readiness::Direction;
use crate::io::{Async, Interest, current_driver};
use crate::net::{BOTH, unix_kind};
use socket2::{SockAddr, SockRef};
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::task::{Context, Poll};

/// A Unix socket for datagrams, which arrive whole, in order and at most once.
///
/// All methods take `&self`: share it with an [`Arc`](std::sync::Arc) to send and receive, or to receive in
/// several tasks. What does not fit into the buffer of the receiver is lost.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::net::UnixDatagram;
///
/// let (here, there) = UnixDatagram::pair()?;
/// here.send(b"ping").await?;
/// let mut buf = [0; 64];
/// let n = there.recv(&mut buf).await?;
/// assert_eq!(&buf[..n], b"ping");
/// # Ok(())
/// # })
/// # }
/// ```
pub struct UnixDatagram {
    pub(in crate::net) io: Async<mio::net::UnixDatagram>,
}

conversions!(UnixDatagram, mio::net::UnixDatagram, net::UnixDatagram, BOTH, register_with_room);

impl UnixDatagram {
    /// Makes a socket with the address `path`, where it creates a file, unless that is an [abstract
    /// name](super#abstract-names).
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system: [`AddrInUse`](io::ErrorKind::AddrInUse) if the file
    /// exists already.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        Self::bind_addr(&unix_kind::unix_address(path.as_ref())?)
    }

    /// Makes a socket with the address `address`.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn bind_addr(address: &SocketAddr) -> io::Result<Self> {
        Self::adopt(&current_driver(), mio::net::UnixDatagram::bind_addr(address)?)
    }

    /// Makes a socket without an address: it can send, and receive from the peer it is connected to.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, such as too many open files.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn unbound() -> io::Result<Self> {
        Self::adopt(&current_driver(), mio::net::UnixDatagram::unbound()?)
    }

    /// Makes two sockets that are connected with each other.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, such as too many open files.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn pair() -> io::Result<(Self, Self)> {
        let driver = current_driver();
        let (first, second) = mio::net::UnixDatagram::pair()?;
        Ok((Self::adopt(&driver, first)?, Self::adopt(&driver, second)?))
    }

    /// Fixes the peer: the socket at `path`.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system: [`NotFound`](io::ErrorKind::NotFound) if there is no such
    /// file, [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if its socket is gone.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        let (socket, path) = (self.io.get_ref(), path.as_ref());
        match unix_kind::is_abstract(path) {
            true => SockRef::from(socket).connect(&SockAddr::unix(path)?),
            false => socket.connect(path),
        }
    }

    readiness_methods!();
    datagram_methods!(SocketAddr);

    /// Shuts the receiving side, the sending side or both down.
    ///
    /// # Errors
    ///
    /// Returns [`NotConnected`](io::ErrorKind::NotConnected) if the socket has no peer.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.io.get_ref().shutdown(how)
    }

    /// Sends a datagram to the socket at `path`, and returns its length. It waits while the queue of that
    /// socket is full.
    ///
    /// Linux cannot tell when such a queue has room again, unless it is that of the connected peer: the
    /// wait then asks over and over. [`connect`](Self::connect) first if the receiver may be slow.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a datagram is sent and reported in the same poll, or not sent.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system: [`NotFound`](io::ErrorKind::NotFound) if there is no such
    /// file, [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if its socket is gone.
    pub async fn send_to<P: AsRef<Path>>(&self, buf: &[u8], path: P) -> io::Result<usize> {
        let path = path.as_ref();
        self.io.async_io(Interest::WRITABLE, |socket| send_to(socket, buf, path)).await
    }

    /// Polls [`send_to`](Self::send_to).
    ///
    /// # Errors
    ///
    /// As [`send_to`](Self::send_to).
    pub fn poll_send_to<P: AsRef<Path>>(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        path: P,
    ) -> Poll<io::Result<usize>> {
        self.io.poll_io(cx, Direction::Write, |socket| send_to(socket, buf, path.as_ref()))
    }

    /// [`send_to`](Self::send_to) without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room, else as
    /// [`send_to`](Self::send_to).
    pub fn try_send_to<P: AsRef<Path>>(&self, buf: &[u8], path: P) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |socket| send_to(socket, buf, path.as_ref()))
    }
}

/// mio takes names of files only.
fn send_to(socket: &mio::net::UnixDatagram, buf: &[u8], path: &Path) -> io::Result<usize> {
    match unix_kind::is_abstract(path) {
        true => SockRef::from(socket).send_to(buf, &SockAddr::unix(path)?),
        false => socket.send_to(buf, path),
    }
}
