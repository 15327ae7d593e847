//! Linux: a descriptor that becomes readable when the process ends. `SIGCHLD` where the system gives none.
//!
//! It gives none before Linux 5.3, in some sandboxes, and when there are too many descriptors; the last is
//! no reason for an error either.
//!
//! Neither std nor nix has the two calls, and rustix, which has them, would be a second way to the system and
//! two more crates in the build.
#![allow(unsafe_code)]

use super::sigchld;
use crate::engine::driver::readiness::Direction;
use crate::io::{Async, Fd, Interest};
use nix::errno::Errno;
use nix::libc::{self, SYS_pidfd_open, SYS_pidfd_send_signal};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::process::{Child, ExitStatus};
use std::ptr;
use std::task::{Context, Poll};

pub(super) enum Exit {
    Descriptor(Async<Fd<OwnedFd>>),
    Signal(sigchld::Exit),
}

impl Exit {
    /// Only this crate waits for the child, so its id is not another process's.
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        let registered = open(child)
            .map_err(io::Error::from)
            .and_then(|fd| Async::with_interest(Fd::new(fd), Interest::READABLE));
        match registered {
            Ok(fd) => Ok(Self::Descriptor(fd)),
            Err(_) => sigchld::Exit::of(child).map(Self::Signal),
        }
    }

    /// Through the descriptor: if other code of the program has waited for the child, its id may be
    /// another process's by now.
    pub(super) fn kill(&self, child: &mut Child) -> io::Result<()> {
        match self {
            Self::Signal(exit) => exit.kill(child),
            Self::Descriptor(fd) => match kill(fd.as_fd()) {
                // A sandbox may allow the one call and not the other.
                Err(Errno::ENOSYS | Errno::EPERM) => child.kill(),
                result => Ok(result?),
            },
        }
    }

    /// The descriptor, if there is one, out of the driver that has reported it.
    pub(super) fn into_descriptor(self) -> Option<OwnedFd> {
        match self {
            Self::Signal(exit) => exit.into_descriptor(),
            Self::Descriptor(fd) => fd.into_inner().ok().map(Fd::into_inner),
        }
    }

    /// A child that has ended before the first poll is found then, because a new source is assumed to be
    /// ready; one that ends later makes the descriptor readable.
    pub(super) fn poll(
        &mut self,
        child: &mut Child,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<ExitStatus>> {
        match self {
            Self::Signal(exit) => exit.poll(child, cx),
            Self::Descriptor(fd) => fd.poll_io(cx, Direction::Read, |_| {
                child.try_wait()?.ok_or_else(|| ErrorKind::WouldBlock.into())
            }),
        }
    }
}

const NO_FLAGS: libc::c_uint = 0;

fn open(child: &Child) -> nix::Result<OwnedFd> {
    let id = child.id() as libc::pid_t;
    // SAFETY: the call takes no pointers.
    let fd = Errno::result(unsafe { libc::syscall(SYS_pidfd_open, id, NO_FLAGS) })?;
    // SAFETY: the system has made it for us just now.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

fn kill(process: BorrowedFd<'_>) -> nix::Result<()> {
    let (fd, no_details) = (process.as_raw_fd(), ptr::null::<libc::siginfo_t>());
    // SAFETY: without details the system fills them in, as for `kill`; there is no other pointer.
    let sent =
        unsafe { libc::syscall(SYS_pidfd_send_signal, fd, libc::SIGKILL, no_details, NO_FLAGS) };
    Errno::result(sent).map(drop)
}
