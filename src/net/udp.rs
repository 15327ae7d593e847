//! `UdpSocket`: datagrams, first sending and receiving, then the options.

use super::BOTH;
use super::address::{ToSocketAddrs, first_success};
use crate::engine::driver::readiness::Direction;
use crate::io::{Async, Interest, driver_for};
use socket2::SockRef;
use std::future;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::panic::Location;
use std::task::{Context, Poll};

/// A UDP socket.
///
/// All methods take `&self`: share it with an [`Arc`](std::sync::Arc) to send and receive, or to receive in
/// several tasks. It is used in two ways:
///
/// - **one to many**: after [`bind`](Self::bind), [`send_to`](Self::send_to) and
///   [`recv_from`](Self::recv_from) talk to any socket;
/// - **one to one**: after [`connect`](Self::connect), [`send`](Self::send) and [`recv`](Self::recv) talk
///   to that address, and datagrams of others are not received.
///
/// A datagram is received as a whole: what does not fit into the buffer is lost (on Windows with an error).
/// Receiving or sending may return [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) on a connected
/// socket: an *earlier* datagram found no listening socket. The socket stays usable.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::net::UdpSocket;
///
/// let server = UdpSocket::bind("127.0.0.1:0").await?;
/// let client = UdpSocket::bind("127.0.0.1:0").await?;
///
/// client.send_to(b"ping", server.local_addr()?).await?;
/// let mut buf = [0; 64];
/// let (n, peer) = server.recv_from(&mut buf).await?;
/// assert_eq!(&buf[..n], b"ping");
///
/// client.connect(server.local_addr()?).await?;
/// server.send_to(b"pong", peer).await?;
/// let n = client.recv(&mut buf).await?;
/// assert_eq!(&buf[..n], b"pong");
/// # Ok(())
/// # })
/// # }
/// ```
pub struct UdpSocket {
    pub(in crate::net) io: Async<mio::net::UdpSocket>,
}

conversions!(UdpSocket, mio::net::UdpSocket, std::net::UdpSocket, BOTH, register_with_room);

impl UdpSocket {
    /// Makes a socket with the first address of `address` that is free; port 0 lets the operating system
    /// choose.
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
            let bind = |address| {
                mio::net::UdpSocket::bind(address).and_then(|io| Self::adopt(&driver, io))
            };
            first_success(target, |address| future::ready(bind(address))).await
        }
    }

    /// Fixes the peer: the first address of `address` that can be used.
    ///
    /// Nothing is sent. It may be called again for another peer.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the peer is fixed at the very end or not at all.
    ///
    /// # Errors
    ///
    /// Returns the error of the last address that was tried, or of the name resolution;
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no address.
    ///
    /// # Panics
    ///
    /// Panics if a host name has to be looked up and it is polled outside a runtime.
    pub async fn connect<A: ToSocketAddrs>(&self, address: A) -> io::Result<()> {
        let connect = |address| future::ready(self.io.get_ref().connect(address));
        first_success(address.target(), connect).await
    }

    readiness_methods!();
    datagram_methods!(SocketAddr);

    /// Sends a datagram to the first address of `target`, and returns its length.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a datagram is sent and reported in the same poll, or not sent.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, such as a datagram that is too large, or of the name
    /// resolution; [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no address.
    ///
    /// # Panics
    ///
    /// Panics if a host name has to be looked up and it is polled outside a runtime.
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], target: A) -> io::Result<usize> {
        let target = target.target().resolve_first().await?;
        self.io.async_io(Interest::WRITABLE, |socket| socket.send_to(buf, target)).await
    }

    /// Polls [`send_to`](Self::send_to).
    ///
    /// # Errors
    ///
    /// As [`send_to`](Self::send_to).
    pub fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        buf: &[u8],
        target: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.io.poll_io(cx, Direction::Write, |socket| socket.send_to(buf, target))
    }

    /// [`send_to`](Self::send_to) without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room, else as
    /// [`send_to`](Self::send_to).
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, |socket| socket.send_to(buf, target))
    }

    /// Copies the next datagram into `buf` and returns its length, but leaves it for the next call.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it takes nothing.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(Interest::READABLE, |socket| socket.peek(buf)).await
    }

    /// Polls [`peek`](Self::peek).
    ///
    /// # Errors
    ///
    /// As [`peek`](Self::peek).
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        self.io.poll_io(cx, Direction::Read, |socket| socket.peek(buf))
    }

    /// [`peek`](Self::peek) without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing has come, else as [`peek`](Self::peek).
    pub fn try_peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, |socket| socket.peek(buf))
    }

    /// Copies the next datagram into `buf` and returns its length and its sender, but leaves it for the
    /// next call.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it takes nothing.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub async fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.async_io(Interest::READABLE, |socket| socket.peek_from(buf)).await
    }

    /// Polls [`peek_from`](Self::peek_from).
    ///
    /// # Errors
    ///
    /// As [`peek_from`](Self::peek_from).
    pub fn poll_peek_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.io.poll_io(cx, Direction::Read, |socket| socket.peek_from(buf))
    }

    /// [`peek_from`](Self::peek_from) without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing has come, else as
    /// [`peek_from`](Self::peek_from).
    pub fn try_peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.io.try_io(Interest::READABLE, |socket| socket.peek_from(buf))
    }

    /// Waits for a datagram and returns its sender; the datagram is left for the next call.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it takes nothing.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub async fn peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.async_io(Interest::READABLE, sender_of_next).await
    }

    /// Polls [`peek_sender`](Self::peek_sender).
    ///
    /// # Errors
    ///
    /// As [`peek_sender`](Self::peek_sender).
    pub fn poll_peek_sender(&self, cx: &mut Context<'_>) -> Poll<io::Result<SocketAddr>> {
        self.io.poll_io(cx, Direction::Read, sender_of_next)
    }

    /// [`peek_sender`](Self::peek_sender) without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing has come, else as
    /// [`peek_sender`](Self::peek_sender).
    pub fn try_peek_sender(&self) -> io::Result<SocketAddr> {
        self.io.try_io(Interest::READABLE, sender_of_next)
    }
}

// Options: broadcast, time to live, type of service, multicast.
impl UdpSocket {
    type_of_service!();
    options! {
        |this| this.io.get_ref();
        /// Returns whether datagrams may be sent to a broadcast address (`SO_BROADCAST`).
        broadcast() -> bool: broadcast;
        /// Allows or forbids datagrams to a broadcast address (`SO_BROADCAST`).
        set_broadcast(on: bool) -> (): set_broadcast;
        /// Returns how many routers an outgoing datagram may pass (`IP_TTL`).
        ttl() -> u32: ttl;
        /// Sets how many routers an outgoing datagram may pass (`IP_TTL`).
        set_ttl(ttl: u32) -> (): set_ttl;
        /// Returns whether IPv4 multicast datagrams sent from here come back to this machine
        /// (`IP_MULTICAST_LOOP`).
        multicast_loop_v4() -> bool: multicast_loop_v4;
        /// Sets whether IPv4 multicast datagrams sent from here come back to this machine
        /// (`IP_MULTICAST_LOOP`).
        set_multicast_loop_v4(on: bool) -> (): set_multicast_loop_v4;
        /// Returns how many routers an outgoing IPv4 multicast datagram may pass (`IP_MULTICAST_TTL`).
        multicast_ttl_v4() -> u32: multicast_ttl_v4;
        /// Sets how many routers an outgoing IPv4 multicast datagram may pass (`IP_MULTICAST_TTL`).
        set_multicast_ttl_v4(ttl: u32) -> (): set_multicast_ttl_v4;
        /// Returns whether IPv6 multicast datagrams sent from here come back to this machine
        /// (`IPV6_MULTICAST_LOOP`).
        multicast_loop_v6() -> bool: multicast_loop_v6;
        /// Sets whether IPv6 multicast datagrams sent from here come back to this machine
        /// (`IPV6_MULTICAST_LOOP`).
        set_multicast_loop_v6(on: bool) -> (): set_multicast_loop_v6;
        /// Receives what is sent to the IPv4 multicast group `group`, on the interface that has the address
        /// `interface`; [`Ipv4Addr::UNSPECIFIED`] lets the operating system choose one.
        join_multicast_v4(group: &Ipv4Addr, interface: &Ipv4Addr) -> (): join_multicast_v4;
        /// Undoes [`join_multicast_v4`](Self::join_multicast_v4).
        leave_multicast_v4(group: &Ipv4Addr, interface: &Ipv4Addr) -> (): leave_multicast_v4;
        /// Receives what is sent to the IPv6 multicast group `group`, on the interface with the index
        /// `interface`; 0 lets the operating system choose one.
        join_multicast_v6(group: &Ipv6Addr, interface: u32) -> (): join_multicast_v6;
        /// Undoes [`join_multicast_v6`](Self::join_multicast_v6).
        leave_multicast_v6(group: &Ipv6Addr, interface: u32) -> (): leave_multicast_v6;
    }
}

/// Not [`peek_from`](UdpSocket::peek_from) with an empty buffer: on Windows that is an error.
fn sender_of_next(socket: &mio::net::UdpSocket) -> io::Result<SocketAddr> {
    // Through mio, which on Windows has to see a `WouldBlock` to arm the socket again.
    let sender = socket.try_io(|| SockRef::from(socket).peek_sender())?;
    sender.as_socket().ok_or_else(|| io::Error::new(ErrorKind::InvalidData, "not an IP address"))
}
