//! The I/O traits of futures-io on everything here that moves bytes: streams, the halves of streams, pipes.

use super::TcpStream;
#[cfg(unix)]
use super::UnixStream;
use super::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
#[cfg(unix)]
use super::unix::pipe;
use crate::engine::driver::readiness::Direction;
use crate::io::{AsyncRead, AsyncWrite, MOST_BUFFERS, forward_read, forward_write};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Reading. `drains` tells whether a read of fewer bytes than asked proves that nothing is left.
macro_rules! byte_source {
    ($face:ty, short_read_drains: $drains:literal) => {
        impl $face {
            /// How much a read has to bring, of `room` bytes, to leave the source marked as readable; 0
            /// means that any read leaves it so.
            pub(in crate::net) const fn full_read(room: usize) -> usize {
                if $drains { room } else { 0 }
            }
        }

        impl AsyncRead for &$face {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                let full = <$face>::full_read(buf.len());
                self.io.poll_transfer(cx, Direction::Read, full, |mut source| source.read(buf))
            }

            fn poll_read_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &mut [IoSliceMut<'_>],
            ) -> Poll<io::Result<usize>> {
                let full = <$face>::full_read(used(bufs.iter().map(|buf| buf.len())));
                self.io
                    .poll_transfer(cx, Direction::Read, full, |mut source| source.read_vectored(bufs))
            }
        }

        forward_read!([] $face [], this => &*this);
    };
}

/// Writing. A write of fewer bytes than asked proves that there is no more room. `end` is what closing does.
macro_rules! byte_sink {
    ($face:ty, $(#[$doc:meta])* end: |$this:ident| $end:expr) => {
        impl AsyncWrite for &$face {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                let full = buf.len();
                self.io.poll_transfer(cx, Direction::Write, full, |mut sink| sink.write(buf))
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                let full = used(bufs.iter().map(|buf| buf.len()));
                self.io
                    .poll_transfer(cx, Direction::Write, full, |mut sink| sink.write_vectored(bufs))
            }

            /// Does nothing: what is written is with the operating system already.
            fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            $(#[$doc])*
            fn poll_close(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let $this = &*self;
                Poll::Ready($end)
            }
        }

        forward_write!([] $face [], this => &*this);
    };
}

/// How many bytes one system call asks for that is given buffers of these `lengths`.
///
/// Counting the buffers that it does not use would make a transfer that has filled all others look short, and
/// what is left would wait for an event that does not come.
fn used(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.take(MOST_BUFFERS).fold(0, usize::saturating_add)
}

byte_source!(TcpStream, short_read_drains: true);
byte_sink!(
    TcpStream,
    /// Shuts the writing side down, so that the peer reads the end.
    end: |stream| stream.shutdown_std(Shutdown::Write)
);

// A read ends early, with more to come, where file descriptors were passed along or the sender's
// credentials change.
#[cfg(unix)]
byte_source!(UnixStream, short_read_drains: false);
#[cfg(unix)]
byte_sink!(
    UnixStream,
    /// Shuts the writing side down, so that the peer reads the end.
    end: |stream| stream.shutdown_std(Shutdown::Write)
);

// A pipe in packet mode (`O_DIRECT`) returns a packet per read, with more to come.
#[cfg(unix)]
byte_source!(pipe::Receiver, short_read_drains: false);
#[cfg(unix)]
byte_sink!(
    pipe::Sender,
    /// Does nothing: the reader sees the end when the sender, and every copy of its descriptor, is dropped.
    end: |_sender| Ok(())
);

forward_read!(['a, S] ReadHalf<'a, S> [for<'b> &'b S: AsyncRead], half => &**half);
forward_write!(['a, S] WriteHalf<'a, S> [for<'b> &'b S: AsyncWrite], half => &**half);
forward_read!([S] OwnedReadHalf<S> [for<'b> &'b S: AsyncRead], half => &**half);
forward_write!([S] OwnedWriteHalf<S> [for<'b> &'b S: AsyncWrite], half => &**half);
