//! `TcpStream`: a connection, read and written through the I/O traits.

use crate::component::Reactor;
use crate::component::source::Source;
use crate::component::stream::{Input, Output};
use crate::engine::sync_shim::Mutex;
use crate::engine::task::budget;
use crate::impls::impl_debug;
use crate::net::address::{ToSocketAddrs, first_success};
use crate::net::{failed, split, wire};
use send_wrapper::SendWrapper;
use std::cell::Cell;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};
use wasip2::io::streams::{InputStream, OutputStream};
use wasip2::sockets::instance_network::instance_network;
use wasip2::sockets::network::ErrorCode;
use wasip2::sockets::tcp::{ShutdownType, TcpSocket};
use wasip2::sockets::tcp_create_socket::create_tcp_socket;

/// A TCP connection.
///
/// It is made by [`connect`](Self::connect) or by [`TcpListener::accept`](super::TcpListener::accept). It is
/// read and written through [`AsyncRead`](crate::io::AsyncRead) and [`AsyncWrite`](crate::io::AsyncWrite),
/// which `&TcpStream` implements too: one task may read while another writes, and neither holds the other
/// up.
///
/// A host may keep some of what is written (64 KiB per write) until the network takes it.
/// [`close`](crate::io::AsyncWriteExt::close) and [`flush`](crate::io::AsyncWriteExt::flush) wait for that.
/// Dropping the stream closes the connection: at once, or in the background when the host is through with
/// what it keeps, as long as the runtime runs.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::wasi::block_on(|_| async {
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
pub struct TcpStream {
    /// Shared with the task that closes it in the background.
    pub(in crate::net) connection: Arc<Connection>,
}

/// The order of the fields is the order in which they go: the streams are children of the socket, and the
/// host may trap if the parent goes first.
pub(in crate::net) struct Connection {
    pub(in crate::net) input: Input,
    pub(in crate::net) output: Output,
    socket: TcpSocket,
    /// Whether we have shut the writing side down.
    ended: SendWrapper<Cell<bool>>,
}

impl TcpStream {
    pub(super) fn new(socket: TcpSocket, input: InputStream, output: OutputStream) -> Self {
        let input = Input::new(input, "read from a TCP stream");
        let output = Output::new(output, "write to a TCP stream");
        let ended = SendWrapper::new(Cell::new(false));
        Self { connection: Arc::new(Connection { input, output, socket, ended }) }
    }

    /// Connects to the first address of `address` that accepts.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future closes a connection that is being made.
    ///
    /// # Errors
    ///
    /// Returns the error of the last address that was tried, or of the name resolution;
    /// [`PermissionDenied`](ErrorKind::PermissionDenied) if the component may not use the network;
    /// [`InvalidInput`](ErrorKind::InvalidInput) if there is no address. Nothing bounds the time but the
    /// host: use a timeout.
    ///
    /// # Panics
    ///
    /// Panics if it has to wait outside a runtime.
    pub async fn connect<A: ToSocketAddrs>(address: A) -> io::Result<Self> {
        first_success(address.target(), Self::connect_to).await
    }

    async fn connect_to(address: SocketAddr) -> io::Result<Self> {
        let operation = "connect a TCP socket";
        let socket =
            create_tcp_socket(wire::family(address)).map_err(failed("make a TCP socket"))?;
        let (input, output) = {
            let socket = &socket;
            // Gone before the socket, its parent, whether or not the future is polled to its end.
            let source = Source::new();
            socket
                .start_connect(&instance_network(), wire::to_host(address))
                .map_err(failed(operation))?;
            source
                .io(|| socket.subscribe(), || socket.finish_connect().map_err(failed(operation)))
                .await?
        };
        Ok(Self::new(socket, input, output))
    }

    /// Waits until the stream is probably readable.
    ///
    /// Readiness is a hint: use it with [`try_read`](Self::try_read) and wait again on `WouldBlock`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: readiness is not used up by waiting for it.
    ///
    /// # Errors
    ///
    /// Returns none; the type is that of the native method.
    pub async fn readable(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_read_ready(cx)).await
    }

    /// Polls for readability, in the sense of [`readable`](Self::readable).
    ///
    /// If it is pending, the task of `cx` is woken by the next event; several tasks may be waiting.
    ///
    /// # Errors
    ///
    /// Returns none; the type is that of the native method.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.input.poll_ready(cx).map(Ok)
    }

    /// Waits until the stream is probably writable.
    ///
    /// Readiness is a hint: use it with [`try_write`](Self::try_write) and wait again on `WouldBlock`.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: readiness is not used up by waiting for it.
    ///
    /// # Errors
    ///
    /// Returns none; the type is that of the native method.
    pub async fn writable(&self) -> io::Result<()> {
        poll_fn(|cx| self.poll_write_ready(cx)).await
    }

    /// Polls for writability, in the sense of [`writable`](Self::writable).
    ///
    /// If it is pending, the task of `cx` is woken by the next event; several tasks may be waiting.
    ///
    /// # Errors
    ///
    /// Returns none; the type is that of the native method.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.output.poll_ready(cx).map(Ok)
    }

    /// Reads some bytes into `buf` and returns how many, without waiting; 0 means the end.
    ///
    /// # Errors
    ///
    /// Returns `WouldBlock` if nothing has come, else the error of the host.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.connection.input.try_read(buf)
    }

    /// Writes some bytes of `buf` and returns how many, without waiting.
    ///
    /// # Errors
    ///
    /// Returns `WouldBlock` if there is no room, [`BrokenPipe`](ErrorKind::BrokenPipe) if the stream has been
    /// closed, by either side, else the error of the host.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.connection.output.try_write(buf)
    }

    /// Ends the stream for the peer once everything has been sent. It is no error if we have ended it before.
    pub(in crate::net) fn poll_close(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(self.connection.output.poll_flush(cx)) {
            // The host calls a stream closed that we have shut down.
            Err(error) if error.kind() == ErrorKind::BrokenPipe && self.connection.ended.get() => {
                Poll::Ready(Ok(()))
            }
            Err(error) => Poll::Ready(Err(error)),
            Ok(()) => Poll::Ready(self.shutdown_std(Shutdown::Write)),
        }
    }

    /// Shuts the reading side, the writing side or both down.
    ///
    /// After [`Write`](Shutdown::Write) the peer reads the end, after what was written before. After
    /// [`Read`](Shutdown::Read) reading returns 0, and what has come unread is lost. It is no error if the
    /// peer has gone already.
    ///
    /// It is what the standard library calls `shutdown`, under the name that it has natively.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub fn shutdown_std(&self, how: Shutdown) -> io::Result<()> {
        if how != Shutdown::Read {
            self.connection.ended.set(true);
        }
        let how = match how {
            Shutdown::Read => ShutdownType::Receive,
            Shutdown::Write => ShutdownType::Send,
            Shutdown::Both => ShutdownType::Both,
        };
        match self.connection.socket.shutdown(how) {
            Ok(()) | Err(ErrorCode::InvalidState) => Ok(()),
            Err(code) => Err(failed("shut a TCP stream down")(code)),
        }
    }

    /// Borrows the stream as two halves that read and write independently.
    ///
    /// See [`split`](crate::net::split) for the difference to [`into_split`](Self::into_split).
    ///
    /// Call it as `TcpStream::split(&mut stream)` where [`AsyncReadExt`](crate::io::AsyncReadExt) is in
    /// scope: that trait has a `split` too, which takes the stream by value and therefore wins as a
    /// method.
    pub fn split(&mut self) -> (super::ReadHalf<'_>, super::WriteHalf<'_>) {
        split::borrowed(self)
    }

    /// Turns the stream into two halves that two tasks can own.
    ///
    /// Dropping the writing half ends the stream for the peer; see [`split`](crate::net::split).
    pub fn into_split(self) -> (super::OwnedReadHalf, super::OwnedWriteHalf) {
        split::owned(self, |stream| {
            // No caller is left that could be told of an error.
            let _ = stream.shutdown_std(Shutdown::Write);
        })
    }

    /// Returns the address of this end.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        let address = self.connection.socket.local_address();
        address.map(wire::from_host).map_err(failed("ask for the address of a TCP stream"))
    }

    /// Returns the address of the peer.
    ///
    /// # Errors
    ///
    /// Returns [`NotConnected`](ErrorKind::NotConnected) if the connection is gone.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        let address = self.connection.socket.remote_address();
        address.map(wire::from_host).map_err(failed("ask for the peer of a TCP stream"))
    }

    /// Returns how many routers an outgoing packet may pass.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub fn ttl(&self) -> io::Result<u32> {
        self.connection.socket.hop_limit().map(u32::from).map_err(failed("ask for the hop limit"))
    }

    /// Sets how many routers an outgoing packet may pass, 1 to 255.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](ErrorKind::InvalidInput) if `ttl` is out of bounds, else the error of the
    /// host.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.connection.socket.set_hop_limit(wire::hops(ttl)?).map_err(failed("set the hop limit"))
    }

    /// Returns whether the host asks an idle peer from time to time if it is still there.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub fn keepalive(&self) -> io::Result<bool> {
        self.connection.socket.keep_alive_enabled().map_err(failed("ask for keep-alive"))
    }

    /// Makes the host ask an idle peer from time to time if it is still there.
    ///
    /// # Errors
    ///
    /// Returns the error of the host.
    pub fn set_keepalive(&self, on: bool) -> io::Result<()> {
        self.connection.socket.set_keep_alive_enabled(on).map_err(failed("set keep-alive"))
    }
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        // Dropping an output stream loses what the host still keeps, or holds the whole component up until it
        // is sent: for ever, if the peer that has to read it is another task of the same component.
        if self.connection.output.keeps_something() {
            let connection = Mutex::new(Some(Arc::clone(&self.connection)));
            Arc::new(Closing { connection }).wake();
        }
    }
}

impl_debug!([] TcpStream, this => "TcpStream" {
    local_addr: this.local_addr().ok(),
    peer_addr: this.peer_addr().ok(),
});

/// A connection that the program has dropped, kept until the host has sent what it keeps.
///
/// It is its own waker, so it needs no task: the connection's source keeps it, and it keeps the connection,
/// until the reactor wakes it. A circle of owners that the end of the runtime leaves as it is: the host
/// closes what a component leaves open.
struct Closing {
    connection: Mutex<Option<Arc<Connection>>>,
}

impl Wake for Closing {
    fn wake(self: Arc<Self>) {
        let Some(connection) = self.connection.lock().take() else {
            return;
        };
        let output = &connection.output;
        if Reactor::try_current().is_some() {
            let waker = Waker::from(Arc::clone(&self));
            // Not from the budget of the task that has dropped the stream: refused, it would wake this very
            // waker, and nothing would be left that waits for the host.
            let flush = || output.poll_flush(&mut Context::from_waker(&waker));
            if budget::unlimited(flush).is_pending() {
                *self.connection.lock() = Some(connection);
            }
        } else if matches!(output.try_flush(), Err(e) if e.kind() == ErrorKind::WouldBlock) {
            // The tasks are gone with the runtime, and perhaps the one that should read. The host closes what
            // is left open when the component ends.
            std::mem::forget(connection);
        }
    }
}
