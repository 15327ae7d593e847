//! `copy` and `copy_buf`: everything from a reader to a writer.
//!
//! Not those of `futures-util`, which flush at the end only: a writer that buffers would then keep a request
//! back while the reader waits for the answer to it, for ever.

use super::{AsyncBufRead, AsyncRead, AsyncWrite, BufReader};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// Copies all bytes from `reader` to `writer` and returns how many there were.
///
/// The writer is flushed at the end, and whenever the reader has nothing more for now: a writer that buffers,
/// such as a [`BufWriter`](super::BufWriter) or a TLS stream, does not keep back what has been read. The copy
/// has a buffer of 8 KiB; if the reader has one already, use [`copy_buf`].
///
/// # Cancel safety
///
/// Not cancel safe: what has been read and not yet written is lost, and so is the count.
///
/// # Errors
///
/// Returns the first error of the reader or of the writer, and [`WriteZero`](ErrorKind::WriteZero) if the
/// writer takes no more bytes.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// let mut copied = Vec::new();
/// assert_eq!(liten::io::copy(&b"hello"[..], &mut copied).await?, 5);
/// assert_eq!(copied, b"hello");
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn copy<R, W>(reader: R, writer: &mut W) -> io::Result<u64>
where
    R: AsyncRead,
    W: AsyncWrite + Unpin + ?Sized,
{
    copy_buf(BufReader::new(reader), writer).await
}

/// Copies all bytes from `reader`, which has a buffer, to `writer` and returns how many there were.
///
/// The writer is flushed as by [`copy()`].
///
/// # Cancel safety
///
/// What has been read and not yet written stays in the reader, if that is given as a reference; only the
/// count is lost.
///
/// # Errors
///
/// As [`copy()`].
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{BufReader, copy_buf};
///
/// let mut copied = Vec::new();
/// assert_eq!(copy_buf(BufReader::new(&b"hello"[..]), &mut copied).await?, 5);
/// assert_eq!(copied, b"hello");
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn copy_buf<R, W>(reader: R, writer: &mut W) -> io::Result<u64>
where
    R: AsyncBufRead,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut reader = pin!(reader);
    let mut moved = Moved { count: 0, is_unflushed: false };
    poll_fn(|cx| moved.poll(cx, reader.as_mut(), Pin::new(&mut *writer))).await?;
    // The reader is not asked again after its end: a terminal would then wait for another line.
    poll_fn(|cx| Pin::new(&mut *writer).poll_flush(cx)).await?;
    Ok(moved.count)
}

/// What has gone from the reader to the writer so far.
struct Moved {
    count: u64,
    /// The writer may hold back some of it.
    is_unflushed: bool,
}

impl Moved {
    /// Moves bytes until the reader has ended.
    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<()>>
    where
        R: AsyncBufRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            let Poll::Ready(bytes) = reader.as_mut().poll_fill_buf(cx) else {
                if self.is_unflushed {
                    ready!(writer.as_mut().poll_flush(cx))?;
                    self.is_unflushed = false;
                }
                return Poll::Pending;
            };
            let bytes = bytes?;
            if bytes.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let written = ready!(writer.as_mut().poll_write(cx, bytes))?;
            if written == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            reader.as_mut().consume(written);
            self.count += written as u64;
            self.is_unflushed = true;
        }
    }
}
