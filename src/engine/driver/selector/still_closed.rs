//! Linux: which sides of a source have come to their end, as the system reports it now.
//!
//! `poll` reports a state, where epoll as it is used here reports changes. What the flags mean depends on the
//! kind of source; `ERR` and a `HUP` alone are no end everywhere:
//!
//! | source | its read side has ended | its write side has ended |
//! |---|---|---|
//! | socket of a stream | `RDHUP` (`HUP` alone: it is not connected yet) | `HUP` and `RDHUP` |
//! | any other socket | never: its reads would block also after a shutdown | `HUP` |
//! | pipe | `HUP` | `ERR` |
//! | anything else, such as a terminal | `HUP` | `HUP` |
//!
//! On a socket `ERR` says that there is an error to be fetched, and on a device it may be anything.
#![allow(unsafe_code)]

use crate::engine::driver::readiness::{Direction, Ready};
use nix::errno::Errno;
use nix::libc::{self, POLLERR, POLLHUP, POLLNVAL, POLLRDHUP, c_int, c_short};
use std::mem::MaybeUninit;

/// The kind of a source, which decides what its flags mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Stream,
    OtherSocket,
    Pipe,
    Other,
}

impl Kind {
    /// The ends that the flags report by the table above.
    fn ended(self, flags: c_short) -> Ready {
        let has = |flag: c_short| flags & flag == flag;
        let (read, write) = match self {
            Self::Stream => (has(POLLRDHUP), has(POLLHUP | POLLRDHUP)),
            Self::OtherSocket => (false, has(POLLHUP)),
            Self::Pipe => (has(POLLHUP), has(POLLERR)),
            Self::Other => (has(POLLHUP), has(POLLHUP)),
        };
        let mut ended = Ready::EMPTY;
        for (has_ended, direction) in [(read, Direction::Read), (write, Direction::Write)] {
            if has_ended {
                ended |= direction.closed();
            }
        }
        ended
    }
}

/// The closed bits that the system would report of `descriptor` now. `None`: it does not say.
pub(in crate::engine::driver) fn still_closed(descriptor: i32) -> Option<Ready> {
    let flags = flags(descriptor)?;
    // Most often there is none of them, and the kind does not matter.
    if flags & (POLLERR | POLLHUP | POLLRDHUP) == 0 {
        return Some(Ready::EMPTY);
    }
    Some(kind(descriptor)?.ended(flags))
}

fn flags(descriptor: i32) -> Option<c_short> {
    let mut asked = libc::pollfd { fd: descriptor, events: POLLRDHUP, revents: 0 };
    // SAFETY: the pointer is to one structure, as is said with it. The call does not wait.
    let answered = unsafe { libc::poll(&raw mut asked, 1, 0) };
    Errno::result(answered).ok()?;
    (asked.revents & POLLNVAL == 0).then_some(asked.revents)
}

fn kind(descriptor: i32) -> Option<Kind> {
    let mut kind: c_int = 0;
    let mut length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: both pointers are to variables that are alive, and the second one says how large the first is.
    let asked = unsafe {
        libc::getsockopt(
            descriptor,
            libc::SOL_SOCKET,
            libc::SO_TYPE,
            (&raw mut kind).cast(),
            &raw mut length,
        )
    };
    match Errno::result(asked) {
        Ok(_) if matches!(kind, libc::SOCK_STREAM | libc::SOCK_SEQPACKET) => Some(Kind::Stream),
        Ok(_) => Some(Kind::OtherSocket),
        Err(Errno::ENOTSOCK) => Some(if is_pipe(descriptor)? { Kind::Pipe } else { Kind::Other }),
        Err(_) => None,
    }
}

fn is_pipe(descriptor: i32) -> Option<bool> {
    let mut told = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the pointer is to room for what the system writes there.
    let asked = unsafe { libc::fstat(descriptor, told.as_mut_ptr()) };
    Errno::result(asked).ok()?;
    // SAFETY: the call has succeeded, so it has written all of it.
    let told = unsafe { told.assume_init() };
    Some(told.st_mode & libc::S_IFMT == libc::S_IFIFO)
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
