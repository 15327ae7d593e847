//! A process of the standard library whose end can be waited for: the door for the package named `tokio`,
//! which has a `Command` and pipes of its own.

use super::system::Process;
use crate::impls::impl_debug;
use std::io;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll};

/// A process that was started elsewhere. Dropped before its end, it is reaped all the same, also if its
/// runtime has ended before it.
pub struct Watched {
    /// `None` only while `drop` runs.
    process: Option<Process>,
}

impl Watched {
    /// Watches `child` with the current runtime.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if the end of a process cannot be observed; the child is
    /// then killed.
    ///
    /// # Panics
    ///
    /// Panics outside a runtime.
    #[track_caller]
    pub fn new(child: Child) -> io::Result<Self> {
        Ok(Self { process: Some(Process::new(child)?) })
    }

    fn process(&self) -> &Process {
        self.process.as_ref().expect("only `drop` takes the process out")
    }

    fn process_mut(&mut self) -> &mut Process {
        self.process.as_mut().expect("only `drop` takes the process out")
    }

    /// Returns the system's id of the process.
    pub fn id(&self) -> u32 {
        self.process().id()
    }

    /// Ends the process by force. One that has ended is no error.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process_mut().kill()
    }

    /// Returns how the process has ended, if it has.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.process_mut().try_wait()
    }

    /// Polls for the end of the process.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, and an error if the runtime has been shut down.
    pub fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        self.process_mut().poll_wait(cx)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            process.abandon();
        }
    }
}

impl_debug!([] Watched, this => "Watched" { id: this.id() });
