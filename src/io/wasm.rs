//! The I/O traits and adapters of the runtime-neutral world.
//!
//! The traits are those of `futures-io`, the extension traits and adapters those of `futures-util`, as
//! everywhere in liten. What tells when a source of the host is ready is `wasi::Reactor`: there is no poller
//! that takes any source.

#[cfg(feature = "futures-io")]
mod copy;
#[cfg(feature = "futures-io")]
mod duplex;
// Sockets alone forward to a reference here.
#[cfg(all(feature = "futures-io", feature = "net"))]
mod forward;
#[cfg(feature = "futures-io")]
#[path = "stdio/wasm.rs"]
mod stdio;
#[cfg(feature = "futures-io")]
mod void;

#[cfg(all(feature = "futures-io", feature = "net"))]
pub(crate) use self::forward::{forward_polls, forward_read, forward_write};
#[cfg(feature = "futures-io")]
pub use self::{
    copy::{copy, copy_bidirectional, copy_buf},
    duplex::{DuplexStream, duplex},
    stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout},
    void::{Empty, Repeat, Sink, empty, repeat, sink},
};
#[cfg(feature = "futures-io")]
pub use ::futures_io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};
#[cfg(feature = "futures-io")]
pub use futures_util::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufWriter, Chain,
    Cursor, LineWriter, Lines, ReadHalf, ReuniteError, Take, WriteHalf,
};
#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Result, SeekFrom};
