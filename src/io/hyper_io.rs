//! hyper's I/O traits for `Async<S>`, as far as std's `Read` and `Write` reach.
#![allow(unsafe_code)]

use super::{Async, AsyncRead, implement_read, implement_write};
use hyper::rt::ReadBufCursor;
use mio::event::Source;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The most that one read through `AsyncRead` asks for: a record of TLS, the usual reader of that kind.
const PIECE: usize = 16 * 1024;

/// Reads into a buffer of hyper's through `AsyncRead`, which wants initialised memory.
///
/// So what is not initialised is filled with zeros first. hyper makes a new buffer for each read and up to
/// 400 KB of it, hence the bound on how much of it is used. A socket of `net` does not come this way.
pub(crate) fn fill_cursor<R: AsyncRead>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    mut buf: ReadBufCursor<'_>,
) -> Poll<io::Result<()>> {
    let room = buf.remaining().min(PIECE);
    let length = ready!(reader.poll_read(cx, buf.initialize_unfilled_to(room)))?;
    assert!(length <= room, "a reader says that it has read {length} bytes into {room}");
    // SAFETY: the first `room` bytes of what is unfilled are initialised since the call above, and `length`
    // is not more, whatever the reader says.
    unsafe {
        buf.advance(length);
    }
    Poll::Ready(Ok(()))
}

impl<S> hyper::rt::Read for &Async<S>
where
    S: Source,
    for<'a> &'a S: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        fill_cursor(self, cx, buf)
    }
}

implement_read!(
    hyper::rt::Read, ReadBufCursor<'_>,
    [S] Async<S> [S: Source, for<'a> &'a S: Read], this => &*this
);
// Not vectored, for the reason in `tokio_io.rs`; hyper then gathers small pieces itself.
implement_write!(
    hyper::rt::Write, vectored: false,
    ['s, S] &'s Async<S> [S: Source, for<'a> &'a S: Write]
);
implement_write!(
    hyper::rt::Write, vectored: false,
    [S] Async<S> [S: Source, for<'a> &'a S: Write]
);
