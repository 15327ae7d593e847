//! `TcpListener`: waits for connections.

use super::{TcpSocket, TcpStream};
use crate::engine::driver::Driver;
use crate::engine::driver::readiness::Direction;
use crate::engine::sync_shim::Arc;
use crate::io::{Async, Interest, driver_for};
use crate::net::address::{ToSocketAddrs, first_success};
use crate::net::{BOTH, system};
use futures_core::Stream;
use std::future;
use std::io;
use std::net::SocketAddr;
use std::panic::Location;
use std::task::{Context, Poll, ready};

/// How many connections may wait to be accepted. The standard library's 128 loses connections when a few
/// thousand clients come at once; the operating system cuts a greater number down to its own limit.
const BACKLOG: u32 = 1024;

/// A TCP socket that waits for connections.
///
/// Several tasks may accept from one listener. Dropping it closes the socket; connections that were
/// accepted stay.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::AsyncReadExt;
/// use liten::net::{TcpListener, TcpStream};
///
/// // Port 0 lets the operating system choose.
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let client = TcpStream::connect(listener.local_addr()?).await?;
///
/// let (mut stream, peer) = listener.accept().await?;
/// assert_eq!(peer, client.local_addr()?);
/// drop(client);
/// assert_eq!(stream.read(&mut [0; 16]).await?, 0);
/// # Ok(())
/// # })
/// # }
/// ```
pub struct TcpListener {
    pub(in crate::net) io: Async<mio::net::TcpListener>,
}

conversions!(TcpListener, mio::net::TcpListener, std::net::TcpListener, BOTH);

impl TcpListener {
    /// Listens on the first address of `address` that is free.
    ///
    /// Up to 1024 connections may wait to be accepted; [`TcpSocket::listen`] takes another number. On Unix
    /// an address whose old connections are still running out can be taken over (`SO_REUSEADDR`).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future has no effect that lasts.
    ///
    /// # Errors
    ///
    /// Returns the error of the last address that was tried, such as
    /// [`AddrInUse`](io::ErrorKind::AddrInUse), or of the name resolution;
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no address.
    ///
    /// # Panics
    ///
    /// Panics if it is polled outside a runtime. It may be called there: the runtime that polls it counts.
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(address: A) -> impl Future<Output = io::Result<Self>> {
        let made_at = Location::caller();
        let target = address.target();
        async move {
            let driver = driver_for(made_at);
            first_success(target, |address| future::ready(Self::bind_to(&driver, address))).await
        }
    }

    fn bind_to(driver: &Arc<Driver>, address: SocketAddr) -> io::Result<Self> {
        let socket = TcpSocket::for_address(address)?;
        system::allow_quick_rebind(&socket)?;
        socket.bind(address)?;
        socket.listen_with(driver, BACKLOG)
    }

    /// Waits for a connection and returns it with the address of its peer.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a connection is taken and returned in the same poll. One that comes later goes to the
    /// next call.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system. Most are about one connection (reset before it was
    /// accepted) or pass by (no descriptors left): the listener stays usable and can accept again. A server
    /// that only repeats the call while descriptors are lacking turns in circles; let it wait a moment.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) =
            self.io.async_io(Interest::READABLE, |listener| listener.accept()).await?;
        Ok((TcpStream::adopt_connected(self.io.driver(), stream)?, peer))
    }

    /// Polls [`accept`](Self::accept).
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let (stream, peer) =
            ready!(self.io.poll_io(cx, Direction::Read, |listener| listener.accept()))?;
        Poll::Ready(Ok((TcpStream::adopt_connected(self.io.driver(), stream)?, peer)))
    }

    /// Returns the connections as a stream that never ends.
    ///
    /// An error concerns one attempt to accept, as with [`accept`](Self::accept); the next item may be a
    /// connection again.
    ///
    /// # Cancel safety
    ///
    /// Waiting for the next item is cancel safe.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// # liten::block_on(async {
    /// use liten::future::StreamExt;
    /// use liten::net::{TcpListener, TcpStream};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let client = TcpStream::connect(listener.local_addr()?).await?;
    ///
    /// let mut incoming = listener.incoming();
    /// let stream = incoming.next().await.expect("it never ends")?;
    /// assert_eq!(stream.peer_addr()?, client.local_addr()?);
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub fn incoming(&self) -> impl Stream<Item = io::Result<TcpStream>> + Unpin {
        futures_util::stream::poll_fn(|cx| {
            self.poll_accept(cx).map_ok(|(stream, _peer)| stream).map(Some)
        })
    }

    /// Returns the address that is listened on: it tells the port that the operating system has chosen.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Returns how many routers an outgoing packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.get_ref().ttl()
    }

    /// Sets how many routers an outgoing packet may pass (`IP_TTL`), also for connections accepted later.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.get_ref().set_ttl(ttl)
    }
}
