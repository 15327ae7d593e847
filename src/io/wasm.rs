//! The I/O traits and adapters of the runtime-neutral world.
//!
//! The traits are those of `futures-io`, the extension traits and adapters those of `futures-util`, as
//! everywhere in liten. What tells when a source of the host is ready is `wasi::Reactor`: there is no poller
//! that takes any source.

#[cfg(feature = "futures-io")]
mod copy_bidirectional;
#[cfg(feature = "futures-io")]
mod duplex;
// Sockets alone forward to a reference here.
#[cfg(all(feature = "futures-io", feature = "net"))]
mod through;

#[cfg(feature = "futures-io")]
pub use self::copy_bidirectional::copy_bidirectional;
#[cfg(feature = "futures-io")]
pub use self::duplex::{DuplexStream, duplex};
#[cfg(all(feature = "futures-io", feature = "net"))]
pub(crate) use self::through::{read_through, write_through};
#[cfg(feature = "futures-io")]
pub use crate::wasi::stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout};
#[cfg(feature = "futures-io")]
pub use ::futures_io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};
#[cfg(feature = "futures-io")]
pub use futures_util::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufWriter, Chain,
    Cursor, Empty, LineWriter, Lines, ReadHalf, Repeat, ReuniteError, Sink, Take, WriteHalf, copy,
    copy_buf, empty, repeat, sink,
};
#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result, SeekFrom};
