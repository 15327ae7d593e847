//! `UnixListener`: waits for connections within the machine.

use super::UnixStream;
use crate::engine::driver::readiness::Direction;
use crate::io::{Async, Interest, current_driver};
use crate::net::{BOTH, unix_kind};
use futures_core::Stream;
use std::io;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;
use std::task::{Context, Poll, ready};

/// A Unix socket that waits for connections.
///
/// Several tasks may accept from one listener. Dropping it closes the socket but leaves its file.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{AsyncReadExt, AsyncWriteExt};
/// use liten::net::{UnixListener, UnixStream};
///
/// let path = std::env::temp_dir().join(format!("liten-listener-{}", std::process::id()));
/// let listener = UnixListener::bind(&path)?;
///
/// let mut client = UnixStream::connect(&path).await?;
/// let (mut server, _peer) = listener.accept().await?;
/// client.write_all(b"hello").await?;
/// let mut received = [0; 5];
/// server.read_exact(&mut received).await?;
/// assert_eq!(&received, b"hello");
///
/// std::fs::remove_file(&path)
/// # })
/// # }
/// ```
pub struct UnixListener {
    pub(in crate::net) io: Async<mio::net::UnixListener>,
}

conversions!(UnixListener, mio::net::UnixListener, net::UnixListener, BOTH);

impl UnixListener {
    /// Listens at `path`, where it creates a file, unless that is an [abstract
    /// name](super#abstract-names).
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system: [`AddrInUse`](io::ErrorKind::AddrInUse) if the file
    /// exists already.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<Self> {
        Self::bind_addr(&unix_kind::unix_address(path.as_ref())?)
    }

    /// Listens at `address`.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn bind_addr(address: &SocketAddr) -> io::Result<Self> {
        Self::adopt(&current_driver(), mio::net::UnixListener::bind_addr(address)?)
    }

    /// Waits for a connection and returns it with the address of its peer, which is mostly unnamed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a connection is taken and returned in the same poll. One that comes later goes to the
    /// next call.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, such as no descriptors left. The listener stays usable.
    pub async fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (stream, peer) =
            self.io.async_io(Interest::READABLE, |listener| listener.accept()).await?;
        Ok((UnixStream::adopt_connected(self.io.driver(), stream)?, peer))
    }

    /// Polls [`accept`](Self::accept).
    ///
    /// # Errors
    ///
    /// As [`accept`](Self::accept).
    pub fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<(UnixStream, SocketAddr)>> {
        let (stream, peer) =
            ready!(self.io.poll_io(cx, Direction::Read, |listener| listener.accept()))?;
        Poll::Ready(Ok((UnixStream::adopt_connected(self.io.driver(), stream)?, peer)))
    }

    /// Returns the connections as a stream that never ends.
    ///
    /// An error concerns one attempt to accept, as with [`accept`](Self::accept); the next item may be a
    /// connection again.
    ///
    /// # Cancel safety
    ///
    /// Waiting for the next item is cancel safe.
    pub fn incoming(&self) -> impl Stream<Item = io::Result<UnixStream>> + Unpin {
        futures_util::stream::poll_fn(|cx| {
            self.poll_accept(cx).map_ok(|(stream, _peer)| stream).map(Some)
        })
    }

    /// Returns the address that is listened on.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.get_ref().local_addr()
    }

    /// Takes the error that is pending on the socket (`SO_ERROR`), if there is one.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if it cannot be asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }
}
