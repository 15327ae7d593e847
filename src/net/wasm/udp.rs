//! `UdpSocket`: datagrams.

use super::address::{ToSocketAddrs, first_success};
use super::{failed, wire};
use crate::component::source::Source;
use crate::engine::sync_shim::Mutex;
use crate::impls::impl_debug;
use std::future::{poll_fn, ready};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::task::{Context, Poll};
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::udp::{
    IncomingDatagramStream, OutgoingDatagram, OutgoingDatagramStream, Pollable, UdpSocket as Socket,
};
use wasip2::sockets::udp_create_socket::create_udp_socket;

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
/// A datagram is received as a whole: what does not fit into the buffer is lost. Receiving or sending may
/// return [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) on a connected socket: an *earlier*
/// datagram found no listening socket. The socket stays usable.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::wasi::block_on(|_| async {
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
    /// Above the streams, their parents, as the streams are above the socket, theirs: see [`Source`].
    receiving: Source,
    sending: Source,
    /// `None` if the host refused to make them again.
    streams: Mutex<Option<Streams>>,
    socket: Socket,
}

/// What the host gives for one peer, or for all peers. A new pair may be made only when the old one is gone.
struct Streams {
    incoming: IncomingDatagramStream,
    outgoing: OutgoingDatagramStream,
    peer: Option<SocketAddr>,
}

impl UdpSocket {
    /// Makes a socket with the first address of `address` that is free; port 0 lets the host choose.
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
        let operation = "bind a UDP socket";
        let socket =
            create_udp_socket(wire::family(address)).map_err(failed("make a UDP socket"))?;
        {
            let socket = &socket;
            // Gone before the socket, its parent, whether or not the future is polled to its end.
            let source = Source::new();
            socket
                .start_bind(&instance_network(), wire::to_host(address))
                .map_err(failed(operation))?;
            source
                .io(|| socket.subscribe(), || socket.finish_bind().map_err(failed(operation)))
                .await?;
        }
        let streams = Mutex::new(Some(Streams::open(&socket, None)?));
        Ok(Self { receiving: Source::new(), sending: Source::new(), streams, socket })
    }

    /// Fixes the peer: the first address of `address` that can be used.
    ///
    /// Nothing is sent. It may be called again for another peer. What has come and has not been received may
    /// be lost.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the peer is fixed at the very end or not at all.
    ///
    /// # Errors
    ///
    /// Returns the error of the last address that was tried, or of the name resolution;
    /// [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no address. The peer is then the one before.
    ///
    /// # Panics
    ///
    /// Panics if a host name has to be looked up and it is polled outside a runtime.
    pub async fn connect<A: ToSocketAddrs>(&self, address: A) -> io::Result<()> {
        first_success(address.target(), |address| ready(self.connect_to(address))).await
    }

    fn connect_to(&self, address: SocketAddr) -> io::Result<()> {
        let before = {
            let mut streams = self.streams.lock();
            // The pollables first, then the streams, then new ones: anything else may be a trap.
            self.receiving.unsubscribe();
            self.sending.unsubscribe();
            let before = streams.take().and_then(|streams| streams.peer);
            match Streams::open(&self.socket, Some(address)) {
                Ok(connected) => {
                    *streams = Some(connected);
                    None
                }
                Err(error) => {
                    *streams = Streams::open(&self.socket, before).ok();
                    Some(error)
                }
            }
        };
        // Tasks that waited on the old streams try again on the new ones.
        self.receiving.wake();
        self.sending.wake();
        before.map_or(Ok(()), Err)
    }

    /// Returns the address of this socket: it tells the port that the host has chosen.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_address();
        address.map(wire::from_host).map_err(failed("ask for the address of a UDP socket"))
    }

    /// Returns the address of the peer that [`connect`](Self::connect) has fixed.
    ///
    /// # Errors
    ///
    /// Returns [`NotConnected`](io::ErrorKind::NotConnected) if there is none.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        let address = self.socket.remote_address();
        address.map(wire::from_host).map_err(failed("ask for the peer of a UDP socket"))
    }

    /// Sends a datagram to the peer that [`connect`](Self::connect) has fixed, and returns its length.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a datagram is sent and reported in the same poll, or not sent.
    ///
    /// # Errors
    ///
    /// Returns [`NotConnected`](io::ErrorKind::NotConnected) if no peer is fixed, else the error of the host,
    /// such as [`InvalidInput`](io::ErrorKind::InvalidInput) for a datagram that is too large.
    pub async fn send(&self, buf: &[u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_send(cx, buf)).await
    }

    /// Polls [`send`](Self::send).
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn poll_send(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.sending.poll_io(cx, || self.room(), || self.try_send(buf))
    }

    /// [`send`](Self::send) without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room, else as [`send`](Self::send).
    pub fn try_send(&self, buf: &[u8]) -> io::Result<usize> {
        self.with_streams(|streams| match streams.peer {
            Some(_) => streams.send(buf, None),
            None => Err(io::Error::new(
                ErrorKind::NotConnected,
                "send a datagram: no peer is fixed; call `connect` before, or use `send_to`",
            )),
        })
    }

    /// Sends a datagram to the first address of `target`, and returns its length.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a datagram is sent and reported in the same poll, or not sent.
    ///
    /// # Errors
    ///
    /// Returns the error of the host, such as [`InvalidInput`](io::ErrorKind::InvalidInput) for a datagram
    /// that is too large or, on a connected socket, for another address than the peer's; or that of the name
    /// resolution; [`InvalidInput`](io::ErrorKind::InvalidInput) if there is no address.
    ///
    /// # Panics
    ///
    /// Panics if a host name has to be looked up and it is polled outside a runtime.
    pub async fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], target: A) -> io::Result<usize> {
        let target = target.target().resolve_first().await?;
        poll_fn(|cx| self.poll_send_to(cx, buf, target)).await
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
        self.sending.poll_io(cx, || self.room(), || self.try_send_to(buf, target))
    }

    /// [`send_to`](Self::send_to) without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no room, else as
    /// [`send_to`](Self::send_to).
    pub fn try_send_to(&self, buf: &[u8], target: SocketAddr) -> io::Result<usize> {
        self.with_streams(|streams| streams.send(buf, Some(target)))
    }

    /// Receives a datagram into `buf` and returns its length, without saying from whom: see
    /// [`connect`](Self::connect).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a datagram is taken and returned in the same poll, or left for the next call.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub async fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        poll_fn(|cx| self.poll_recv(cx, buf)).await
    }

    /// Polls [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub fn poll_recv(&self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_recv_from(cx, buf).map_ok(|(length, _sender)| length)
    }

    /// [`recv`](Self::recv) without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing has come, else as [`recv`](Self::recv).
    pub fn try_recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.try_recv_from(buf).map(|(length, _sender)| length)
    }

    /// Receives a datagram into `buf` and returns its length and its sender.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a datagram is taken and returned in the same poll, or left for the next call.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub async fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        poll_fn(|cx| self.poll_recv_from(cx, buf)).await
    }

    /// Polls [`recv_from`](Self::recv_from).
    ///
    /// # Errors
    ///
    /// As [`recv_from`](Self::recv_from).
    pub fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        self.receiving.poll_io(cx, || self.arrival(), || self.try_recv_from(buf))
    }

    /// [`recv_from`](Self::recv_from) without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`WouldBlock`](io::ErrorKind::WouldBlock) if nothing has come, else as
    /// [`recv_from`](Self::recv_from).
    pub fn try_recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.with_streams(|streams| streams.receive(buf))
    }

    /// Returns how many routers an outgoing packet may pass.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub fn ttl(&self) -> io::Result<u32> {
        self.socket.unicast_hop_limit().map(u32::from).map_err(failed("ask for the hop limit"))
    }

    /// Sets how many routers an outgoing packet may pass, 1 to 255.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](ErrorKind::InvalidInput) if `ttl` is out of bounds, else the error of the
    /// host.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.socket.set_unicast_hop_limit(wire::hops(ttl)?).map_err(failed("set the hop limit"))
    }

    fn with_streams<R>(&self, operation: impl FnOnce(&Streams) -> io::Result<R>) -> io::Result<R> {
        match &*self.streams.lock() {
            Some(streams) => operation(streams),
            None => Err(io::Error::new(
                ErrorKind::NotConnected,
                "use a UDP socket: the host could fix neither the new peer nor the one before",
            )),
        }
    }

    fn arrival(&self) -> Pollable {
        match &*self.streams.lock() {
            Some(streams) => streams.incoming.subscribe(),
            None => self.socket.subscribe(),
        }
    }

    fn room(&self) -> Pollable {
        match &*self.streams.lock() {
            Some(streams) => streams.outgoing.subscribe(),
            None => self.socket.subscribe(),
        }
    }
}

impl Streams {
    fn open(socket: &Socket, peer: Option<SocketAddr>) -> io::Result<Self> {
        let opened = socket.stream(peer.map(wire::to_host));
        let (incoming, outgoing) = opened.map_err(failed("fix the peer of a UDP socket"))?;
        Ok(Self { incoming, outgoing, peer })
    }

    fn send(&self, buf: &[u8], to: Option<SocketAddr>) -> io::Result<usize> {
        let operation = "send a datagram";
        // Calling `send` without asking first, or with more than is permitted, is a trap.
        if self.outgoing.check_send().map_err(failed(operation))? == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let datagram =
            OutgoingDatagram { data: buf.to_vec(), remote_address: to.map(wire::to_host) };
        match self.outgoing.send(&[datagram]).map_err(failed(operation))? {
            0 => Err(ErrorKind::WouldBlock.into()),
            _ => Ok(buf.len()),
        }
    }

    /// Takes one datagram at a time: a second one would have to be kept somewhere.
    fn receive(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let datagrams = self.incoming.receive(1).map_err(failed("receive a datagram"))?;
        let Some(datagram) = datagrams.into_iter().next() else {
            return Err(ErrorKind::WouldBlock.into());
        };
        let length = datagram.data.len().min(buf.len());
        buf[..length].copy_from_slice(&datagram.data[..length]);
        Ok((length, wire::from_host(datagram.remote_address)))
    }
}

impl_debug!([] UdpSocket, this => "UdpSocket" { local_addr: this.local_addr().ok() });
