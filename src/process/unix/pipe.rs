//! Unix: the pipes to a child, as sources of the driver.

use crate::engine::driver::readiness::Direction;
use crate::io::{Async, Interest, charged};
use mio::unix::pipe::{Receiver, Sender};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{ChildStdin, Stdio};
use std::task::{Context, Poll};

/// The pipe that a child reads from.
pub(in crate::process) struct Input(Async<Sender>);

/// The pipe that a child writes to.
pub(in crate::process) struct Output(Async<Receiver>);

impl Input {
    #[track_caller]
    pub(in crate::process) fn new(stdin: ChildStdin) -> io::Result<Self> {
        let pipe = Sender::from(stdin);
        pipe.set_nonblocking(true)?;
        Async::with_interest(pipe, Interest::WRITABLE).map(Self)
    }

    pub(in crate::process) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_io(cx, Direction::Write, |mut pipe| pipe.write(buf)).map_ok(charged)
    }

    pub(in crate::process) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_io(cx, Direction::Write, |mut pipe| pipe.write_vectored(bufs)).map_ok(charged)
    }

    /// Nothing to do: what is written is with the operating system already.
    pub(in crate::process) fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Output {
    #[track_caller]
    pub(in crate::process) fn new(output: impl Into<Receiver>) -> io::Result<Self> {
        let pipe = output.into();
        pipe.set_nonblocking(true)?;
        Async::with_interest(pipe, Interest::READABLE).map(Self)
    }

    pub(in crate::process) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.0.poll_io(cx, Direction::Read, |mut pipe| pipe.read(buf)).map_ok(charged)
    }
}

/// The descriptor of an end, to look at and to take.
macro_rules! descriptor {
    ($($end:ident)*) => {$(
        impl $end {
            /// The descriptor, in blocking mode again: the mode belongs to the pipe's end and not to the
            /// descriptor, and a program expects it.
            pub(in crate::process) fn into_owned_fd(self) -> io::Result<OwnedFd> {
                let pipe = self.0.into_inner()?;
                pipe.set_nonblocking(false)?;
                Ok(pipe.into())
            }

            pub(in crate::process) fn into_stdio(self) -> io::Result<Stdio> {
                self.into_owned_fd().map(Stdio::from)
            }
        }

        impl AsFd for $end {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.0.as_fd()
            }
        }
    )*};
}

descriptor!(Input Output);
