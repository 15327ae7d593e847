//! tokio's I/O traits, directly on the streams and their halves.
#![allow(unsafe_code)]

use super::TcpStream;
#[cfg(unix)]
use super::UnixStream;
use super::split::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, WriteHalf};
use super::uninit::Receive;
use crate::io::{read_twin, write_twin};
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

        read_twin!(AsyncRead, &mut ReadBuf<'_>, [] $face [], this => &*this);
        write_twin!(AsyncWrite, vectored: true, ['s] &'s $face []);
        write_twin!(AsyncWrite, vectored: true, [] $face []);
    };
}

tokio_stream!(TcpStream);
#[cfg(unix)]
tokio_stream!(UnixStream);

read_twin!(
    AsyncRead, &mut ReadBuf<'_>,
    ['a, S] ReadHalf<'a, S> [for<'b> &'b S: AsyncRead], half => &**half
);
read_twin!(
    AsyncRead, &mut ReadBuf<'_>,
    [S] OwnedReadHalf<S> [for<'b> &'b S: AsyncRead], half => &**half
);
write_twin!(
    AsyncWrite, vectored: true,
    ['a, S] WriteHalf<'a, S> [for<'b> &'b S: crate::io::AsyncWrite]
);
write_twin!(
    AsyncWrite, vectored: true,
    [S] OwnedWriteHalf<S> [for<'b> &'b S: crate::io::AsyncWrite]
);
