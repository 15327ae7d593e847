//! `LitenIo`: the bridge between hyper's I/O traits and those of `futures-io`, both ways.

use crate::io::trait_families::fill;
use crate::io::{AsyncRead, AsyncWrite, forward_polls};
use hyper::rt::{self, ReadBuf, ReadBufCursor};
use pin_project_lite::pin_project;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pin_project! {
    /// Has hyper's I/O traits where `T` has those of `futures-io`, and the other way round.
    ///
    /// One direction puts a TLS stream or a pipe under hyper; the other one lets a WebSocket library use a
    /// connection that hyper has upgraded. The sockets of [`net`](crate::net) need it for neither: they have
    /// both families, and it costs them a copy.
    ///
    /// # Examples
    ///
    /// ```
    /// use hyper::rt::{Read, ReadBuf};
    /// use liten::hyper::LitenIo;
    /// use liten::io::Cursor;
    /// use std::future::poll_fn;
    /// use std::pin::Pin;
    ///
    /// # fn main() -> std::io::Result<()> {
    /// # liten::block_on(async {
    /// let mut adapter = LitenIo::new(Cursor::new(b"hello"));
    /// let mut memory = [0; 16];
    /// let mut buf = ReadBuf::new(&mut memory);
    /// poll_fn(|cx| Pin::new(&mut adapter).poll_read(cx, buf.unfilled())).await?;
    /// assert_eq!(buf.filled(), b"hello");
    /// # Ok(())
    /// # })
    /// # }
    /// ```
    #[derive(Clone, Debug)]
    pub struct LitenIo<T> {
        #[pin]
        inner: T,
    }
}

impl<T> LitenIo<T> {
    /// Wraps `inner`.
    pub const fn new(inner: T) -> Self {
        Self { inner }
    }

    /// Returns what is wrapped.
    pub const fn inner(&self) -> &T {
        &self.inner
    }

    /// Returns what is wrapped, to change it.
    pub const fn inner_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Takes it out again.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T: AsyncRead> rt::Read for LitenIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        fill(self.project().inner, cx, buf)
    }
}

// Says that it does not write vectored, because futures-io has no question for that. A caller that is told
// wrongly that vectored writes are possible would write many small pieces.
impl<T: AsyncWrite> rt::Write for LitenIo<T> {
    forward_polls! {
        |this| this.project().inner, AsyncWrite;
        poll_write(buf: &[u8]) -> usize: poll_write;
        poll_write_vectored(bufs: &[IoSlice<'_>]) -> usize: poll_write_vectored;
        poll_flush() -> (): poll_flush;
        poll_shutdown() -> (): poll_close;
    }
}

impl<T: rt::Read> AsyncRead for LitenIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let mut buf = ReadBuf::new(buf);
        ready!(self.project().inner.poll_read(cx, buf.unfilled()))?;
        Poll::Ready(Ok(buf.filled().len()))
    }
}

impl<T: rt::Write> AsyncWrite for LitenIo<T> {
    forward_polls! {
        |this| this.project().inner, rt::Write;
        poll_write(buf: &[u8]) -> usize: poll_write;
        poll_write_vectored(bufs: &[IoSlice<'_>]) -> usize: poll_write_vectored;
        poll_flush() -> (): poll_flush;
        poll_close() -> (): poll_shutdown;
    }
}
