//! The runtimes' sockets behind one trait, and the echo servers on top of it, written once.

use crate::runtimes::{Liten, Runtime, Smol, Tokio};
use smol::io::{AsyncReadExt, AsyncWriteExt};
use std::future::Future;
use std::io;
use std::net::SocketAddr;

pub(crate) const LOOPBACK: &str = "127.0.0.1:0";

pub(crate) trait Sockets: Runtime {
    type Listener: Send + Sync + 'static;
    type Stream: Send + 'static;
    type Udp: Send + Sync + 'static;

    fn listen() -> impl Future<Output = io::Result<(Self::Listener, SocketAddr)>>;
    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>> + Send;
    fn read(
        stream: &mut Self::Stream,
        buffer: &mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send;
    fn write_all(
        stream: &mut Self::Stream,
        bytes: &[u8],
    ) -> impl Future<Output = io::Result<()>> + Send;

    fn bind() -> impl Future<Output = io::Result<(Self::Udp, SocketAddr)>>;
    fn recv_from(
        socket: &Self::Udp,
        buffer: &mut [u8],
    ) -> impl Future<Output = io::Result<(usize, SocketAddr)>> + Send;
    fn send_to(
        socket: &Self::Udp,
        bytes: &[u8],
        target: SocketAddr,
    ) -> impl Future<Output = io::Result<usize>> + Send;
}

impl Sockets for Liten {
    type Listener = liten::net::TcpListener;
    type Stream = liten::net::TcpStream;
    type Udp = liten::net::UdpSocket;

    async fn listen() -> io::Result<(Self::Listener, SocketAddr)> {
        let listener = Self::Listener::bind(LOOPBACK).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    }

    async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn read(stream: &mut Self::Stream, buffer: &mut [u8]) -> io::Result<usize> {
        stream.read(buffer).await
    }

    async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
        stream.write_all(bytes).await
    }

    async fn bind() -> io::Result<(Self::Udp, SocketAddr)> {
        let socket = Self::Udp::bind(LOOPBACK).await?;
        let address = socket.local_addr()?;
        Ok((socket, address))
    }

    async fn recv_from(socket: &Self::Udp, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        socket.recv_from(buffer).await
    }

    async fn send_to(socket: &Self::Udp, bytes: &[u8], target: SocketAddr) -> io::Result<usize> {
        socket.send_to(bytes, target).await
    }
}

impl Sockets for Tokio {
    type Listener = tokio::net::TcpListener;
    type Stream = tokio::net::TcpStream;
    type Udp = tokio::net::UdpSocket;

    async fn listen() -> io::Result<(Self::Listener, SocketAddr)> {
        let listener = Self::Listener::bind(LOOPBACK).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    }

    async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn read(stream: &mut Self::Stream, buffer: &mut [u8]) -> io::Result<usize> {
        tokio::io::AsyncReadExt::read(stream, buffer).await
    }

    async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
        tokio::io::AsyncWriteExt::write_all(stream, bytes).await
    }

    async fn bind() -> io::Result<(Self::Udp, SocketAddr)> {
        let socket = Self::Udp::bind(LOOPBACK).await?;
        let address = socket.local_addr()?;
        Ok((socket, address))
    }

    async fn recv_from(socket: &Self::Udp, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        socket.recv_from(buffer).await
    }

    async fn send_to(socket: &Self::Udp, bytes: &[u8], target: SocketAddr) -> io::Result<usize> {
        socket.send_to(bytes, target).await
    }
}

impl Sockets for Smol {
    type Listener = smol::net::TcpListener;
    type Stream = smol::net::TcpStream;
    type Udp = smol::net::UdpSocket;

    async fn listen() -> io::Result<(Self::Listener, SocketAddr)> {
        let listener = Self::Listener::bind(LOOPBACK).await?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    }

    async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn read(stream: &mut Self::Stream, buffer: &mut [u8]) -> io::Result<usize> {
        stream.read(buffer).await
    }

    async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
        stream.write_all(bytes).await
    }

    async fn bind() -> io::Result<(Self::Udp, SocketAddr)> {
        let socket = Self::Udp::bind(LOOPBACK).await?;
        let address = socket.local_addr()?;
        Ok((socket, address))
    }

    async fn recv_from(socket: &Self::Udp, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        socket.recv_from(buffer).await
    }

    async fn send_to(socket: &Self::Udp, bytes: &[u8], target: SocketAddr) -> io::Result<usize> {
        socket.send_to(bytes, target).await
    }
}

/// Serves one connection until its client closes it.
pub(crate) async fn echo<R: Sockets>(mut stream: R::Stream) -> io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        match R::read(&mut stream, &mut buffer).await? {
            0 => return Ok(()),
            length => R::write_all(&mut stream, &buffer[..length]).await?,
        }
    }
}

/// Serves datagrams until an empty one comes.
pub(crate) async fn echo_datagrams<R: Sockets>(socket: R::Udp) -> io::Result<()> {
    let mut buffer = [0; 1024];
    loop {
        let (length, peer) = R::recv_from(&socket, &mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        R::send_to(&socket, &buffer[..length], peer).await?;
    }
}
