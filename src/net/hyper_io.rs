//! hyper's I/O traits, directly on the streams and their halves.
#![allow(unsafe_code)]

use super::TcpStream;
#[cfg(unix)]
use super::UnixStream;
use super::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::uninit::Receive;
use crate::io::{implement_read, implement_write};
use hyper::rt::{Read, ReadBufCursor, Write};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

fn receive(
    stream: &impl Receive,
    cx: &mut Context<'_>,
    mut buf: ReadBufCursor<'_>,
) -> Poll<io::Result<()>> {
    // SAFETY: `Receive` makes no byte uninitialised.
    let unfilled = unsafe { buf.as_mut() };
    let length = ready!(stream.poll_receive(cx, unfilled))?;
    // SAFETY: `Receive` has initialised so many bytes at the beginning of what was unfilled.
    unsafe {
        buf.advance(length);
    }
    Poll::Ready(Ok(()))
}

macro_rules! hyper_stream {
    ($face:ty) => {
        impl Read for &$face {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: ReadBufCursor<'_>,
            ) -> Poll<io::Result<()>> {
                receive(*self, cx, buf)
            }
        }

        implement_read!(Read, ReadBufCursor<'_>, [] $face [], this => &*this);
        implement_write!(Write, vectored: true, ['s] &'s $face []);
        implement_write!(Write, vectored: true, [] $face []);
    };
}

hyper_stream!(TcpStream);
#[cfg(unix)]
hyper_stream!(UnixStream);

implement_read!(
    Read, ReadBufCursor<'_>,
    ['a, S] ReadHalf<'a, S> [for<'b> &'b S: Read], half => &**half
);
implement_read!(
    Read, ReadBufCursor<'_>,
    [S] OwnedReadHalf<S> [for<'b> &'b S: Read], half => &**half
);
implement_write!(
    Write, vectored: true,
    ['a, S] WriteHalf<'a, S> [for<'b> &'b S: crate::io::AsyncWrite]
);
implement_write!(
    Write, vectored: true,
    [S] OwnedWriteHalf<S> [for<'b> &'b S: crate::io::AsyncWrite]
);
