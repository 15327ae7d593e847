//! Linux: a descriptor that becomes readable when the process ends. `SIGCHLD` where the system gives none.
//!
//! It gives none before Linux 5.3, in some sandboxes, and when there are too many descriptors; the last is
//! no reason for an error either.

use super::sigchld;
use crate::driver::readiness::Direction;
use crate::io::{Async, Fd, Interest};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll};

pub(super) enum Exit {
    Descriptor(Async<Fd<OwnedFd>>),
    Signal(sigchld::Exit),
}

impl Exit {
    /// Nobody but us waits for the child, so its id is not another process's.
    pub(super) fn of(child: &Child) -> io::Result<Self> {
        let opened = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
        let registered = opened
            .map_err(io::Error::from)
            .and_then(|fd| Async::with_interest(Fd::new(fd), Interest::READABLE));
        match registered {
            Ok(fd) => Ok(Self::Descriptor(fd)),
            Err(_) => sigchld::Exit::of(child).map(Self::Signal),
        }
    }

    /// Through the descriptor: if somebody else in the program has waited for the child, its id may be
    /// another process's by now.
    pub(super) fn kill(&self, child: &mut Child) -> io::Result<()> {
        match self {
            Self::Signal(exit) => exit.kill(child),
            Self::Descriptor(fd) => match pidfd_send_signal(fd.get_ref(), Signal::KILL) {
                // A sandbox may allow the one call and not the other.
                Err(Errno::NOSYS | Errno::PERM) => child.kill(),
                result => Ok(result?),
            },
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
