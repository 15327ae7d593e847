//! The I/O traits of tokio and of hyper, directly on the streams and their halves.

use super::TcpStream;
#[cfg(unix)]
use super::UnixStream;
use super::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use crate::engine::driver::readiness::Direction;
use crate::io::AsyncWrite;
use crate::io::trait_families::{Buffer, implement_read, implement_write, receive};
use socket2::SockRef;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

macro_rules! poll_receive {
    ($face:ty) => {
        impl $face {
            /// Receives into memory that is not initialised.
            ///
            /// It saves filling the buffer with zeros before each read. hyper makes a new buffer per read, of
            /// 8 KB for the first request and up to 400 KB for a large body; to clear that costs as much as a
            /// system call.
            fn poll_receive(
                &self,
                cx: &mut Context<'_>,
                mut buf: impl Buffer,
            ) -> Poll<io::Result<()>> {
                let full = <$face>::full_read(buf.room());
                // Through `try_io`, so that mio learns of a `WouldBlock` on systems where it has to.
                let received = self.io.poll_transfer(cx, Direction::Read, full, |stream| {
                    stream.try_io(|| receive(SockRef::from(self), &mut buf))
                });
                received.map_ok(drop)
            }
        }
    };
}

poll_receive!(TcpStream);
#[cfg(unix)]
poll_receive!(UnixStream);

/// One family's traits for a stream.
macro_rules! implement_stream {
    ($face:ty: $read:path, $buffer:ty, $write:path) => {
        implement_read!($read, $buffer, [] &$face [], |this, cx, buf| this.poll_receive(cx, buf));
        implement_read!($read, $buffer, [] $face [], |this, cx, buf| this.poll_receive(cx, buf));
        implement_write!($write, vectored: true, ['s] &'s $face []);
        implement_write!($write, vectored: true, [] $face []);
    };
}

/// One family's traits for the streams and their halves.
macro_rules! implement_family {
    ($read:path, $buffer:ty, $write:path) => {
        implement_stream!(TcpStream: $read, $buffer, $write);
        #[cfg(unix)]
        implement_stream!(UnixStream: $read, $buffer, $write);
        implement_read!(
            $read, $buffer, ['a, S] ReadHalf<'a, S> [for<'b> &'b S: $read],
            |half, cx, buf| <_ as $read>::poll_read(Pin::new(&mut &**half), cx, buf)
        );
        implement_read!(
            $read, $buffer, [S] OwnedReadHalf<S> [for<'b> &'b S: $read],
            |half, cx, buf| <_ as $read>::poll_read(Pin::new(&mut &**half), cx, buf)
        );
        implement_write!(
            $write, vectored: true, ['a, S] WriteHalf<'a, S> [for<'b> &'b S: AsyncWrite]
        );
        implement_write!(
            $write, vectored: true, [S] OwnedWriteHalf<S> [for<'b> &'b S: AsyncWrite]
        );
    };
}

#[cfg(feature = "tokio-io")]
implement_family!(tokio::io::AsyncRead, &mut tokio::io::ReadBuf<'_>, tokio::io::AsyncWrite);
#[cfg(feature = "hyper")]
implement_family!(hyper::rt::Read, hyper::rt::ReadBufCursor<'_>, hyper::rt::Write);
