//! The standard streams of the process, where reading and writing may block for as long as a user takes.
//!
//! Each write to standard output or error is a job on the blocking pool. Standard input has a thread of its
//! own (`stdin`). All three wait where the stream is in non-blocking mode (`wait`).

mod futures_io;

use crate::engine::task::JoinHandle;
use crate::impls::impl_debug;
use crate::io::wait::{self, Waitable};
use crate::runtime::context;
use std::io::{self, Write};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The most that one job writes, so that a flood does not become one huge buffer. tokio's bound too.
const MOST: usize = 2 * 1024 * 1024;

/// The standard output of the process; see [`stdout`].
#[derive(Debug)]
pub struct Stdout(Output);

/// The standard error of the process; see [`stderr`].
#[derive(Debug)]
pub struct Stderr(Output);

/// Returns the standard output of the process.
///
/// A write is taken at once and written in the background, one after the other; its error is returned by
/// what is called next. The bytes that could not be written are kept: each further flush or write tries them
/// first, and fails as long as they cannot be written. (tokio's second flush returns `Ok`.)
///
/// **[Flush](crate::io::AsyncWriteExt::flush) before the end of `main`**: what is still on its way when the
/// runtime ends may be lost. Two handles do not order their writes, but a write of up to 2 MiB is never torn.
///
/// A stream in non-blocking mode is written to as one in blocking mode: the write waits until there is room,
/// and goes on where it stopped. That mode belongs to the open file and not to the process, so a parent or
/// another writer may have set it. (tokio's standard output returns `WouldBlock` then, and loses the rest.)
///
/// # Cancel safety
///
/// Cancel safe: a write has been taken or not; a flush that is given up does not stop it.
///
/// # Errors
///
/// The operating system's errors. [`Other`](io::ErrorKind::Other) if the runtime is shutting down, or if
/// there is no thread to write, with what the operating system says to that.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{AsyncWriteExt, stdout};
///
/// let mut out = stdout();
/// out.write_all(b"hello\n").await?;
/// out.flush().await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub fn stdout() -> Stdout {
    Stdout(Output::new(|bytes, written| write_and_flush(io::stdout().lock(), bytes, written)))
}

/// Returns the standard error of the process, which is written to as [`stdout`] is.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::{AsyncWriteExt, stderr};
///
/// let mut err = stderr();
/// err.write_all(b"something is odd\n").await?;
/// err.flush().await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub fn stderr() -> Stderr {
    Stderr(Output::new(|bytes, written| write_and_flush(io::stderr().lock(), bytes, written)))
}

/// Writes what follows the first `written` bytes, and counts them. Under one lock, so that no other thread
/// writes into the middle, also while this one waits for room.
fn write_and_flush(
    mut to: impl Write + Waitable,
    bytes: &[u8],
    written: &mut usize,
) -> io::Result<()> {
    wait::write_all(&mut to, bytes, written)?;
    wait::flush(&mut to)
}

/// Bytes, and how many of them are written.
type Part = (Vec<u8>, usize);

/// Takes a write when the one before it is through.
struct Output {
    write: fn(&[u8], &mut usize) -> io::Result<()>,
    /// The write that is on its way.
    job: Option<JoinHandle<(io::Result<()>, Part)>>,
    /// The last write, and the memory for the next one.
    last: Part,
    /// The last write has failed. Its bytes were accepted, so `Ok` from a flush would be wrong, and what is
    /// written next comes behind them.
    has_failed: bool,
    /// Such bytes are gone, because no thread has taken the job that was to write them.
    has_lost: bool,
}

impl Output {
    fn new(write: fn(&[u8], &mut usize) -> io::Result<()>) -> Self {
        Self { write, job: None, last: (Vec::new(), 0), has_failed: false, has_lost: false }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(cx))?;
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let taken = &buf[..buf.len().min(MOST)];
        let (mut bytes, _) = mem::take(&mut self.last);
        bytes.clear();
        bytes.extend_from_slice(taken);
        self.start((bytes, 0))?;
        Poll::Ready(Ok(taken.len()))
    }

    fn start(&mut self, (bytes, mut written): Part) -> io::Result<()> {
        let write = self.write;
        let job = move || (write(&bytes, &mut written), (bytes, written));
        self.job = Some(context::start_blocking("standard output", false, job)?);
        Ok(())
    }

    /// Ready when nothing is on its way. Tries a write that has failed once more.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.has_lost {
            return Poll::Ready(Err(io::Error::other("bytes that were accepted before are lost")));
        }
        if mem::take(&mut self.has_failed) {
            let last = mem::take(&mut self.last);
            self.start(last).inspect_err(|_| self.has_lost = true)?;
        }
        let Some(job) = &mut self.job else {
            return Poll::Ready(Ok(()));
        };
        let ended = ready!(Pin::new(job).poll(cx));
        self.job = None;
        let ended = ended.inspect_err(|_| self.has_lost = true);
        let (result, last) = ended.map_err(io::Error::other)?;
        (self.last, self.has_failed) = (last, result.is_err());
        Poll::Ready(result)
    }
}

impl_debug!([] Output, this => "Output" { is_writing: this.job.is_some() });
