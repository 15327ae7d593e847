//! `TcpSocket`: a socket that is configured before it connects or listens.

use super::{TcpListener, TcpStream};
use crate::engine::driver::Driver;
use crate::engine::sync_shim::Arc;
use crate::io::{current_driver, driver_for};
use crate::net::system;
use crate::runtime::incidents::connected;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::panic::Location;

/// A TCP socket that neither listens nor is connected yet, for options that must be set before.
///
/// [`TcpListener::bind`] and [`TcpStream::connect`] are shorter where the usual options will do.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::net::TcpSocket;
///
/// let socket = TcpSocket::new_v4()?;
/// socket.set_recv_buffer_size(1 << 16)?;
/// socket.bind("127.0.0.1:0".parse().expect("it is an address"))?;
/// let listener = socket.listen(16)?;
///
/// let socket = TcpSocket::new_v4()?;
/// socket.set_nodelay(true)?;
/// let client = socket.connect(listener.local_addr()?).await?;
/// assert!(client.nodelay()?);
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug)]
pub struct TcpSocket {
    inner: Socket,
}

impl TcpSocket {
    /// Makes a socket for IPv4.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, such as too many open files.
    pub fn new_v4() -> io::Result<Self> {
        Self::new(Domain::IPV4)
    }

    /// Makes a socket for IPv6.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, such as too many open files.
    pub fn new_v6() -> io::Result<Self> {
        Self::new(Domain::IPV6)
    }

    pub(super) fn for_address(address: SocketAddr) -> io::Result<Self> {
        Self::new(Domain::for_address(address))
    }

    fn new(domain: Domain) -> io::Result<Self> {
        let inner = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
        inner.set_nonblocking(true)?;
        Ok(Self { inner })
    }

    /// Makes one of a socket of the standard library that is not connected yet, and puts it into
    /// non-blocking mode.
    ///
    /// The standard library has no type for such a socket and calls it a stream; crates that make sockets
    /// in their own ways hand them out so.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if the mode cannot be set.
    pub fn from_std_stream(socket: std::net::TcpStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { inner: socket.into() })
    }

    pub(in crate::net) fn inner(&self) -> &Socket {
        &self.inner
    }

    /// Gives the socket the local address `address`; port 0 lets the operating system choose.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, such as [`AddrInUse`](ErrorKind::AddrInUse).
    pub fn bind(&self, address: SocketAddr) -> io::Result<()> {
        self.inner.bind(&address.into())
    }

    /// Connects to `address`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the socket.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system. Nothing bounds the time but the operating system: use a
    /// timeout.
    ///
    /// # Panics
    ///
    /// Panics if it is polled outside a runtime. It may be called there: the runtime that polls it counts.
    #[track_caller]
    pub fn connect(self, address: SocketAddr) -> impl Future<Output = io::Result<TcpStream>> {
        let made_at = Location::caller();
        async move {
            let driver = driver_for(made_at);
            let result = match self.inner.connect(&address.into()) {
                Err(error) if !system::is_in_progress(&error) => Err(error),
                _ => {
                    let stream = mio::net::TcpStream::from_std(self.inner.into());
                    TcpStream::established(&driver, stream).await
                }
            };
            connected(&result);
            result
        }
    }

    /// Starts to listen; up to `backlog` connections may wait to be accepted.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn listen(self, backlog: u32) -> io::Result<TcpListener> {
        self.listen_with(&current_driver(), backlog)
    }

    pub(super) fn listen_with(self, driver: &Arc<Driver>, backlog: u32) -> io::Result<TcpListener> {
        self.inner.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
        TcpListener::adopt(driver, mio::net::TcpListener::from_std(self.inner.into()))
    }

    /// Returns the local address: it tells the port that the operating system has chosen.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.inner.local_addr()?;
        address
            .as_socket()
            .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "not an IP socket"))
    }

    options! {
        |this| this.inner;
        /// Takes the error that is pending on the socket (`SO_ERROR`), if there is one.
        take_error() -> Option<io::Error>: take_error;
        /// Returns whether the address may be taken over while old connections are running out
        /// (`SO_REUSEADDR`).
        reuseaddr() -> bool: reuse_address;
        /// Lets the address be taken over while old connections are running out (`SO_REUSEADDR`). On Windows
        /// it lets several sockets use the same address, which is hardly ever wanted.
        set_reuseaddr(on: bool) -> (): set_reuse_address;
        /// Returns whether an idle connection is probed now and then (`SO_KEEPALIVE`).
        keepalive() -> bool: keepalive;
        /// Probes an idle connection now and then (`SO_KEEPALIVE`), so that a peer that has vanished is
        /// noticed.
        set_keepalive(on: bool) -> (): set_keepalive;
        /// Returns the size of the buffer for outgoing bytes (`SO_SNDBUF`).
        send_buffer_size() -> usize: send_buffer_size;
        /// Asks for a buffer of `size` for outgoing bytes (`SO_SNDBUF`). Linux gives twice as much, within
        /// its limits.
        set_send_buffer_size(size: usize) -> (): set_send_buffer_size;
        /// Returns the size of the buffer for incoming bytes (`SO_RCVBUF`).
        recv_buffer_size() -> usize: recv_buffer_size;
        /// Asks for a buffer of `size` for incoming bytes (`SO_RCVBUF`). Linux gives twice as much, within
        /// its limits.
        set_recv_buffer_size(size: usize) -> (): set_recv_buffer_size;
    }

    tcp_options!();
    type_of_service!();
}
