//! TCP, UDP and Unix sockets, and the resolution of host names.
//!
//! | | connects | accepts | moves |
//! |---|---|---|---|
//! | TCP | [`TcpStream::connect`], [`TcpSocket`] | [`TcpListener`] | bytes |
//! | Unix streams | `UnixStream::connect`, `UnixSocket` | `UnixListener` | bytes |
//! | UDP | [`UdpSocket::connect`] | | datagrams |
//! | Unix datagrams | `UnixDatagram::connect` | | datagrams |
//! | Unix pipes | `unix::pipe::pipe`, `unix::pipe::OpenOptions` | | bytes, one way |
//!
//! Bytes move through [`AsyncRead`](crate::io::AsyncRead) and [`AsyncWrite`](crate::io::AsyncWrite)
//! (feature `futures-io`, on by default), datagrams through `send`, `recv`, `send_to` and `recv_from`. The
//! Unix sockets and pipes are there on Unix only.
//!
//! A socket belongs to the runtime in which it was made (an accepted one to its listener's), and can be
//! used from any thread. Its methods take `&self`, and a stream can be read and written by two tasks at
//! once: share it with an [`Arc`](std::sync::Arc) or split it into halves. Making one outside a runtime
//! panics; a future that makes one, such as that of [`TcpListener::bind`], may be made anywhere and looks
//! for the runtime when it is first polled. When the runtime is gone, waiting for a socket returns an error.
//!
//! An address is anything that implements [`ToSocketAddrs`]. Host names are resolved by the operating
//! system on the pool for blocking calls, so a slow name server holds up no worker.
//!
//! # In a component
//!
//! On `wasm32-wasip2` this module is another: TCP, UDP and host names by the host of the component, under the
//! same names. Its page says what differs. In short: no Unix sockets, no `TcpSocket`, no options that
//! WASI does not have; `flush` and `close` really wait; a stream that failed has an error without a code.
//!
//! # Examples
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! # liten::block_on(async {
//! use liten::io::{AsyncReadExt, AsyncWriteExt};
//! use liten::net::{TcpListener, TcpStream};
//!
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let address = listener.local_addr()?;
//!
//! let server = liten::spawn(async move {
//!     let (mut stream, _peer) = listener.accept().await?;
//!     let mut request = [0; 5];
//!     stream.read_exact(&mut request).await?;
//!     stream.write_all(&request).await
//! });
//!
//! let mut client = TcpStream::connect(address).await?;
//! client.write_all(b"hello").await?;
//! let mut answer = String::new();
//! client.read_to_string(&mut answer).await?;
//! assert_eq!(answer, "hello");
//! server.await.expect("the server does not panic")?;
//! # Ok(())
//! # })
//! # }
//! ```

#[macro_use]
mod options;
#[macro_use]
mod socket;

mod address;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
mod bsd;
#[cfg(feature = "futures-io")]
mod futures_io;
mod lacking;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux;
#[cfg(unix)]
mod posix;
mod resolver;
pub mod split;
pub mod tcp;
#[cfg(any(feature = "tokio-io", feature = "hyper"))]
mod trait_families;
mod udp;
#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
mod winsock;

// The peer's credentials and the kinds of addresses of Unix sockets: each family of systems has its own way.
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
use self::bsd as unix_kind;
#[cfg(any(target_os = "linux", target_os = "android"))]
use self::linux as unix_kind;
// What the two systems do differently behind the same names.
#[cfg(unix)]
use self::posix as system;
#[cfg(windows)]
use self::winsock as system;

pub use self::address::{ToSocketAddrs, lookup_host};
#[doc(no_inline)]
pub use self::tcp::{TcpListener, TcpSocket, TcpStream};
pub use self::udp::UdpSocket;
#[cfg(unix)]
#[doc(no_inline)]
pub use self::unix::{UnixDatagram, UnixListener, UnixSocket, UnixStream};

/// Both directions: what every socket registers for.
const BOTH: mio::Interest = mio::Interest::READABLE.add(mio::Interest::WRITABLE);

/// What a TCP stream registers for: also for urgent data where the poller can report it, because a read
/// that stops at the urgent mark is short although the buffer is not empty.
#[cfg(any(target_os = "linux", target_os = "android"))]
const TCP_STREAM: mio::Interest = BOTH.add(mio::Interest::PRIORITY);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const TCP_STREAM: mio::Interest = BOTH;
