//! A connection within the process.

use super::{AsyncRead, AsyncWrite};
use crate::engine::task::budget;
use crate::impls::impl_debug;
use piper::{Reader, Writer};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// One end of a connection within the process; see [`duplex`].
///
/// Dropping it is what closing a socket is: the peer reads what is still there, then the end, and its writes
/// fail with [`BrokenPipe`](ErrorKind::BrokenPipe).
pub struct DuplexStream {
    reader: Reader,
    /// `None` once closed.
    writer: Option<Writer>,
}

/// Returns the two ends of a connection within the process, for tests and for protocols inside protocols.
///
/// What is written to one end is read from the other. `capacity` is how many bytes may lie between them, in
/// each direction; a writer waits when there is no room.
///
/// # Panics
///
/// Panics if `capacity` is 0.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{AsyncReadExt, AsyncWriteExt};
///
/// let (mut client, mut server) = liten::io::duplex(64);
/// client.write_all(b"ping").await?;
/// client.close().await?;
///
/// let mut request = String::new();
/// server.read_to_string(&mut request).await?;
/// assert_eq!(request, "ping");
/// server.write_all(b"pong").await?;
/// drop(server);
///
/// let mut answer = String::new();
/// client.read_to_string(&mut answer).await?;
/// assert_eq!(answer, "pong");
/// # Ok(())
/// # })
/// # }
/// ```
#[track_caller]
pub fn duplex(capacity: usize) -> (DuplexStream, DuplexStream) {
    assert!(capacity > 0, "a duplex stream needs room for one byte at least");
    let (reader, peers_writer) = piper::pipe(capacity);
    let (peers_reader, writer) = piper::pipe(capacity);
    let near = DuplexStream { reader, writer: Some(writer) };
    (near, DuplexStream { reader: peers_reader, writer: Some(peers_writer) })
}

impl AsyncRead for DuplexStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        budget::poll_leaf(cx, |cx| {
            // In two steps, because the pipe's own operation that does both yields by itself, by chance,
            // once in a hundred times.
            if buf.is_empty() || !ready!(self.reader.poll(cx)) {
                return Poll::Ready(Ok(0));
            }
            Poll::Ready(Ok(self.reader.try_drain(buf)))
        })
    }
}

impl AsyncWrite for DuplexStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        budget::poll_leaf(cx, |cx| {
            let writer = self.writer.as_mut().ok_or_else(broken)?;
            if buf.is_empty() {
                return Poll::Ready(Ok(0));
            }
            // Nothing is taken of bytes that are there only if they will never be read.
            let taken = if ready!(writer.poll(cx)) { writer.try_fill(buf) } else { 0 };
            if taken == 0 {
                return Poll::Ready(Err(broken()));
            }
            Poll::Ready(Ok(taken))
        })
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer = None;
        Poll::Ready(Ok(()))
    }
}

impl_debug!([] DuplexStream, this => "DuplexStream" {
    readable: this.reader.len(),
    is_closed: this.writer.is_none(),
});

fn broken() -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "the other end of the duplex stream no longer reads")
}
