//! tokio's I/O traits, directly on the streams and their halves.
#![allow(unsafe_code)]

use super::TcpStream;
#[cfg(unix)]
use super::UnixStream;
use super::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::uninit::Receive;
use crate::io::{implement_read, implement_write};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

fn receive(
    stream: &impl Receive,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    // SAFETY: `Receive` makes no byte uninitialised.
    let unfilled = unsafe { buf.unfilled_mut() };
    let length = ready!(stream.poll_receive(cx, unfilled))?;
    // SAFETY: `Receive` has initialised so many bytes at the beginning of what was unfilled.
    unsafe {
        buf.assume_init(length);
    }
    buf.advance(length);
    Poll::Ready(Ok(()))
}

macro_rules! tokio_stream {
    ($face:ty) => {
        impl AsyncRead for &$face {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                receive(*self, cx, buf)
            }
        }

        implement_read!(AsyncRead, &mut ReadBuf<'_>, [] $face [], this => &*this);
        implement_write!(AsyncWrite, vectored: true, ['s] &'s $face []);
        implement_write!(AsyncWrite, vectored: true, [] $face []);
    };
}

tokio_stream!(TcpStream);
#[cfg(unix)]
tokio_stream!(UnixStream);

implement_read!(
    AsyncRead, &mut ReadBuf<'_>,
    ['a, S] ReadHalf<'a, S> [for<'b> &'b S: AsyncRead], half => &**half
);
implement_read!(
    AsyncRead, &mut ReadBuf<'_>,
    [S] OwnedReadHalf<S> [for<'b> &'b S: AsyncRead], half => &**half
);
implement_write!(
    AsyncWrite, vectored: true,
    ['a, S] WriteHalf<'a, S> [for<'b> &'b S: crate::io::AsyncWrite]
);
implement_write!(
    AsyncWrite, vectored: true,
    [S] OwnedWriteHalf<S> [for<'b> &'b S: crate::io::AsyncWrite]
);
