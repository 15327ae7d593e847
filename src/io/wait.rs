//! Reading and writing on a thread that may block, as if the descriptor were in blocking mode.
//!
//! That mode belongs to the open file, which other processes share: a terminal, or a pipe between two of
//! them. One that puts it into non-blocking mode does so for all. A call then returns `WouldBlock` in the
//! middle of what was to be written, and the rest would be lost, or the input seem broken. So the calls here
//! wait in `poll` and go on where they stopped.
//!
//! A wait to read ends when the runtime of the thread does, with an error: nothing has been taken, and no
//! caller is left. The end of the runtime would wait for that thread otherwise. A wait to write does not:
//! the bytes were accepted, and are to arrive. So it holds up the end of the runtime as a write does that
//! blocks in the system.
//!
//! # When `poll` is wrong
//!
//! It may say that a descriptor is ready, and the next call may say `WouldBlock` all the same: another
//! process was faster, a lock of a part of the file is in the way, or the device knows no `poll`. So such
//! rounds pause, first for a millisecond and then for longer, and the thread takes no processor from
//! others.
//!
//! Rejected: to put the descriptor back into blocking mode, which the other processes do not expect; and to
//! register it with the driver, because a runtime without workers polls only while a thread is in `block_on`.

use crate::engine::ended::ended;
use crate::runtime::blocking_task::CLOSED;
use crate::runtime::context;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
/// What can be waited for.
pub use std::os::fd::AsFd as Waitable;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

/// The pauses are of 1, 2, 4, … milliseconds, and at most of this power of two.
const LONGEST_PAUSE: u32 = 6;

/// Reads some bytes, as a blocking read does.
///
/// # Errors
///
/// The error of the read other than `WouldBlock` and `Interrupted`; an error if the runtime that the thread
/// belongs to ends while it waits.
pub fn read(source: &mut (impl Read + Waitable), buf: &mut [u8]) -> io::Result<usize> {
    // Only a call that has to wait wants to know of the runtime.
    match once(|| source.read(buf)) {
        Some(result) => result,
        None => told_of_the_end(|ending| {
            patiently(source, PollFlags::POLLIN, ending, |source| source.read(buf))
        }),
    }
}

/// Writes some bytes, as a blocking write does.
///
/// # Errors
///
/// The error of the write other than `WouldBlock` and `Interrupted`.
pub fn write(to: &mut (impl Write + Waitable), bytes: &[u8]) -> io::Result<usize> {
    once(|| to.write(bytes))
        .unwrap_or_else(|| patiently(to, PollFlags::POLLOUT, None, |to| to.write(bytes)))
}

/// Writes all of the bytes, as a blocking write does.
///
/// # Errors
///
/// As [`write`]; [`WriteZero`](ErrorKind::WriteZero) if a write takes nothing.
pub fn write_all(to: &mut (impl Write + Waitable), mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match write(to, bytes)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            count => bytes = &bytes[count..],
        }
    }
    Ok(())
}

/// Flushes what `to` has buffered, as with a blocking descriptor.
///
/// # Errors
///
/// As [`write`].
pub fn flush(to: &mut (impl Write + Waitable)) -> io::Result<()> {
    once(|| to.flush()).unwrap_or_else(|| patiently(to, PollFlags::POLLOUT, None, |to| to.flush()))
}

/// The result of a call that did not have to wait.
fn once<R>(mut call: impl FnMut() -> io::Result<R>) -> Option<io::Result<R>> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
            result => return Some(result),
        }
    }
}

/// Waits before each `call` until `descriptor` is ready for it; gives up when `ending` hangs up.
fn patiently<D: AsFd, R>(
    descriptor: &mut D,
    wanted: PollFlags,
    ending: Option<&UnixStream>,
    mut call: impl FnMut(&mut D) -> io::Result<R>,
) -> io::Result<R> {
    let mut pause = None;
    loop {
        wait(descriptor.as_fd().into(), wanted, ending, PollTimeout::NONE)?;
        if let Some(power) = pause {
            wait(None, wanted, ending, PollTimeout::from(1_u16 << power))?;
        }
        if let Some(result) = once(|| call(descriptor)) {
            return result;
        }
        pause = Some(pause.map_or(0, |power: u32| (power + 1).min(LONGEST_PAUSE)));
    }
}

/// Sleeps until `descriptor` is ready, or for so long.
fn wait(
    descriptor: Option<std::os::fd::BorrowedFd<'_>>,
    wanted: PollFlags,
    ending: Option<&UnixStream>,
    timeout: PollTimeout,
) -> io::Result<()> {
    let descriptor = descriptor.map(|descriptor| PollFd::new(descriptor, wanted));
    let ending = ending.map(|ending| PollFd::new(ending.as_fd(), PollFlags::POLLIN));
    let has_ending = ending.is_some();
    let mut asked: Vec<PollFd<'_>> = ending.into_iter().chain(descriptor).collect();
    match poll(&mut asked, timeout) {
        // It may be ready: the call says so.
        Err(Errno::EINTR) => return Ok(()),
        result => drop(result?),
    }
    match has_ending && asked[0].any() == Some(true) {
        true => Err(ended(CLOSED)),
        false => Ok(()),
    }
}

/// Hangs up when it is woken.
struct Line(UnixStream);

impl Wake for Line {
    fn wake(self: Arc<Self>) {
        // The other end is closed already if the wait is over.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Calls `f` with a descriptor that hangs up when the runtime of this thread ends, if it is in one.
fn told_of_the_end<R>(f: impl FnOnce(Option<&UnixStream>) -> io::Result<R>) -> io::Result<R> {
    let Some(ending) = context::ending() else {
        return f(None);
    };
    let (ours, theirs) = UnixStream::pair()?;
    let waker = Waker::from(Arc::new(Line(theirs)));
    let mut ending = pin!(ending.cancelled_owned());
    match ending.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
        true => Err(ended(CLOSED)),
        false => f(Some(&ours)),
    }
}

#[cfg(test)]
mod tests;
