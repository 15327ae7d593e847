//! `copy` and `copy_buf`: everything from a reader to a writer; `copy_bidirectional`: a proxy in one call.
//!
//! Not those of `futures-util`, which flush at the end only: a writer that buffers would then keep a request
//! back while the reader waits for the answer to it, for ever.

use super::{AsyncBufRead, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use futures_util::future::try_join;
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

/// Copies from `a` to `b` and from `b` to `a` until both have ended; returns the two counts of bytes.
///
/// When one side has no more to say, the other one is [closed](AsyncWriteExt::close) for writing and may go
/// on talking. A side that says nothing for now holds nothing up: what it has said before is
/// [flushed](AsyncWriteExt::flush), so that a side that buffers its writes passes it on. Each direction has a
/// buffer of 8 KiB.
///
/// # Cancel safety
///
/// Not cancel safe: what has been read and not yet written is lost.
///
/// # Errors
///
/// Returns the first error of either direction; the other direction stops where it is.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional, duplex};
///
/// let (mut client, mut inbound) = duplex(64);
/// let (mut outbound, mut server) = duplex(64);
/// let proxy = liten::spawn(async move { copy_bidirectional(&mut inbound, &mut outbound).await });
///
/// client.write_all(b"question").await?;
/// client.close().await?;
/// let mut question = String::new();
/// server.read_to_string(&mut question).await?;
/// assert_eq!(question, "question");
/// server.write_all(b"yes").await?;
/// drop(server);
///
/// let mut answer = String::new();
/// client.read_to_string(&mut answer).await?;
/// assert_eq!(answer, "yes");
/// assert_eq!(proxy.await.unwrap()?, (8, 3));
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn copy_bidirectional<A, B>(a: &mut A, b: &mut B) -> io::Result<(u64, u64)>
where
    A: AsyncRead + AsyncWrite + Unpin + ?Sized,
    B: AsyncRead + AsyncWrite + Unpin + ?Sized,
{
    let (from_a, to_a) = a.split();
    let (from_b, to_b) = b.split();
    try_join(copy_and_close(from_a, to_b), copy_and_close(from_b, to_a)).await
}

async fn copy_and_close(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
) -> io::Result<u64> {
    let count = copy(from, &mut to).await?;
    to.close().await?;
    Ok(count)
}
