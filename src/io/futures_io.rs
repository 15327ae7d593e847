//! `AsyncRead` and `AsyncWrite` of futures-io, for `Async<S>`.

use super::{Async, charged, forward_read, forward_write};
use crate::engine::driver::readiness::Direction;
use futures_io::{AsyncRead, AsyncWrite};
use mio::event::Source;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

impl<S> AsyncRead for &Async<S>
where
    S: Source,
    for<'a> &'a S: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Read, |mut source| source.read(buf)).map_ok(charged)
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Read, |mut source| source.read_vectored(bufs)).map_ok(charged)
    }
}

impl<S> AsyncWrite for &Async<S>
where
    S: Source,
    for<'a> &'a S: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Write, |mut source| source.write(buf)).map_ok(charged)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Write, |mut source| source.write_vectored(bufs)).map_ok(charged)
    }

    /// Flushes `S`, which waits for room only if `S` says that it has to.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_first(cx, Direction::Write, |mut source| source.flush())
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

forward_read!([S] Async<S> [S: Source, for<'a> &'a S: Read], this => &*this);
forward_write!([S] Async<S> [S: Source, for<'a> &'a S: Write], this => &*this);
