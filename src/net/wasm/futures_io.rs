//! The I/O traits of futures-io on streams and their halves.

use super::TcpStream;
use super::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::io::{AsyncRead, AsyncWrite, forward_read, forward_write};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

impl AsyncRead for &TcpStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.connection.input.poll_read(cx, buf)
    }
}

impl AsyncWrite for &TcpStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.connection.output.poll_write(cx, buf)
    }

    /// Waits until the host has passed everything on to the network.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.output.poll_flush(cx)
    }

    /// Flushes, and shuts the writing side down, so that the peer reads the end.
    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        TcpStream::poll_close(&self, cx)
    }
}

forward_read!([] TcpStream [], this => &*this);
forward_write!([] TcpStream [], this => &*this);

forward_read!(['a, S] ReadHalf<'a, S> [for<'b> &'b S: AsyncRead], half => &**half);
forward_write!(['a, S] WriteHalf<'a, S> [for<'b> &'b S: AsyncWrite], half => &**half);
forward_read!([S] OwnedReadHalf<S> [for<'b> &'b S: AsyncRead], half => &**half);
forward_write!([S] OwnedWriteHalf<S> [for<'b> &'b S: AsyncWrite], half => &**half);
