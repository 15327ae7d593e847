//! `SIGCHLD`: some child has ended; each that is waited for has to be asked whether it was that one.

use crate::engine::ended::ended;
use crate::signal::unix::{Signal, SignalKind, signal};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll};

pub(super) struct Exit(Signal);

impl Exit {
    pub(super) fn of(_child: &Child) -> io::Result<Self> {
        signal(SignalKind::child()).map(Self)
    }

    /// For the same child, by the current runtime.
    pub(super) fn moved(&self, child: &Child) -> io::Result<Self> {
        Self::of(child)
    }

    pub(super) fn kill(&self, child: &mut Child) -> io::Result<()> {
        child.kill()
    }

    pub(super) fn try_wait(&self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        child.try_wait()
    }

    /// There is none.
    pub(super) fn into_descriptor(self) -> Option<OwnedFd> {
        None
    }

    /// The listener takes the waker first, then the child is asked: one that ends after the question has
    /// its signal come after the waker, and one that ended before answers.
    pub(super) fn poll(
        &mut self,
        child: &mut Child,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<ExitStatus>> {
        let listening = loop {
            match self.0.poll_recv(cx) {
                Poll::Ready(Some(())) => {}
                Poll::Ready(None) => break false,
                Poll::Pending => break true,
            }
        };
        match child.try_wait() {
            Ok(None) if listening => Poll::Pending,
            Ok(None) => {
                let text = "the runtime in which the child was started has been shut down";
                Poll::Ready(Err(ended(text)))
            }
            Ok(Some(status)) => Poll::Ready(Ok(status)),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}
