//! tokio's I/O traits for `Async<S>`, as far as std's `Read` and `Write` reach, and for the streams that
//! stand on no socket.

use super::{Async, AsyncRead, DuplexStream, Empty, Repeat, Sink, Stderr, Stdin, Stdout};
use super::{implement_read, implement_write};
use mio::event::Source;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::ReadBuf;

/// Reads into a buffer of tokio's through `AsyncRead`, which wants initialised memory.
///
/// `std::io::Read` knows no other (its `read_buf` is unstable), so what is not initialised is filled with
/// zeros first. The buffer remembers that: one that is kept pays once.
fn fill<R: AsyncRead>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    let length = ready!(reader.poll_read(cx, buf.initialize_unfilled()))?;
    buf.advance(length);
    Poll::Ready(Ok(()))
}

impl<S> tokio::io::AsyncRead for &Async<S>
where
    S: Source,
    for<'a> &'a S: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        fill(self, cx, buf)
    }
}

implement_read!(
    tokio::io::AsyncRead, &mut ReadBuf<'_>,
    [S] Async<S> [S: Source, for<'a> &'a S: Read], this => &*this
);
// Says that it does not write vectored, because stable Rust has no question whether `S` does. A caller that
// is told wrongly that vectored writes are possible would write many small pieces.
implement_write!(
    tokio::io::AsyncWrite, vectored: false,
    ['s, S] &'s Async<S> [S: Source, for<'a> &'a S: Write]
);
implement_write!(
    tokio::io::AsyncWrite, vectored: false,
    [S] Async<S> [S: Source, for<'a> &'a S: Write]
);

macro_rules! filled {
    ($stream:ty) => {
        impl tokio::io::AsyncRead for $stream {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                fill(self, cx, buf)
            }
        }
    };
}

filled!(DuplexStream);
filled!(Empty);
filled!(Repeat);
filled!(Stdin);
implement_write!(tokio::io::AsyncWrite, vectored: false, [] DuplexStream []);
implement_write!(tokio::io::AsyncWrite, vectored: true, [] Empty []);
implement_write!(tokio::io::AsyncWrite, vectored: true, [] Sink []);
implement_write!(tokio::io::AsyncWrite, vectored: false, [] Stdout []);
implement_write!(tokio::io::AsyncWrite, vectored: false, [] Stderr []);
