//! Unix sockets and pipes: streams and datagrams between processes of one machine. Unix only.
//!
//! Addresses are those of the standard library, [`std::os::unix::net::SocketAddr`]. Binding to a path
//! creates a file there that outlives the socket: the program that binds removes it.
//!
//! # Abstract names
//!
//! Linux and Android have addresses without a file, which go with their socket. Every method that takes a
//! path takes one for such a name if its first byte is zero, as in `"\0name"`. Other systems have no such
//! names.

mod credentials;
mod datagram;
mod listener;
pub mod pipe;
mod socket;
mod stream;

pub use self::credentials::UCred;
pub use self::datagram::UnixDatagram;
pub use self::listener::UnixListener;
pub use self::socket::UnixSocket;
pub use self::stream::UnixStream;

use super::split;

/// The borrowed reading half of a [`UnixStream`], from [`UnixStream::split`].
pub type ReadHalf<'a> = split::ReadHalf<'a, UnixStream>;
/// The borrowed writing half of a [`UnixStream`], from [`UnixStream::split`].
pub type WriteHalf<'a> = split::WriteHalf<'a, UnixStream>;
/// The owned reading half of a [`UnixStream`], from [`UnixStream::into_split`].
pub type OwnedReadHalf = split::OwnedReadHalf<UnixStream>;
/// The owned writing half of a [`UnixStream`], from [`UnixStream::into_split`]; dropping it ends the stream
/// for the peer.
pub type OwnedWriteHalf = split::OwnedWriteHalf<UnixStream>;
/// Two halves that are not of the same [`UnixStream`].
pub type ReuniteError = split::ReuniteError<UnixStream>;
