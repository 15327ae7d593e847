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
//! # How a wait learns of the end
//!
//! A waker is left with the latch of the runtime, and hangs up a socket that `poll` watches beside the
//! descriptor. The end cannot come unnoticed between the two: a hang-up is a state and not an event. It
//! stays, and `poll` reports it also if it came before the call.
//!
//! The socket takes two descriptors. A program that has none left can read all the same: `poll` then returns
//! after each 64 milliseconds, and the latch is asked.
//!
//! # When `poll` is wrong
//!
//! It may say that a descriptor is ready, and the next call may say `WouldBlock` all the same: another
//! process was faster, a lock of a part of the file is in the way, or the device knows no `poll`. So such
//! rounds pause, first for a millisecond and then for longer, and the thread takes no processor from
//! others. A signal that ends `poll` says nothing about the descriptor, so `poll` is repeated and no round is
//! counted.
//!
//! Rejected: to put the descriptor back into blocking mode, which the other processes do not expect; and to
//! register it with the driver, because a runtime without workers polls only while a thread is in `block_on`.

use crate::engine::ended::ended;
use crate::observe::spare_descriptors::is_lacking;
use crate::runtime::blocking_task::CLOSED;
use crate::runtime::context;
use crate::runtime::latch::Latch;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
/// What can be waited for.
pub use std::os::fd::AsFd as Waitable;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

/// The pauses are of 1, 2, 4, … milliseconds, and at most of this power of two.
const LONGEST_PAUSE: u32 = 6;

/// How many milliseconds a wait lasts that can only ask whether the runtime has ended.
const ROUND: u16 = 64;

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

/// As [`read`], of a descriptor in whatever mode: no call waits in the system, so that the end of the runtime
/// ends each wait. For what has no buffer of its own, because `poll` knows nothing of the bytes in one.
///
/// # Errors
///
/// As [`read`].
pub fn read_when_ready(source: &mut (impl Read + Waitable), buf: &mut [u8]) -> io::Result<usize> {
    let wanted = PollFlags::POLLIN;
    let is_ready = wait(Some(source.as_fd()), wanted, Ending::Ignored, PollTimeout::ZERO)?;
    if is_ready || returns_at_once(source.as_fd()) {
        return read(source, buf);
    }
    told_of_the_end(|ending| patiently(source, wanted, ending, |source| source.read(buf)))
}

/// Whether a read returns although `poll` reports nothing: of what is open for writing only, with an error;
/// in non-blocking mode also of a pipe that has no writer yet, with the end.
///
/// Rejected: terminals whose reads need no bytes (`VMIN` of 0). The other end of a pseudoterminal answers for
/// the terminal, and its own reads need some.
fn returns_at_once(descriptor: BorrowedFd<'_>) -> bool {
    let flags = fcntl(descriptor, FcntlArg::F_GETFL).map(OFlag::from_bits_retain);
    flags.is_ok_and(|flags| {
        flags.contains(OFlag::O_NONBLOCK) || flags & OFlag::O_ACCMODE == OFlag::O_WRONLY
    })
}

/// Writes some bytes, as a blocking write does.
///
/// # Errors
///
/// The error of the write other than `WouldBlock` and `Interrupted`.
pub fn write(to: &mut (impl Write + Waitable), bytes: &[u8]) -> io::Result<usize> {
    once(|| to.write(bytes))
        .unwrap_or_else(|| patiently(to, PollFlags::POLLOUT, Ending::Ignored, |to| to.write(bytes)))
}

/// Writes all that follows the first `written` bytes, as a blocking write does, and counts it. Bytes that can
/// never be written, because they are too long for one message of a socket, count too: the caller would try
/// them for ever.
///
/// # Errors
///
/// As [`write`]; [`WriteZero`](ErrorKind::WriteZero) if a write takes nothing.
pub fn write_all(
    to: &mut (impl Write + Waitable),
    bytes: &[u8],
    written: &mut usize,
) -> io::Result<()> {
    while *written < bytes.len() {
        match write(to, &bytes[*written..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => *written += count,
            Err(error) => {
                if error.raw_os_error() == Some(Errno::EMSGSIZE as i32) {
                    *written = bytes.len();
                }
                return Err(error);
            }
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
    once(|| to.flush())
        .unwrap_or_else(|| patiently(to, PollFlags::POLLOUT, Ending::Ignored, |to| to.flush()))
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

/// How a wait learns that the runtime of its thread has ended.
#[derive(Clone, Copy)]
enum Ending<'a> {
    /// It does not.
    Ignored,
    /// The socket hangs up.
    Line(&'a UnixStream),
    /// The latch is asked after each round.
    Asked(&'a Latch),
}

impl<'a> Ending<'a> {
    fn line(self) -> Option<&'a UnixStream> {
        match self {
            Self::Line(line) => Some(line),
            Self::Ignored | Self::Asked(_) => None,
        }
    }

    /// How long one `poll` for a descriptor may take.
    fn round(self) -> PollTimeout {
        match self {
            Self::Asked(_) => ROUND.into(),
            Self::Ignored | Self::Line(_) => PollTimeout::NONE,
        }
    }
}

/// Waits before each `call` until `descriptor` is ready for it; gives up when `ending` has come.
fn patiently<D: AsFd, R>(
    descriptor: &mut D,
    wanted: PollFlags,
    ending: Ending<'_>,
    mut call: impl FnMut(&mut D) -> io::Result<R>,
) -> io::Result<R> {
    let mut pause = None;
    loop {
        while !wait(Some(descriptor.as_fd()), wanted, ending, ending.round())? {}
        if let Some(power) = pause {
            wait(None, wanted, ending, PollTimeout::from(1_u16 << power))?;
        }
        if let Some(result) = once(|| call(descriptor)) {
            return result;
        }
        pause = Some(pause.map_or(0, |power: u32| (power + 1).min(LONGEST_PAUSE)));
    }
}

/// Sleeps until `descriptor` is ready, a signal comes, or so long. Returns whether it is ready, for all that
/// is known.
fn wait(
    descriptor: Option<BorrowedFd<'_>>,
    wanted: PollFlags,
    ending: Ending<'_>,
    timeout: PollTimeout,
) -> io::Result<bool> {
    let line = ending.line().map(|line| PollFd::new(line.as_fd(), PollFlags::POLLIN));
    let descriptor = descriptor.map(|descriptor| PollFd::new(descriptor, wanted));
    let mut asked: Vec<PollFd<'_>> = line.into_iter().chain(descriptor).collect();
    let is_ready = match poll(&mut asked, timeout) {
        // The call has written nothing into `asked`.
        Err(Errno::EINTR) => false,
        result => result? > 0,
    };
    let has_ended = match ending {
        Ending::Ignored => false,
        Ending::Line(_) => is_ready && asked[0].any() == Some(true),
        Ending::Asked(latch) => latch.is_set(),
    };
    if has_ended { Err(ended(CLOSED)) } else { Ok(is_ready) }
}

/// Hangs up when it is woken.
struct Line(UnixStream);

impl Wake for Line {
    fn wake(self: Arc<Self>) {
        // The other end is closed already if the wait is over.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// Calls `f` with what tells it that the runtime of this thread ends, if it is in one.
fn told_of_the_end<R>(f: impl FnOnce(Ending<'_>) -> io::Result<R>) -> io::Result<R> {
    let Some(ending) = context::ending() else {
        return f(Ending::Ignored);
    };
    let (ours, theirs) = match UnixStream::pair() {
        Err(error) if is_lacking(&error) => return f(Ending::Asked(&ending)),
        pair => pair?,
    };
    let waker = Waker::from(Arc::new(Line(theirs)));
    let mut ending = pin!(ending.wait());
    match ending.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
        true => Err(ended(CLOSED)),
        false => f(Ending::Line(&ours)),
    }
}

#[cfg(test)]
mod tests;
