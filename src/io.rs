//! Readiness of any source, and the I/O traits and adapters of the runtime-neutral world.
//!
//! [`Async`] ties a non-blocking source to the runtime's driver: it tells when the source is readable or
//! writable and repeats an operation until it does not block. All sockets in [`net`](crate::net) stand on
//! it, and so can anything else that the operating system can poll: on Unix every such file descriptor,
//! through `Fd`.
//!
//! The traits are those of `futures-io`, because that is what codecs, TLS libraries and protocol crates
//! that are not bound to one runtime are written against; the extension traits and adapters are those of
//! `futures-util`. liten has no I/O traits of its own. All of this is there with the feature `futures-io`,
//! which is on by default.
//!
//! With the feature `tokio-io` sockets, pipes, [`Async`], files, the standard streams, those of children,
//! [`duplex()`]'s, [`empty()`], [`repeat()`] and [`sink()`] have tokio's I/O traits as well, and with the
//! feature `hyper` TCP and Unix streams, their halves and [`Async`] have those of hyper: without a wrapper,
//! and on the same value. Where two families are in scope, methods of the same name (`read`, `write_all`)
//! come from the extension trait that is imported; import one per scope.
//!
//! | to | use |
//! |---|---|
//! | read or write some bytes, all bytes, a line | [`AsyncReadExt`], [`AsyncWriteExt`], [`AsyncBufReadExt`] |
//! | save system calls on small reads and writes | [`BufReader`], [`BufWriter`], [`LineWriter`] |
//! | move everything from a reader to a writer | [`copy()`], [`copy_buf()`] |
//! | join two connections, as a proxy does | [`copy_bidirectional()`] |
//! | read in one task, write in another | [`AsyncReadExt::split`]; sockets have their own, without a lock |
//! | talk to the process that has started the program | [`stdin()`], [`stdout()`], [`stderr()`] |
//! | test without a socket | [`duplex()`], [`Cursor`], [`empty()`], [`repeat()`], [`sink()`] |
//! | wait for something that is no socket | [`Async`] |
//!
//! # Cancel safety
//!
//! A future that is dropped before it is ready has had no effect if its method moves bytes at most once:
//! `read`, `read_vectored`, `write`, `write_vectored`, `fill_buf`, `flush`, `close`. Methods that move
//! bytes several times lose the count of what they have moved: `read_exact`, `read_to_end`,
//! `read_to_string`, `read_until`, `read_line`, `write_all` and the `copy` family. Do not use those as a
//! branch of `select!` or under a timeout, unless the stream is given up afterwards.
//!
//! # Yielding
//!
//! Sockets, pipes and everything else that stands on [`Async`] take from the task's budget, so that a task
//! which always finds them ready lets others run and can be timed out. So do [`duplex()`]'s streams,
//! [`empty()`], [`repeat()`] and [`sink()`]. What holds its bytes itself is always ready and takes nothing:
//! [`Cursor`], slices, `Vec`, and adapters around them. It ends when its bytes do; a loop over very many of
//! them calls [`consume_budget`](crate::task::consume_budget).
//!
//! # Examples
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! # liten::block_on(async {
//! use liten::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
//! use liten::net::{TcpListener, TcpStream};
//!
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let mut client = TcpStream::connect(listener.local_addr()?).await?;
//! let (server, _peer) = listener.accept().await?;
//!
//! client.write_all(b"first\nsecond\n").await?;
//! let mut line = String::new();
//! BufReader::new(server).read_line(&mut line).await?;
//! assert_eq!(line, "first\n");
//! # Ok(())
//! # })
//! # }
//! ```

mod async_source;
#[cfg(all(unix, any(feature = "net", feature = "tokio-name")))]
pub(crate) mod backlog;
#[cfg(feature = "futures-io")]
mod copy;
#[cfg(feature = "futures-io")]
mod duplex;
#[cfg(unix)]
mod fd;
#[cfg(feature = "futures-io")]
mod forward;
#[cfg(feature = "futures-io")]
mod futures_io;
#[cfg(windows)]
mod handle;
mod interest;
mod registered;
#[cfg(any(feature = "futures-io", feature = "tokio-name"))]
mod stdin;
#[cfg(feature = "futures-io")]
mod stdio;
#[cfg(any(feature = "tokio-io", feature = "hyper"))]
pub(crate) mod trait_families;
#[cfg(feature = "futures-io")]
mod void;
#[doc(hidden)]
#[cfg_attr(not(unix), path = "io/wait/elsewhere.rs")]
pub mod wait;

pub use self::async_source::Async;
pub(crate) use self::async_source::{current_driver, driver_for};
#[cfg(all(unix, any(feature = "net", feature = "tokio-name")))]
#[doc(hidden)]
pub use self::backlog::connect_patiently;
#[cfg(unix)]
pub use self::fd::Fd;
#[cfg(feature = "futures-io")]
pub(crate) use self::forward::{forward_polls, forward_read, forward_write};
pub use self::interest::Interest;
#[doc(hidden)]
pub use self::registered::Registered;
pub(crate) use self::registered::charged;
#[cfg(all(feature = "tokio-name", not(feature = "futures-io")))]
#[doc(hidden)]
pub use self::stdin::{Stdin, stdin};
#[cfg(feature = "futures-io")]
#[cfg_attr(docsrs, doc(cfg(feature = "futures-io")))]
pub use self::{
    copy::{copy, copy_bidirectional, copy_buf},
    duplex::{DuplexStream, duplex},
    stdin::{Stdin, stdin},
    stdio::{Stderr, Stdout, stderr, stdout},
    void::{Empty, Repeat, Sink, empty, repeat, sink},
};
pub use crate::engine::driver::readiness::Ready;
#[doc(hidden)]
pub use crate::engine::driver::readiness::{Direction, ReadyEvent};
#[doc(hidden)]
pub use crate::runtime::incidents::connected;

#[cfg(feature = "futures-io")]
#[cfg_attr(docsrs, doc(cfg(feature = "futures-io")))]
pub use ::futures_io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};
#[cfg(feature = "futures-io")]
#[cfg_attr(docsrs, doc(cfg(feature = "futures-io")))]
pub use futures_util::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufWriter, Chain,
    Cursor, LineWriter, Lines, ReadHalf, ReuniteError, Take, WriteHalf,
};
#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result, SeekFrom};

/// Whether a stream socket that moved fewer bytes than asked has thereby told that its kernel buffer is
/// empty (full).
///
/// It has under epoll, which reports the next arrival whatever was read before. On Windows mio arms a
/// socket again only when an operation returns `WouldBlock`, so that error must really be seen; and on
/// kqueue a read also stops early at urgent data without an event that would tell.
pub(crate) const SHORT_TRANSFER_DRAINS: bool =
    cfg!(any(target_os = "linux", target_os = "android"));

/// The most buffers that one system call uses, and the most bytes that it moves, where a short transfer
/// drains: `UIO_MAXIOV` and, for any size of pages, no more than `MAX_RW_COUNT` of Linux. A call that was
/// given more stops there, and that says nothing about the kernel buffer.
pub(crate) const MOST_BUFFERS: usize = 1_024;
pub(crate) const MOST_BYTES: usize = 0x7fff_0000;
