//! `UnixStream`: a connection within the machine.

use super::UCred;
use crate::engine::driver::Driver;
use crate::engine::sync_shim::Arc;
use crate::io::{Async, backlog, current_driver, driver_for};
use crate::net::{BOTH, unix_kind};
use std::io;
use std::os::unix::net::{self, SocketAddr};
use std::panic::Location;
use std::path::Path;

/// A stream socket between two processes of one machine.
///
/// It is made by [`connect`](Self::connect), by [`UnixListener::accept`](super::UnixListener::accept), as a
/// [pair](Self::pair) or [from the standard library](Self::from_std). It is read and written through
/// [`AsyncRead`](crate::io::AsyncRead) and [`AsyncWrite`](crate::io::AsyncWrite), which `&UnixStream`
/// implements too. Dropping it closes the connection.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{AsyncReadExt, AsyncWriteExt};
/// use liten::net::UnixStream;
///
/// let (mut here, mut there) = UnixStream::pair()?;
/// here.write_all(b"hello").await?;
/// drop(here);
///
/// let mut received = String::new();
/// there.read_to_string(&mut received).await?;
/// assert_eq!(received, "hello");
/// # Ok(())
/// # })
/// # }
/// ```
pub struct UnixStream {
    pub(in crate::net) io: Async<mio::net::UnixStream>,
}

conversions!(UnixStream, mio::net::UnixStream, net::UnixStream, BOTH, register);
connections!(UnixStream, mio::net::UnixStream, BOTH);

impl UnixStream {
    /// Connects to the socket at `path`. While the queue of the listener is full, it waits for room.
    ///
    /// Linux does not tell when there is room, so that the wait asks again after pauses of at most 32 ms.
    /// Other systems refuse the connection.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future closes the connection, or leaves none behind if it has been waiting.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system: [`NotFound`](io::ErrorKind::NotFound) if there is no such
    /// file, [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) if no socket listens; and an error if
    /// the runtime is shut down while it waits for room. Nothing bounds the time of that: use a timeout.
    ///
    /// # Panics
    ///
    /// Panics if it is polled outside a runtime. It may be called there: the runtime that polls it counts.
    #[track_caller]
    pub fn connect<P: AsRef<Path>>(path: P) -> impl Future<Output = io::Result<Self>> {
        let made_at = Location::caller();
        let address = unix_kind::unix_address(path.as_ref());
        async move { Self::connect_to(&driver_for(made_at), address?).await }
    }

    /// Connects to `address`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future closes the connection.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    ///
    /// # Panics
    ///
    /// Panics if it is polled outside a runtime. It may be called there: the runtime that polls it counts.
    #[track_caller]
    pub fn connect_addr(address: &SocketAddr) -> impl Future<Output = io::Result<Self>> + use<> {
        let made_at = Location::caller();
        let address = address.clone();
        async move { Self::connect_to(&driver_for(made_at), address).await }
    }

    async fn connect_to(driver: &Arc<Driver>, address: SocketAddr) -> io::Result<Self> {
        let connect = || mio::net::UnixStream::connect_addr(&address);
        Self::adopt_connected(driver, backlog::patiently(driver, connect).await?)
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
        let (first, second) = mio::net::UnixStream::pair()?;
        Ok((Self::adopt_connected(&driver, first)?, Self::adopt_connected(&driver, second)?))
    }

    /// Returns the user, the group and, where the operating system tells it, the process that was at the
    /// other end when the connection was made.
    ///
    /// It is the operating system's word and not the peer's. The process may have ended since, or have
    /// handed the connection to another one.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// # liten::block_on(async {
    /// use liten::net::UnixStream;
    ///
    /// let (here, there) = UnixStream::pair()?;
    /// assert_eq!(here.peer_cred()?, there.peer_cred()?);
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub fn peer_cred(&self) -> io::Result<UCred> {
        unix_kind::peer_credentials(self)
    }

    readiness_methods!();
    stream_methods!(SocketAddr);
}
