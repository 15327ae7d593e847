//! tokio's I/O traits for files.

use super::File;
use crate::io::trait_families::{implement_read, implement_write};
use std::io::{self, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

implement_read!(AsyncRead, &mut ReadBuf<'_>, [] File [], |this, cx, buf| {
    let wanted = buf.remaining();
    File::poll_read(this.get_mut(), cx, wanted, |bytes| buf.put_slice(bytes)).map_ok(drop)
});
implement_write!(AsyncWrite, vectored: true, [] File []);

impl AsyncSeek for File {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        File::start_seek(self.get_mut(), position)
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        File::poll_sought(self.get_mut(), cx)
    }
}
