//! Unix: a process, and what tells of its end.

mod orphan;
#[cfg(target_os = "linux")]
mod pidfd;
mod pipe;
mod reaper;
mod sigchld;

pub(super) use self::pipe::{Input, Output};

#[cfg(target_os = "linux")]
use self::pidfd::Exit;
#[cfg(not(target_os = "linux"))]
use self::sigchld::Exit;
use nix::libc;
use std::io;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll, ready};

/// A process whose end has not been seen.
pub(super) struct Process {
    child: Child,
    exit: Exit,
}

impl Process {
    /// Kills the child if there is no way of learning about its end.
    pub(super) fn new(mut child: Child) -> io::Result<Self> {
        reaper::look_after_the_rest();
        match Exit::of(&child) {
            Ok(exit) => Ok(Self { child, exit }),
            Err(error) => {
                // The error that is returned matters more than one of these two.
                let _ = child.kill();
                reaper::leave_child(child);
                Err(error)
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn kill(&mut self) -> io::Result<()> {
        match self.exit.kill(&mut self.child) {
            // It has ended, and other code has waited for it.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            result => result,
        }
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let result = ready!(self.exit.poll(&mut self.child, cx));
        reaper::look_after_the_rest();
        // A runtime that has ended reports nothing, but the child may have ended, too.
        Poll::Ready(result.or_else(|error| self.child.try_wait().ok().flatten().ok_or(error)))
    }

    /// No caller wants to know how it ends, but it must not stay in the system's table.
    pub(super) fn abandon(self) {
        orphan::adopt(self);
    }
}
