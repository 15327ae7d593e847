//! Work that blocks, under the names that tokio's files know: on liten's pool for it.
//!
//! What is read and written there are the standard streams, and on Windows the pipes to children. On Unix the
//! former may be in non-blocking mode, which any process can set that shares the open file; then a call
//! waits as it would in blocking mode ([`Reads`], [`Writes`]). tokio returns `WouldBlock`, and loses what was
//! to be written.

pub(crate) use liten::task::JoinHandle;
use liten::io::wait;
use std::io::{self, Read, Write};

use crate::spawning::blocking;
use liten::runtime::door::boxed_if_large;

/// Runs `f`, which may block, on the pool for blocking work.
///
/// # Panics
///
/// Panics outside a runtime.
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    crate::runtime::context::assert_inside();
    blocking!(None, f: F => liten::task::spawn_blocking(f))
}

/// The work is done even if the runtime ends before it has begun.
#[track_caller]
pub(crate) fn spawn_mandatory_blocking<F, R>(f: F) -> Option<JoinHandle<R>>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    crate::runtime::context::assert_inside();
    boxed_if_large!(function f: F => liten::task::spawn_unfailing(f).ok())
}

/// Reads on a thread that may block. On Unix nothing does: the standard input is liten's.
pub(crate) trait Reads: Read {
    fn read_waiting(&mut self, buf: &mut [u8]) -> io::Result<usize>;
}

/// Writes on a thread that may block.
pub(crate) trait Writes: Write {
    /// Writes all that follows the first `written` bytes, and counts it.
    fn write_all_waiting(&mut self, bytes: &[u8], written: &mut usize) -> io::Result<()>;

    fn flush_waiting(&mut self) -> io::Result<()>;
}

/// Under one lock, so that no other thread writes into the middle, also while this one waits for room.
macro_rules! output {
    ($($stream:ty)*) => {$(
        impl Writes for $stream {
            fn write_all_waiting(&mut self, bytes: &[u8], written: &mut usize) -> io::Result<()> {
                wait::write_all(&mut self.lock(), bytes, written)
            }

            fn flush_waiting(&mut self) -> io::Result<()> {
                wait::flush(&mut self.lock())
            }
        }
    )*};
}

output!(io::Stdout io::Stderr);

#[cfg(not(unix))]
impl<T: Read> Reads for T {
    fn read_waiting(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        wait::read(self, buf)
    }
}
