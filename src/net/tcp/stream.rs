//! `TcpStream`: a connection, read and written through the I/O traits.

use crate::engine::driver::Driver;
use crate::engine::driver::readiness::Direction;
use crate::engine::sync_shim::Arc;
use crate::engine::task::budget;
use crate::io::{Async, Interest, driver_for};
use crate::net::address::{ToSocketAddrs, first_success};
use crate::net::{TCP_STREAM, system};
use socket2::SockRef;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::panic::Location;
use std::task::{Context, Poll};
use std::time::Duration;

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

conversions!(TcpStream, mio::net::TcpStream, std::net::TcpStream, TCP_STREAM);
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
            first_success(target, connect).await
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
            // As a rule where the peer is on this machine. A task that makes many connections gives way.
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
    stream_methods!();

    /// Returns the address of this end.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Returns the address of the peer.
    ///
    /// # Errors
    ///
    /// Returns [`NotConnected`](ErrorKind::NotConnected) if the connection is gone.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().peer_addr()
    }

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

    /// Returns whether small writes are sent at once (`TCP_NODELAY`).
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.io.get_ref().nodelay()
    }

    /// Sends small writes at once (`TCP_NODELAY`), instead of waiting a moment for more to put into the
    /// segment.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn set_nodelay(&self, on: bool) -> io::Result<()> {
        self.io.get_ref().set_nodelay(on)
    }

    /// Returns how many routers an outgoing packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn ttl(&self) -> io::Result<u32> {
        self.io.get_ref().ttl()
    }

    /// Sets how many routers an outgoing packet may pass (`IP_TTL`).
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.io.get_ref().set_ttl(ttl)
    }

    /// Returns how long closing waits for unsent data (`SO_LINGER`); `None` means that it is sent in the
    /// background.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        SockRef::from(self).linger()
    }

    /// Sets how long closing waits for unsent data (`SO_LINGER`).
    ///
    /// With [`Duration::ZERO`] closing throws unsent data away and resets the connection. With a longer
    /// time **dropping the stream may block the thread** for so long:
    /// [`close`](crate::io::AsyncWriteExt::close) it and read to the end instead, if you must know that
    /// everything has arrived.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        SockRef::from(self).set_linger(linger)
    }

    /// Makes closing throw unsent data away and reset the connection, without blocking (`SO_LINGER` of
    /// zero).
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn set_zero_linger(&self) -> io::Result<()> {
        self.set_linger(Some(Duration::ZERO))
    }
}
