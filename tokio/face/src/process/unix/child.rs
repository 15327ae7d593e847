//! A child process whose end liten tells.

use super::super::kill::Kill;
use super::super::SpawnedChild;
use super::stdio;
use liten::process::Watched;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::process::{Child as StdChild, ExitStatus};
use std::task::{Context, Poll};

#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub(crate) struct Child(Watched);

/// Panics at the caller if the thread is in no runtime, or in one without I/O.
#[track_caller]
pub(crate) fn build_child(mut child: StdChild) -> io::Result<SpawnedChild> {
    crate::runtime::context::assert_io();
    let stdin = child.stdin.take().map(stdio).transpose()?;
    let stdout = child.stdout.take().map(stdio).transpose()?;
    let stderr = child.stderr.take().map(stdio).transpose()?;
    Ok(SpawnedChild { child: Child(Watched::new(child)?), stdin, stdout, stderr })
}

impl Child {
    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }
}

impl Kill for Child {
    fn kill(&mut self) -> io::Result<()> {
        self.0.kill()
    }
}

impl Future for Child {
    type Output = io::Result<ExitStatus>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_wait(cx)
    }
}
