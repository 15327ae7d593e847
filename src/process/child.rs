//! `Child`: a process that was started.

use super::stdio::{ChildStderr, ChildStdin, ChildStdout, read_all};
use super::system::Process;
use futures_util::future::try_join3;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::process::{self, ExitStatus, Output};

/// A child process; made by [`Command::spawn`](super::Command::spawn).
///
/// Dropping it does not end the process, unless
/// [`kill_on_drop`](super::Command::kill_on_drop) was set; see the
/// [module](super#children-that-are-dropped) for what happens then.
#[must_use = "the process goes on without it, but how it ends is lost"]
pub struct Child {
    state: ChildState,
    kill_on_drop: bool,
    /// The pipe into the child, if stdin was set to be one. Take it out to use it apart from the child.
    pub stdin: Option<ChildStdin>,
    /// The pipe from the child's stdout, if it was set to be one.
    pub stdout: Option<ChildStdout>,
    /// The pipe from the child's stderr, if it was set to be one.
    pub stderr: Option<ChildStderr>,
}

enum ChildState {
    /// `None` only while `drop` runs.
    Running(Option<Process>),
    Ended(ExitStatus),
}

impl Child {
    pub(super) fn new(mut child: process::Child, kill_on_drop: bool) -> io::Result<Self> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Process::new(child)?;
        // From here on the drop looks after the process; it kills it if a pipe cannot be used.
        let state = ChildState::Running(Some(process));
        let mut this = Self { state, kill_on_drop: true, stdin: None, stdout: None, stderr: None };
        this.stdin = stdin.map(ChildStdin::from_std).transpose()?;
        this.stdout = stdout.map(ChildStdout::from_std).transpose()?;
        this.stderr = stderr.map(ChildStderr::from_std).transpose()?;
        this.kill_on_drop = kill_on_drop;
        Ok(this)
    }

    /// Returns the process's id; `None` once its end has been seen, because the system may give the id to
    /// another process then.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        match &self.state {
            ChildState::Running(process) => process.as_ref().map(Process::id),
            ChildState::Ended(_) => None,
        }
    }

    /// Waits until the process has ended, and returns its exit status; every time it is called.
    ///
    /// Closes [`stdin`](Self::stdin) first, if it has not been taken out, so that a child that reads to the
    /// end is not waited for in vain. A child that writes to a pipe which no process reads does not end: see
    /// [`wait_with_output`](Self::wait_with_output).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the status is not lost. Stdin stays closed.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime in which the process was started has been shut down and the process
    /// has not ended; and the error of the operating system if it knows nothing of the child, as is the case
    /// if the program ignores `SIGCHLD` or something else in it waits for all children.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(unix)]
    /// # liten::block_on(async {
    /// let mut child = liten::process::Command::new("sh").args(["-c", "exit 3"]).spawn()?;
    /// assert_eq!(child.wait().await?.code(), Some(3));
    /// # std::io::Result::Ok(())
    /// # }).unwrap();
    /// ```
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        match &mut self.state {
            ChildState::Ended(status) => Ok(*status),
            ChildState::Running(process) => {
                let status = poll_fn(|cx| running(process).poll_wait(cx)).await?;
                self.state = ChildState::Ended(status);
                Ok(status)
            }
        }
    }

    /// Returns the exit status if the process has ended, without waiting.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if it knows nothing of the child.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match &mut self.state {
            ChildState::Ended(status) => Ok(Some(*status)),
            ChildState::Running(process) => {
                let status = running(process).try_wait()?;
                if let Some(status) = status {
                    self.state = ChildState::Ended(status);
                }
                Ok(status)
            }
        }
    }

    /// Kills the process and waits for its end. It is no error if it has ended already.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the process is killed with the first poll, and can be waited for again.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start_kill`](Self::start_kill) and [`wait`](Self::wait).
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await.map(drop)
    }

    /// Kills the process (`SIGKILL` on Unix) without waiting for its end. It is no error if it has ended
    /// already.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, for instance if the process runs as another user now.
    pub fn start_kill(&mut self) -> io::Result<()> {
        match &mut self.state {
            ChildState::Running(process) => running(process).kill(),
            ChildState::Ended(_) => Ok(()),
        }
    }

    /// Waits until the process has ended, and returns its exit status and all that it writes to those of
    /// stdout and stderr that are pipes and have not been taken out.
    ///
    /// Closes [`stdin`](Self::stdin) first, if it has not been taken out. It waits for the end of the pipes,
    /// too, which a grandchild may hold open for longer than the child lives.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: what was read is lost, and the child is dropped.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`wait`](Self::wait) and of reading the pipes.
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        let (mut stdout, mut stderr) = (self.stdout.take(), self.stderr.take());
        let written = read_all(stdout.as_mut().map(|stdout| &mut stdout.pipe));
        let errors = read_all(stderr.as_mut().map(|stderr| &mut stderr.pipe));
        let (status, stdout, stderr) = try_join3(self.wait(), written, errors).await?;
        Ok(Output { status, stdout, stderr })
    }
}

fn running(process: &mut Option<Process>) -> &mut Process {
    process.as_mut().expect("only `drop` takes the process out")
}

impl Drop for Child {
    fn drop(&mut self) {
        let ChildState::Running(process) = &mut self.state else { return };
        if let Some(mut process) = process.take() {
            if self.kill_on_drop {
                // No caller is left that could be told of an error.
                let _ = process.kill();
            }
            process.abandon();
        }
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut child = f.debug_struct("Child");
        match &self.state {
            ChildState::Running(_) => child.field("id", &self.id()),
            ChildState::Ended(status) => child.field("status", status),
        };
        child.finish_non_exhaustive()
    }
}
