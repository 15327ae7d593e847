//! Linux: a descriptor that becomes readable when the process ends. `SIGCHLD` where the system gives none.
//!
//! It gives none before Linux 5.3, in some sandboxes, and when there are too many descriptors; the last is
//! no reason for an error either.
//!
//! Neither std nor nix has the two calls, and rustix, which has them, would be a second way to the system and
//! two more crates in the build.
//!
//! # Which process it is
//!
//! Other code of the program may wait for any child (`waitpid(-1)`), also for this one. Then its id is free,
//! and may be another child's by now. The descriptor still means the process that it was opened for. So each
//! question and each signal goes through the descriptor; the answer is then that there is no such child.
//!
//! What is left: the descriptor is opened by the id, just after the child was started. And a system may know
//! the descriptor but not the call, such as Linux 5.3, which cannot wait by it. Then the id has to do, as it
//! has to without a descriptor.
#![allow(unsafe_code)]

use super::sigchld;
use crate::engine::driver::readiness::Direction;
use crate::io::{Async, Fd, Interest};
use nix::errno::Errno;
use nix::libc::{self, SYS_pidfd_open, SYS_pidfd_send_signal};
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::ptr;
use std::task::{Context, Poll};

pub(super) enum Exit {
    Descriptor(Async<Fd<OwnedFd>>),
    Signal(sigchld::Exit),
}

impl Exit {
    /// For a child that was started just now.
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        let registered = open(child)
            .map_err(io::Error::from)
            .and_then(|fd| Async::with_interest(Fd::new(fd), Interest::READABLE));
        match registered {
            Ok(fd) => Ok(Self::Descriptor(fd)),
            Err(_) => sigchld::Exit::of(child).map(Self::Signal),
        }
    }

    /// For the same child, by the current runtime.
    pub(super) fn moved(&self, child: &Child) -> io::Result<Self> {
        match self {
            Self::Signal(exit) => exit.moved(child).map(Self::Signal),
            Self::Descriptor(fd) => {
                let fd = fd.get_ref().as_fd().try_clone_to_owned()?;
                Async::with_interest(Fd::new(fd), Interest::READABLE).map(Self::Descriptor)
            }
        }
    }

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

    /// Reaps the child if it has ended.
    pub(super) fn try_wait(&self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        match self {
            Self::Signal(exit) => exit.try_wait(child),
            Self::Descriptor(fd) => try_wait(fd.as_fd(), child),
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
            Self::Descriptor(fd) => fd.poll_io(cx, Direction::Read, |fd| {
                try_wait(fd.as_fd(), child)?.ok_or_else(|| ErrorKind::WouldBlock.into())
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

/// As [`Child::try_wait`], for the process of the descriptor. `child` does not notice.
pub(super) fn try_wait(
    process: BorrowedFd<'_>,
    child: &mut Child,
) -> io::Result<Option<ExitStatus>> {
    let mut told = MaybeUninit::<libc::siginfo_t>::zeroed();
    let (id, flags) = (process.as_raw_fd() as libc::id_t, libc::WEXITED | libc::WNOHANG);
    // SAFETY: the pointer is to room for what the system writes there.
    let waited = unsafe { libc::waitid(libc::P_PIDFD, id, told.as_mut_ptr(), flags) };
    match Errno::result(waited) {
        // The call does not know descriptors, or a sandbox does not allow it.
        Err(Errno::EINVAL | Errno::ENOSYS | Errno::EPERM) => return child.try_wait(),
        result => drop(result?),
    }
    // SAFETY: zeros are a value of it, and the system writes the whole of another one, or nothing.
    let told = unsafe { told.assume_init() };
    // SAFETY: zero, or what the system has written about a child.
    let (id, status) = unsafe { (told.si_pid(), told.si_status()) };
    if id == 0 {
        return Ok(None);
    }
    // As `wait` would tell it. One that has not exited was ended by a signal.
    let status = match told.si_code {
        libc::CLD_EXITED => (status & 0xff) << 8,
        libc::CLD_DUMPED => status | 0x80,
        _ => status,
    };
    Ok(Some(ExitStatus::from_raw(status)))
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
