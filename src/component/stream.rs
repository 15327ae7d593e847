//! The host's byte streams, input and output, behind the polls of the I/O traits.

use super::source::Source;
use send_wrapper::SendWrapper;
use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

/// The most that one call moves.
///
/// A host makes room for as many bytes as a read asks for, and keeps what it could not write at once: a
/// bound on both is a bound on its memory. It is also what one unit of a task's budget buys.
const MOST: usize = 64 * 1024;

/// Bytes from the host.
#[derive(Debug)]
pub(crate) struct Input {
    /// Above the stream, its parent: see [`Source`].
    source: Source,
    stream: InputStream,
    /// What a failed read calls itself.
    operation: &'static str,
}

/// Bytes to the host.
#[derive(Debug)]
pub(crate) struct Output {
    /// Above the stream, its parent: see [`Source`].
    source: Source,
    stream: OutputStream,
    unflushed: SendWrapper<Cell<Unflushed>>,
    /// What a failed write calls itself.
    operation: &'static str,
}

/// What the host may still keep of what was written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unflushed {
    Nothing,
    Something,
    /// A flush has been asked for that covers all of it.
    Flushing,
}

impl Input {
    pub(crate) fn new(stream: InputStream, operation: &'static str) -> Self {
        Self { source: Source::new(), stream, operation }
    }

    /// Reads some bytes; 0 means the end.
    pub(crate) fn poll_read(
        &self,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.source.poll_io(cx, || self.stream.subscribe(), || self.try_read(buf))
    }

    /// [`poll_read`](Self::poll_read) without waiting.
    pub(crate) fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        match self.stream.read(buf.len().min(MOST) as u64) {
            Ok(bytes) if bytes.is_empty() => Err(ErrorKind::WouldBlock.into()),
            Ok(bytes) => {
                buf[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }
            Err(StreamError::Closed) => Ok(0),
            Err(error) => Err(failed(self.operation)(error)),
        }
    }

    /// Ready when there is probably something to read.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.source.poll_ready(cx, || self.stream.subscribe())
    }
}

impl Output {
    pub(crate) fn new(stream: OutputStream, operation: &'static str) -> Self {
        let unflushed = SendWrapper::new(Cell::new(Unflushed::Nothing));
        Self { source: Source::new(), stream, unflushed, operation }
    }

    /// Writes some bytes: no more than the host permits.
    pub(crate) fn poll_write(&self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.source.poll_io(cx, || self.stream.subscribe(), || self.try_write(buf))
    }

    /// [`poll_write`](Self::poll_write) without waiting.
    pub(crate) fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        let permitted = self.permitted()?;
        let count = buf.len().min(MOST).min(permitted);
        self.stream.write(&buf[..count]).map_err(failed(self.operation))?;
        self.unflushed.set(Unflushed::Something);
        Ok(count)
    }

    /// Waits until the host has passed on what was written.
    pub(crate) fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.source.poll_io(cx, || self.stream.subscribe(), || self.try_flush())
    }

    /// [`poll_flush`](Self::poll_flush) without waiting.
    ///
    /// Asks the host once: it may refuse writes until the flush is through, and asking again would begin it
    /// again.
    pub(crate) fn try_flush(&self) -> io::Result<()> {
        if self.unflushed.get() == Unflushed::Something {
            self.unflushed.set(Unflushed::Flushing);
            if let Err(error) = self.stream.flush() {
                self.unflushed.set(Unflushed::Nothing);
                return Err(failed(self.operation)(error));
            }
        }
        if self.unflushed.get() == Unflushed::Nothing {
            return Ok(());
        }
        // Room for more, or an error, says that it is through.
        let through = self.permitted().map(drop);
        if !matches!(&through, Err(error) if error.kind() == ErrorKind::WouldBlock) {
            self.unflushed.set(Unflushed::Nothing);
        }
        through
    }

    /// How many bytes the next write may have. Calling the host's `write` with more is a trap.
    fn permitted(&self) -> io::Result<usize> {
        match self.stream.check_write().map_err(failed(self.operation))? {
            0 => Err(ErrorKind::WouldBlock.into()),
            count => Ok(usize::try_from(count).unwrap_or(usize::MAX)),
        }
    }

    /// Whether something was written and not flushed since.
    pub(crate) fn keeps_something(&self) -> bool {
        self.unflushed.get() != Unflushed::Nothing
    }

    /// Ready when there is probably room.
    pub(crate) fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.source.poll_ready(cx, || self.stream.subscribe())
    }
}

/// Returns what makes an `io::Error` of a stream's error, for the failure of `operation`.
///
/// The host tells of a failure in words only: WASI 0.2 has no stable way to ask a stream's error for its
/// code. Guessing it from words that no standard fixes was rejected, so the kind is `Other`.
fn failed(operation: &'static str) -> impl FnOnce(StreamError) -> io::Error {
    move |error| match error {
        StreamError::Closed => {
            io::Error::new(ErrorKind::BrokenPipe, format!("{operation}: the stream is closed"))
        }
        StreamError::LastOperationFailed(error) => {
            io::Error::other(format!("{operation}: {}", error.to_debug_string()))
        }
    }
}
