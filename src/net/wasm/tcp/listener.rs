//! `TcpListener`: waits for connections.

use super::TcpStream;
use crate::component::source::Source;
use crate::impls::impl_debug;
use crate::net::address::{ToSocketAddrs, first_success};
use crate::net::{failed, wire};
use futures_core::Stream;
use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::tcp::TcpSocket;
use wasip2::sockets::tcp_create_socket::create_tcp_socket;

/// How many connections may wait to be accepted: as natively. The host cuts it down to its own limit.
const BACKLOG: u64 = 1024;

/// A TCP socket that waits for connections.
///
/// Several tasks may accept from one listener. Dropping it closes the socket; connections that were
/// accepted stay.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::wasi::block_on(|_| async {
/// use liten::io::AsyncReadExt;
/// use liten::net::{TcpListener, TcpStream};
///
/// // Port 0 lets the host choose.
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
    /// Above the socket, its parent: see [`Source`].
    source: Source,
    socket: TcpSocket,
}

impl TcpListener {
    /// Listens on the first address of `address` that is free.
    ///
    /// Up to 1024 connections may wait to be accepted, or as many as the host allows. An address whose old
    /// connections are still running out can be taken over.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future has no effect that lasts.
    ///
    /// # Errors
    ///
    /// Returns the error of the last address that was tried, such as
    /// [`AddrInUse`](io::ErrorKind::AddrInUse), or [`PermissionDenied`](io::ErrorKind::PermissionDenied) if
    /// the component may not use the network, or that of the name resolution;
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no address.
    ///
    /// # Panics
    ///
    /// Panics if it has to wait outside a runtime.
    pub async fn bind<A: ToSocketAddrs>(address: A) -> io::Result<Self> {
        first_success(address.target(), Self::bind_to).await
    }

    async fn bind_to(address: SocketAddr) -> io::Result<Self> {
        let socket =
            create_tcp_socket(wire::family(address)).map_err(failed("make a TCP socket"))?;
        let listener = Self { source: Source::new(), socket };
        let Self { source, socket } = &listener;
        let subscribe = || socket.subscribe();

        let bind = "bind a TCP socket";
        socket.start_bind(&instance_network(), wire::to_host(address)).map_err(failed(bind))?;
        source.io(subscribe, || socket.finish_bind().map_err(failed(bind))).await?;

        let listen = "listen on a TCP socket";
        socket.set_listen_backlog_size(BACKLOG).map_err(failed(listen))?;
        socket.start_listen().map_err(failed(listen))?;
        source.io(subscribe, || socket.finish_listen().map_err(failed(listen))).await?;
        Ok(listener)
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
    /// Returns the error of the host. Most are about one connection (reset before it was accepted) or pass
    /// by (too many sockets): the listener stays usable and can accept again.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        std::future::poll_fn(|cx| self.poll_accept(cx)).await
    }

    /// Polls [`accept`](Self::accept).
    ///
    /// If it is pending, the task of `cx` is woken when it may succeed; several tasks may be waiting.
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(TcpStream, SocketAddr)>> {
        let stream = ready!(self.poll_stream(cx))?;
        let peer = stream.peer_addr()?;
        Poll::Ready(Ok((stream, peer)))
    }

    /// As [`poll_accept`](Self::poll_accept), without the peer's address. The peer may have left already.
    fn poll_stream(&self, cx: &mut Context<'_>) -> Poll<io::Result<TcpStream>> {
        let Self { source, socket } = self;
        let accept = || socket.accept().map_err(failed("accept a connection"));
        let (socket, input, output) = ready!(source.poll_io(cx, || socket.subscribe(), accept))?;
        Poll::Ready(Ok(TcpStream::new(socket, input, output)))
    }

    /// Returns the connections as a stream that never ends.
    ///
    /// An error concerns one attempt to accept, as with [`accept`](Self::accept); the next item may be a
    /// connection again.
    ///
    /// # Cancel safety
    ///
    /// Waiting for the next item is cancel safe.
    pub fn incoming(&self) -> impl Stream<Item = io::Result<TcpStream>> + Unpin {
        futures_util::stream::poll_fn(|cx| self.poll_stream(cx).map(Some))
    }

    /// Returns the address that is listened on: it tells the port that the host has chosen.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_address();
        address.map(wire::from_host).map_err(failed("ask for the address of a TCP listener"))
    }

    /// Returns how many routers an outgoing packet may pass.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub fn ttl(&self) -> io::Result<u32> {
        self.socket.hop_limit().map(u32::from).map_err(failed("ask for the hop limit"))
    }

    /// Sets how many routers an outgoing packet may pass, 1 to 255, also for connections accepted later.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) if `ttl` is out of bounds, else the error of the
    /// host.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.socket.set_hop_limit(wire::hops(ttl)?).map_err(failed("set the hop limit"))
    }
}

impl_debug!([] TcpListener, this => "TcpListener" { local_addr: this.local_addr().ok() });
