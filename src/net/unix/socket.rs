//! `UnixSocket`: a socket that has no address and no peer yet.

use super::{UnixDatagram, UnixListener, UnixStream};
use crate::io::{backlog, current_driver, driver_for};
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, ErrorKind};
use std::panic::Location;
use std::path::Path;

/// A Unix socket that is neither bound nor connected yet: for a client with an address of its own, and for
/// listeners with a queue of a chosen length.
///
/// [`UnixListener::bind`], [`UnixStream::connect`] and [`UnixDatagram::bind`] are shorter where that is not
/// needed.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::net::UnixSocket;
///
/// let path = std::env::temp_dir().join(format!("liten-socket-{}", std::process::id()));
/// let socket = UnixSocket::new_stream()?;
/// socket.bind(&path)?;
/// let listener = socket.listen(16)?;
///
/// let client = UnixSocket::new_stream()?.connect(&path).await?;
/// let (server, _peer) = listener.accept().await?;
/// assert_eq!(client.peer_cred()?, server.peer_cred()?);
///
/// std::fs::remove_file(&path)
/// # })
/// # }
/// ```
#[derive(Debug)]
pub struct UnixSocket {
    inner: Socket,
    kind: Type,
}

impl UnixSocket {
    /// Makes a socket for a stream, to connect or to listen with.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, such as too many open files.
    pub fn new_stream() -> io::Result<Self> {
        Self::new(Type::STREAM)
    }

    /// Makes a socket for datagrams.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, such as too many open files.
    pub fn new_datagram() -> io::Result<Self> {
        Self::new(Type::DGRAM)
    }

    fn new(kind: Type) -> io::Result<Self> {
        let inner = Socket::new(Domain::UNIX, kind, None)?;
        inner.set_nonblocking(true)?;
        Ok(Self { inner, kind })
    }

    /// Gives the socket the address `path`, where a file is created, unless that is an [abstract
    /// name](super#abstract-names).
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system: [`AddrInUse`](ErrorKind::AddrInUse) if the file exists
    /// already.
    pub fn bind<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.inner.bind(&SockAddr::unix(path)?)
    }

    /// Starts to listen; up to `backlog` connections may wait to be accepted.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](ErrorKind::InvalidInput) for a datagram socket, else the error of the
    /// operating system.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<UnixListener> {
        let driver = current_driver();
        self.expect(Type::STREAM, "a datagram socket cannot listen")?;
        self.inner.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        UnixListener::adopt(&driver, mio::net::UnixListener::from_std(self.inner.into()))
    }

    /// Connects to the socket at `path`. While the queue of the listener is full, it waits for room, as
    /// [`UnixStream::connect`] does.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future closes the socket.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](ErrorKind::InvalidInput) for a datagram socket, which
    /// [`datagram`](Self::datagram) is for, else as [`UnixStream::connect`].
    ///
    /// # Panics
    ///
    /// Panics if it is polled outside a runtime. It may be called there: the runtime that polls it counts.
    #[track_caller]
    pub fn connect<P: AsRef<Path>>(
        self,
        path: P,
    ) -> impl Future<Output = io::Result<UnixStream>> + use<P> {
        let made_at = Location::caller();
        let address = SockAddr::unix(path);
        async move {
            let driver = driver_for(made_at);
            self.expect(Type::STREAM, "a datagram socket has no connection: use datagram()")?;
            let (socket, address) = (self.inner, address?);
            backlog::patiently(&driver, || socket.connect(&address)).await?;
            UnixStream::adopt_connected(&driver, mio::net::UnixStream::from_std(socket.into()))
        }
    }

    /// Makes a datagram socket of it, which can be [connected](UnixDatagram::connect).
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](ErrorKind::InvalidInput) for a stream socket, else the error of the operating
    /// system if it cannot be registered.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn datagram(self) -> io::Result<UnixDatagram> {
        let driver = current_driver();
        self.expect(Type::DGRAM, "a stream socket sends no datagrams")?;
        UnixDatagram::adopt(&driver, mio::net::UnixDatagram::from_std(self.inner.into()))
    }

    fn expect(&self, kind: Type, otherwise: &'static str) -> io::Result<()> {
        match self.kind == kind {
            true => Ok(()),
            false => Err(io::Error::new(ErrorKind::InvalidInput, otherwise)),
        }
    }
}
