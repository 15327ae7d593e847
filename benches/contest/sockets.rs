//! The runtimes' sockets behind one trait, and the echo servers on top of it, written once.

use crate::runtimes::{Liten, Runtime, Smol, Tokio};
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

/// The three crates name their sockets alike, and their methods too: they differ in nothing but the crate.
macro_rules! sockets {
    ($runtime:ident of $library:ident) => {
        impl Sockets for $runtime {
            type Listener = $library::net::TcpListener;
            type Stream = $library::net::TcpStream;
            type Udp = $library::net::UdpSocket;

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
                $library::io::AsyncReadExt::read(stream, buffer).await
            }

            async fn write_all(stream: &mut Self::Stream, bytes: &[u8]) -> io::Result<()> {
                $library::io::AsyncWriteExt::write_all(stream, bytes).await
            }

            async fn bind() -> io::Result<(Self::Udp, SocketAddr)> {
                let socket = Self::Udp::bind(LOOPBACK).await?;
                let address = socket.local_addr()?;
                Ok((socket, address))
            }

            async fn recv_from(
                socket: &Self::Udp,
                buffer: &mut [u8],
            ) -> io::Result<(usize, SocketAddr)> {
                socket.recv_from(buffer).await
            }

            async fn send_to(
                socket: &Self::Udp,
                bytes: &[u8],
                target: SocketAddr,
            ) -> io::Result<usize> {
                socket.send_to(bytes, target).await
            }
        }
    };
}

sockets!(Liten of liten);
sockets!(Tokio of tokio);
sockets!(Smol of smol);

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
