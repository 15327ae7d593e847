//! `TcpStream`: a connection, read and written through the I/O traits.

use crate::engine::driver::Driver;
use crate::engine::driver::readiness::Direction;
use crate::engine::sync_shim::Arc;
use crate::engine::task::budget;
use crate::io::{Async, Interest, driver_for};
use crate::net::address::{ToSocketAddrs, first_success};
use crate::net::{TCP_STREAM, system};
use crate::runtime::incidents::connected;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::panic::Location;
use std::task::{Context, Poll};

/// A TCP connection.
///
/// It is made by [`connect`](Self::connect), by [`TcpListener::accept`](super::TcpListener::accept), by a
/// [`TcpSocket`](super::TcpSocket) or [from the standard library](Self::from_std). It is read and written
/// through [`AsyncRead`](crate::io::AsyncRead) and [`AsyncWrite`](crate::io::AsyncWrite), which
/// `&TcpStream` implements too: one task may read while another writes, and neither holds the other up.
/// Dropping it closes the connection.
///
/// Socket options that have no method here can be set through
/// [`SockRef`](https://docs.rs/socket2/latest/socket2/struct.SockRef.html) of the `socket2` crate.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{AsyncReadExt, AsyncWriteExt};
/// use liten::net::{TcpListener, TcpStream};
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let mut client = TcpStream::connect(listener.local_addr()?).await?;
/// let (mut server, _peer) = listener.accept().await?;
///
/// client.write_all(b"hello").await?;
/// client.close().await?;
///
/// let mut received = String::new();
/// server.read_to_string(&mut received).await?;
/// assert_eq!(received, "hello");
/// # Ok(())
/// # })
/// # }
/// ```
///
/// Two tasks on one connection:
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{self, AsyncReadExt, AsyncWriteExt};
/// use liten::net::{TcpListener, TcpStream};
///
/// let listener = TcpListener::bind("127.0.0.1:0").await?;
/// let stream = TcpStream::connect(listener.local_addr()?).await?;
/// let (echo, _peer) = listener.accept().await?;
/// liten::spawn(async move { io::copy(&echo, &mut &echo).await });
///
/// let (mut read, mut write) = stream.into_split();
/// let writer = liten::spawn(async move { write.write_all(&[7; 100_000]).await });
/// let mut received = vec![0; 100_000];
/// read.read_exact(&mut received).await?;
/// assert!(received.iter().all(|byte| *byte == 7));
/// writer.await.expect("the writer does not panic")?;
/// # Ok(())
/// # })
/// # }
/// ```
pub struct TcpStream {
    pub(in crate::net) io: Async<mio::net::TcpStream>,
}

conversions!(TcpStream, mio::net::TcpStream, std::net::TcpStream, TCP_STREAM, register);
connections!(TcpStream, mio::net::TcpStream, TCP_STREAM);

impl TcpStream {
    /// Connects to the first address of `address` that accepts.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future closes a connection that is being made.
    ///
    /// # Errors
    ///
    /// Returns the error of the last address that was tried, or of the name resolution;
    /// [`InvalidInput`](ErrorKind::InvalidInput) if there is no address. Nothing bounds the time but the
    /// operating system: use a timeout.
    ///
    /// # Panics
    ///
    /// Panics if it is polled outside a runtime. It may be called there: the runtime that polls it counts.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn main() -> std::io::Result<()> {
    /// # liten::block_on(async {
    /// use liten::net::{TcpListener, TcpStream};
    ///
    /// let listener = TcpListener::bind("localhost:0").await?;
    /// let port = listener.local_addr()?.port();
    /// let stream = TcpStream::connect(("localhost", port)).await?;
    /// assert_eq!(stream.peer_addr()?.port(), port);
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(address: A) -> impl Future<Output = io::Result<Self>> {
        let made_at = Location::caller();
        let target = address.target();
        async move {
            let driver = &driver_for(made_at);
            let connect = |address| async move {
                Self::established(driver, mio::net::TcpStream::connect(address)?).await
            };
            let result = first_success(target, connect).await;
            connected(&result);
            result
        }
    }

    /// Waits until a connection that is being made is there.
    ///
    /// Writability alone does not say it: an error is an event too. So the question is asked by operations
    /// that the readiness rules understand: "not connected yet" is `WouldBlock`.
    pub(super) async fn established(
        driver: &Arc<Driver>,
        socket: mio::net::TcpStream,
    ) -> io::Result<Self> {
        if socket.peer_addr().is_ok() {
            // As a rule where the peer is on this machine. A task that makes many connections yields.
            poll_fn(budget::poll_proceed).await;
            return Self::adopt_connected(driver, socket);
        }
        let stream = Self::adopt(driver, socket)?;
        // The system reports a connection that came, or failed, before the registration too.
        stream.io.expect_report(Direction::Write);
        stream.async_io(Interest::WRITABLE, || stream.connection()).await?;
        Ok(stream)
    }

    fn connection(&self) -> io::Result<()> {
        let Err(error) = self.peer_addr() else {
            // A connection that has a peer was made, and has not failed since.
            return Ok(());
        };
        if let Some(error) = self.take_error()? {
            return Err(error);
        }
        match error.kind() == ErrorKind::NotConnected || system::is_in_progress(&error) {
            true => Err(ErrorKind::WouldBlock.into()),
            false => Err(error),
        }
    }

    readiness_methods!();
    stream_methods!(SocketAddr);
    tcp_options!();
    time_to_live!();

    /// Reads some bytes into `buf` without taking them from the stream, and returns how many; 0 means the
    /// end.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it takes nothing.
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
    /// use liten::io::{AsyncReadExt, AsyncWriteExt};
    /// use liten::net::{TcpListener, TcpStream};
    ///
    /// let listener = TcpListener::bind("127.0.0.1:0").await?;
    /// let mut client = TcpStream::connect(listener.local_addr()?).await?;
    /// let (mut server, _peer) = listener.accept().await?;
    /// client.write_all(b"ab").await?;
    ///
    /// let mut first = [0; 1];
    /// assert_eq!(server.peek(&mut first).await?, 1);
    /// let mut both = [0; 2];
    /// server.read_exact(&mut both).await?;
    /// assert_eq!((&first, &both), (b"a", b"ab"));
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    pub async fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.async_io(Interest::READABLE, |stream| stream.peek(buf)).await
    }

    /// Polls [`peek`](Self::peek).
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn poll_peek(&self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        self.io.poll_io(cx, Direction::Read, |stream| stream.peek(buf))
    }
}
