//! `empty`, `repeat` and `sink`: readers and writers with nothing behind them.
//!
//! Not those of `futures-util`, which are always ready and take nothing from the task's budget: a copy from
//! `repeat` to `sink` would never return from its first poll. Here each operation costs one unit.

use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};
use crate::engine::task::budget;
use crate::impls::impl_debug;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Returns a reader that has ended, which as a writer takes all and keeps nothing.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{AsyncReadExt, AsyncWriteExt};
///
/// let mut nothing = String::new();
/// assert_eq!(liten::io::empty().read_to_string(&mut nothing).await?, 0);
/// liten::io::empty().write_all(b"gone").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub const fn empty() -> Empty {
    Empty(())
}

/// Returns a reader that gives `byte` for ever.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::AsyncReadExt;
///
/// let mut three = [0; 3];
/// liten::io::repeat(7).read_exact(&mut three).await?;
/// assert_eq!(three, [7, 7, 7]);
/// # Ok(())
/// # })
/// # }
/// ```
pub const fn repeat(byte: u8) -> Repeat {
    Repeat { byte }
}

/// Returns a writer that takes all and keeps nothing.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// let bytes = liten::io::copy(&b"counted"[..], &mut liten::io::sink()).await?;
/// assert_eq!(bytes, 7);
/// # Ok(())
/// # })
/// # }
/// ```
pub const fn sink() -> Sink {
    Sink(())
}

/// A reader that has ended, and a writer that takes all; made by [`empty()`].
pub struct Empty(());

/// A reader that gives one byte for ever; made by [`repeat()`].
#[derive(Debug)]
pub struct Repeat {
    byte: u8,
}

/// A writer that takes all and keeps nothing; made by [`sink()`].
pub struct Sink(());

/// `value`, for one operation of the budget.
fn charged<T>(cx: &mut Context<'_>, value: T) -> Poll<io::Result<T>> {
    budget::poll_proceed(cx).map(|()| Ok(value))
}

impl AsyncRead for Empty {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        charged(cx, 0)
    }
}

impl AsyncBufRead for Empty {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        charged(cx, &[])
    }

    fn consume(self: Pin<&mut Self>, _amount: usize) {}
}

impl AsyncSeek for Empty {
    /// Is at the start whatever `position` says, because that is also the end.
    fn poll_seek(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _position: SeekFrom,
    ) -> Poll<io::Result<u64>> {
        charged(cx, 0)
    }
}

impl AsyncRead for Repeat {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        charged(cx, buf.len()).map_ok(|length| {
            buf.fill(self.byte);
            length
        })
    }
}

macro_rules! takes_all {
    ($writer:ty) => {
        impl AsyncWrite for $writer {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                charged(cx, buf.len())
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                charged(cx, bufs.iter().map(|buf| buf.len()).sum())
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                charged(cx, ())
            }

            fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                charged(cx, ())
            }
        }
    };
}

takes_all!(Empty);
takes_all!(Sink);

impl_debug!([] Empty, "Empty");

impl_debug!([] Sink, "Sink");
