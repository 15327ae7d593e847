//! A proxy in one call.

use super::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy};
use futures_util::future::try_join;
use std::io;

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
