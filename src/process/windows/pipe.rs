//! Windows: the pipes to a child, read and written on the pool for blocking calls.
//!
//! The standard library's pipes cannot be polled. One operation is under way at a time: a read fetches into a
//! buffer, a write takes its bytes along and tells its error the next time, so `flush` and `close` wait for
//! it.

use crate::engine::ended::ended;
use crate::engine::task::JoinHandle;
use crate::task::spawn_blocking;
use std::io::{self, IoSlice, Read, Write};
use std::pin::Pin;
use std::process::{ChildStdin, Stdio};
use std::task::{Context, Poll, ready};

/// How many bytes one operation moves at most.
const MOST: usize = 64 * 1024;

/// The pipe that a child reads from.
pub(in crate::process) struct Input(Pipe<ChildStdin>);

/// The pipe that a child writes to.
pub(in crate::process) struct Output {
    pipe: Pipe<Box<dyn Source>>,
    /// The bytes that were read, and how many of them were handed out.
    bytes: Vec<u8>,
    taken: usize,
}

/// A pipe's end that is read. `Sync`, so that what a `Child` may be used for is the same on every system.
pub(in crate::process) trait Source: Read + Send + Sync {
    fn into_stdio(self: Box<Self>) -> Stdio;
}

impl<T: Read + Send + Sync + Into<Stdio>> Source for T {
    fn into_stdio(self: Box<Self>) -> Stdio {
        (*self).into()
    }
}

enum Pipe<T> {
    /// `None` if the operation that had it was cancelled with its runtime.
    Idle(Option<T>),
    Busy(JoinHandle<(T, io::Result<Vec<u8>>)>),
}

impl<T: Send + 'static> Pipe<T> {
    fn start(
        &mut self,
        operation: impl FnOnce(&mut T) -> io::Result<Vec<u8>> + Send + 'static,
    ) -> io::Result<()> {
        let mut pipe = self.take()?;
        *self = Self::Busy(spawn_blocking(move || {
            let result = operation(&mut pipe);
            (pipe, result)
        }));
        Ok(())
    }

    /// Waits for the operation under way and returns what it fetched; at once if there is none.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        let Self::Busy(operation) = self else { return Poll::Ready(Ok(Vec::new())) };
        let (pipe, result) = match ready!(Pin::new(operation).poll(cx)) {
            Ok((pipe, result)) => (Some(pipe), result),
            Err(_) => (None, Err(gone())),
        };
        *self = Self::Idle(pipe);
        Poll::Ready(result)
    }

    fn take(&mut self) -> io::Result<T> {
        match self {
            Self::Idle(pipe) => pipe.take().ok_or_else(gone),
            Self::Busy(_) => Err(io::Error::other("an operation on the pipe is under way")),
        }
    }
}

fn gone() -> io::Error {
    ended("the runtime that used the pipe has been shut down")
}

impl Input {
    pub(in crate::process) fn new(stdin: ChildStdin) -> io::Result<Self> {
        Ok(Self(Pipe::Idle(Some(stdin))))
    }

    pub(in crate::process) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.0.poll_idle(cx))?;
        let bytes = buf[..buf.len().min(MOST)].to_vec();
        let count = bytes.len();
        self.0.start(move |stdin| stdin.write_all(&bytes).map(|()| Vec::new()))?;
        Poll::Ready(Ok(count))
    }

    pub(in crate::process) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().find(|buf| !buf.is_empty());
        self.poll_write(cx, first.map_or(&[], |buf| buf))
    }

    pub(in crate::process) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_idle(cx).map_ok(drop)
    }

    pub(in crate::process) fn into_stdio(mut self) -> io::Result<Stdio> {
        self.0.take().map(Stdio::from)
    }
}

impl Output {
    pub(in crate::process) fn new(output: impl Source + 'static) -> io::Result<Self> {
        let pipe: Box<dyn Source> = Box::new(output);
        Ok(Self { pipe: Pipe::Idle(Some(pipe)), bytes: Vec::new(), taken: 0 })
    }

    pub(in crate::process) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        if self.taken == self.bytes.len() {
            if let Pipe::Idle(_) = self.pipe {
                let most = buf.len().min(MOST);
                self.pipe.start(move |output| {
                    let mut bytes = vec![0; most];
                    let count = output.read(&mut bytes)?;
                    bytes.truncate(count);
                    Ok(bytes)
                })?;
            }
            self.bytes = ready!(self.pipe.poll_idle(cx))?;
            self.taken = 0;
        }
        let left = &self.bytes[self.taken..];
        let count = left.len().min(buf.len());
        buf[..count].copy_from_slice(&left[..count]);
        self.taken += count;
        Poll::Ready(Ok(count))
    }

    /// What was fetched and not read is lost.
    pub(in crate::process) fn into_stdio(mut self) -> io::Result<Stdio> {
        self.pipe.take().map(Source::into_stdio)
    }
}
