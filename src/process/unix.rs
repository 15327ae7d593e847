//! Unix: a process, and what tells of its end.

mod orphan;
#[cfg(target_os = "linux")]
mod pidfd;
mod pipe;
mod reaper;
mod sigchld;

pub(super) use self::pipe::{Input, Output};

#[cfg(target_os = "linux")]
use self::pidfd::{Exit, try_wait as try_wait_through};
#[cfg(not(target_os = "linux"))]
use self::sigchld::Exit;
use crate::engine::ended::is_rt_shutdown_err;
use crate::runtime::context;
use nix::libc;
use std::io;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll, ready};

/// No child has a descriptor.
#[cfg(not(target_os = "linux"))]
fn try_wait_through(
    _: std::os::fd::BorrowedFd<'_>,
    child: &mut Child,
) -> io::Result<Option<ExitStatus>> {
    child.try_wait()
}

/// A process that was started, and at the end how it has ended.
pub(super) struct Process {
    child: Child,
    exit: Exit,
    /// Of a child that is reaped. The system tells it once, and the door for the package named `tokio` asks
    /// again.
    status: Option<ExitStatus>,
}

impl Process {
    /// Kills the child if there is no way of learning about its end.
    pub(super) fn new(mut child: Child) -> io::Result<Self> {
        reaper::look_after_the_rest();
        match Exit::of(&child) {
            Ok(exit) => Ok(Self { child, exit, status: None }),
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
        if self.status.is_some() {
            return Ok(());
        }
        match self.exit.kill(&mut self.child) {
            // It has ended, and other code has waited for it.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            result => result,
        }
    }

    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.exit.try_wait(&mut self.child)?;
        }
        Ok(self.status)
    }

    /// If the runtime that has told of the end so far has ended, and this is called in another one, that one
    /// tells from now on.
    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        match ready!(self.poll_here(cx)) {
            Err(error) if is_rt_shutdown_err(&error) && context::is_inside() => {
                match self.exit.moved(&self.child) {
                    Ok(exit) => self.exit = exit,
                    // This runtime has ended, too, or there is no descriptor left.
                    Err(_) => return Poll::Ready(Err(error)),
                }
                self.poll_here(cx)
            }
            result => Poll::Ready(result),
        }
    }

    /// As [`poll_wait`](Self::poll_wait), by the runtime that has told of the end so far.
    fn poll_here(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        if let Some(status) = self.status {
            return Poll::Ready(Ok(status));
        }
        let result = ready!(self.exit.poll(&mut self.child, cx));
        self.status = result.as_ref().ok().copied();
        reaper::look_after_the_rest();
        // A runtime that has ended reports nothing, but the child may have ended, too.
        Poll::Ready(result.or_else(|error| self.try_wait().ok().flatten().ok_or(error)))
    }

    /// No caller wants to know how it ends, but it must not stay in the system's table.
    pub(super) fn abandon(mut self) {
        // One that has ended is reaped at once: the runtime may not fetch the event before its next call of
        // `block_on`.
        if !matches!(self.try_wait(), Ok(Some(_))) {
            orphan::adopt(self);
        }
    }
}
