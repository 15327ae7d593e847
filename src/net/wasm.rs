//! TCP and UDP sockets, and the resolution of host names, of a component's host.
//!
//! On wasm this is `liten::net`: the same names and semantics as natively, over `wasi:sockets`. What a
//! component may reach is up to its host; what is forbidden is a
//! [`PermissionDenied`](std::io::ErrorKind::PermissionDenied).
//!
//! | | connects | accepts | moves |
//! |---|---|---|---|
//! | TCP | [`TcpStream::connect`] | [`TcpListener`] | bytes |
//! | UDP | [`UdpSocket::connect`] | | datagrams |
//!
//! # What differs from the native sockets
//!
//! * Only WASI 0.2's own sockets are there: no Unix sockets, no pipes, no `TcpSocket`, no conversion from and
//!   to the standard library's. Options that WASI does not have (`TCP_NODELAY`, lingering, broadcast,
//!   multicast) have no methods, and nothing can be peeked at. `ready` and operations of one's own (`try_io`,
//!   `async_io`) are missing, as there is no descriptor to run them on.
//! * `TcpStream` has `set_keepalive`, which natively is an option of `TcpSocket`.
//! * A host keeps bytes that it could not send at once, so `flush` and `close` of a stream really wait. One
//!   that is dropped without is closed in the background, but not after the end of the runtime.
//! * Reading and writing a stream that failed returns an error of the kind
//!   [`Other`](std::io::ErrorKind::Other) with the host's words: WASI 0.2 gives no code there. Writing to a
//!   stream that is closed, by whichever side, is a [`BrokenPipe`](std::io::ErrorKind::BrokenPipe), and
//!   reading from one returns 0, as natively.
//! * After `shutdown(Read)` what has come unread is lost.
//! * `close`, and `shutdown` of one direction, leave the other one open where the host keeps to the standard,
//!   as wasmtime does; jco destroys the whole connection.
//! * A connected `UdpSocket` sends to its peer only.
//! * Host names are looked up by the host, which may have to be told to allow it.
//! * A socket may outlive the runtime in which it was made, and is then used in the next.
//!
//! Sockets are `Send` and `Sync`, so that they fit into the tasks of [`spawn`](crate::spawn()) as they do
//! natively; there is one thread.
//!
//! # Cancel safety
//!
//! Whatever takes bytes, a datagram or a connection returns it in the same poll. A future that is dropped
//! while it waits has taken nothing.

mod address;
#[path = "wasm/error.rs"]
mod error;
#[cfg(feature = "futures-io")]
#[path = "wasm/futures_io.rs"]
mod futures_io;
#[path = "wasm/resolver.rs"]
mod resolver;
pub mod split;
pub mod tcp;
#[path = "wasm/udp.rs"]
mod udp;
#[path = "wasm/wire.rs"]
mod wire;

pub use self::address::{ToSocketAddrs, lookup_host};
use self::error::failed;
#[doc(no_inline)]
pub use self::tcp::{TcpListener, TcpStream};
pub use self::udp::UdpSocket;
