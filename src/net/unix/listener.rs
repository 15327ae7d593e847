//! `UnixListener`: waits for connections within the machine.

use super::UnixStream;
use crate::io::{Async, current_driver};
use crate::net::{BOTH, unix_kind};
use std::io;
use std::os::unix::net::{self, SocketAddr};
use std::path::Path;

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

conversions!(UnixListener, mio::net::UnixListener, net::UnixListener, BOTH, register);

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

    listener_methods!(UnixStream, SocketAddr);

    /// Takes the error that is pending on the socket (`SO_ERROR`), if there is one.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if it cannot be asked.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.io.get_ref().take_error()
    }
}
