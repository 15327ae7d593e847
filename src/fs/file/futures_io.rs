//! The traits of futures-io for files.

use super::File;
use futures_util::io::{AsyncRead, AsyncSeek, AsyncWrite};
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

impl AsyncRead for File {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let wanted = buf.len();
        let take = |bytes: &[u8]| buf[..bytes.len()].copy_from_slice(bytes);
        File::poll_read(self.get_mut(), cx, wanted, take)
    }
}

impl AsyncWrite for File {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        File::poll_write(self.get_mut(), cx, [buf])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        File::poll_write(self.get_mut(), cx, bufs.iter().map(|buf| &**buf))
    }

    /// Waits until all that was accepted is with the operating system.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        File::poll_flush(self.get_mut(), cx)
    }

    /// As `poll_flush`; the file is closed when it is dropped.
    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        File::poll_flush(self.get_mut(), cx)
    }
}

impl AsyncSeek for File {
    fn poll_seek(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pos: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        let File { shared, traffic, .. } = self.get_mut();
        traffic.get_mut().poll_seek(cx, shared, pos)
    }
}
