//! The standard streams of the process, where reading and writing may block for as long as a user takes.
//!
//! Each write to standard output or error is a job on the blocking pool. Standard input has a thread of its
//! own (`input`). All three wait where the stream is in non-blocking mode (`wait`).

mod futures_io;
mod input;

pub use self::input::{Stdin, stdin};

use crate::engine::task::JoinHandle;
use crate::impls::impl_debug;
use crate::io::wait::{self, Waitable};
use crate::runtime::context;
use std::io::{self, Write};
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
/// what is called next. **[Flush](crate::io::AsyncWriteExt::flush) before the end of `main`**: what is still
/// on its way when the runtime ends may be lost. Two handles do not order their writes, but a write of up to
/// 2 MiB is never torn.
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
    Stdout(Output::new(|bytes| write_and_flush(io::stdout().lock(), bytes)))
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
    Stderr(Output::new(|bytes| write_and_flush(io::stderr().lock(), bytes)))
}

/// Under one lock, so that no other thread writes into the middle, also while this one waits for room.
fn write_and_flush(mut to: impl Write + Waitable, bytes: &[u8]) -> io::Result<()> {
    wait::write_all(&mut to, bytes)?;
    wait::flush(&mut to)
}

type Job = JoinHandle<(io::Result<()>, Vec<u8>)>;

/// Takes a write when the one before it is through.
struct Output {
    write: fn(&[u8]) -> io::Result<()>,
    /// The write that is on its way.
    job: Option<Job>,
    /// The memory for the next one.
    spare: Vec<u8>,
}

impl Output {
    fn new(write: fn(&[u8]) -> io::Result<()>) -> Self {
        Self { write, job: None, spare: Vec::new() }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(cx))?;
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let taken = &buf[..buf.len().min(MOST)];
        let mut bytes = std::mem::take(&mut self.spare);
        bytes.clear();
        bytes.extend_from_slice(taken);
        let write = self.write;
        let job =
            context::start_blocking("standard output", false, move || (write(&bytes), bytes))?;
        self.job = Some(job);
        Poll::Ready(Ok(taken.len()))
    }

    /// Ready when nothing is on its way.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(job) = &mut self.job else {
            return Poll::Ready(Ok(()));
        };
        let ended = ready!(Pin::new(job).poll(cx));
        self.job = None;
        let (result, bytes) = ended.map_err(io::Error::other)?;
        self.spare = bytes;
        Poll::Ready(result)
    }
}

impl_debug!([] Output, this => "Output" { is_writing: this.job.is_some() });
