//! TCP: listener, stream, natively a socket to be configured before use, and the halves of a stream.

#[cfg_attr(target_family = "wasm", path = "wasm/tcp/listener.rs")]
mod listener;
#[cfg(not(target_family = "wasm"))]
mod socket;
#[cfg_attr(target_family = "wasm", path = "wasm/tcp/stream.rs")]
mod stream;

pub use self::listener::TcpListener;
#[cfg(not(target_family = "wasm"))]
pub use self::socket::TcpSocket;
pub use self::stream::TcpStream;

use super::split;

/// The borrowed reading half of a [`TcpStream`], from [`TcpStream::split`].
pub type ReadHalf<'a> = split::ReadHalf<'a, TcpStream>;
/// The borrowed writing half of a [`TcpStream`], from [`TcpStream::split`].
pub type WriteHalf<'a> = split::WriteHalf<'a, TcpStream>;
/// The owned reading half of a [`TcpStream`], from [`TcpStream::into_split`].
pub type OwnedReadHalf = split::OwnedReadHalf<TcpStream>;
/// The owned writing half of a [`TcpStream`], from [`TcpStream::into_split`]; dropping it ends the stream
/// for the peer.
pub type OwnedWriteHalf = split::OwnedWriteHalf<TcpStream>;
/// Two halves that are not of the same [`TcpStream`].
pub type ReuniteError = split::ReuniteError<TcpStream>;
