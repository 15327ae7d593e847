//! `Command`: what to start, and how.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use super::child::Child;
use crate::impls::setters;
use crate::io::current_driver;
use crate::task::before_process;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{self, ExitStatus, Output, Stdio};

/// To be called before std starts a process, which inherits the slices of the processor of this thread.
#[doc(hidden)]
pub fn before_spawn() {
    before_process();
}

/// A program to be started: the builder of the standard library, with asynchronous ends.
///
/// # Examples
///
/// ```
/// # #[cfg(unix)]
/// # liten::block_on(async {
/// use liten::process::Command;
///
/// let output = Command::new("echo").arg("hello").output().await?;
/// assert_eq!(output.stdout, b"hello\n");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Command {
    std: process::Command,
    kill_on_drop: bool,
}

impl Command {
    /// Returns a command that starts `program`, which is searched for in `PATH` if it is no path.
    ///
    /// By default it has no arguments, inherits the environment, the current directory, and stdin, stdout and
    /// stderr (except with [`output`](Self::output)), and is not killed when it is dropped.
    pub fn new<S: AsRef<OsStr>>(program: S) -> Self {
        process::Command::new(program).into()
    }

    /// Returns the command of the standard library, for instance to read what has been set.
    pub fn as_std(&self) -> &process::Command {
        &self.std
    }

    /// Returns the command of the standard library, for options that have no method here.
    pub fn as_std_mut(&mut self) -> &mut process::Command {
        &mut self.std
    }

    /// Turns it into a command of the standard library; [`kill_on_drop`](Self::kill_on_drop) is lost.
    pub fn into_std(self) -> process::Command {
        self.std
    }

    setters! {
        |this|
        /// Adds an argument.
        arg[S: AsRef<OsStr>](arg: S) => this.std.arg(arg);

        /// Adds several arguments.
        args[I: IntoIterator<Item = S>, S: AsRef<OsStr>](args: I) => this.std.args(args);

        /// Sets an environment variable of the child.
        env[K: AsRef<OsStr>, V: AsRef<OsStr>](key: K, value: V) => this.std.env(key, value);

        /// Sets several environment variables of the child.
        envs[I: IntoIterator<Item = (K, V)>, K: AsRef<OsStr>, V: AsRef<OsStr>]
            (variables: I) => this.std.envs(variables);

        /// Keeps the child from having an environment variable.
        env_remove[K: AsRef<OsStr>](key: K) => this.std.env_remove(key);

        /// Keeps the child from inheriting any environment variable.
        env_clear() => this.std.env_clear();

        /// Sets the child's current directory.
        current_dir[P: AsRef<Path>](directory: P) => this.std.current_dir(directory);

        /// Sets what the child reads from: [`Stdio::piped`] gives [`Child::stdin`]; another child's output
        /// goes in with `Stdio::try_from`.
        stdin[T: Into<Stdio>](stdin: T) => this.std.stdin(stdin);

        /// Sets what the child writes to: [`Stdio::piped`] gives [`Child::stdout`].
        stdout[T: Into<Stdio>](stdout: T) => this.std.stdout(stdout);

        /// Sets what the child writes its errors to: [`Stdio::piped`] gives [`Child::stderr`].
        stderr[T: Into<Stdio>](stderr: T) => this.std.stderr(stderr);

        /// Sets whether the child is killed when its [`Child`], or a future of [`status`](Self::status) or
        /// [`output`](Self::output), is dropped before its end was seen. By default it is not.
        kill_on_drop(kill: bool) => this.kill_on_drop = kill;
    }

    /// Returns what [`kill_on_drop`](Self::kill_on_drop) was set to.
    #[must_use]
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Starts the program and returns a handle to it. May be called again, for another one.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system, with its [`raw_os_error`](io::Error::raw_os_error):
    /// [`NotFound`](io::ErrorKind::NotFound) if the program, or its current directory, does not exist; others
    /// if it gives no process, or no descriptor for its pipes and its end. An error too if the runtime has
    /// been shut down. If the process had been started by then, it is killed.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        // Before there is a process that would have to be taken back.
        drop(current_driver());
        before_spawn();
        // Not with the program's name around it: an error of the system's own has its number only as it is.
        Child::new(self.std.spawn()?, self.kill_on_drop)
    }

    /// Starts the program at once and returns a future of its exit status.
    ///
    /// Pipes that have been asked for are closed.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped the child goes on, unless [`kill_on_drop`](Self::kill_on_drop) is set.
    ///
    /// # Errors
    ///
    /// The future returns the errors of [`spawn`](Self::spawn) and [`Child::wait`].
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn();
        async {
            let mut child = child?;
            drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts the program at once and returns a future of its exit status and of all that it writes to stdout
    /// and stderr.
    ///
    /// Both become pipes, whatever was set before; stdin stays as it was set.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped what was read is lost, and the child goes on, unless
    /// [`kill_on_drop`](Self::kill_on_drop) is set.
    ///
    /// # Errors
    ///
    /// The future returns the errors of [`spawn`](Self::spawn) and [`Child::wait_with_output`].
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn output(&mut self) -> impl Future<Output = io::Result<Output>> + use<> {
        self.std.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn();
        async { child?.wait_with_output().await }
    }
}

impl From<process::Command> for Command {
    fn from(std: process::Command) -> Self {
        Self { std, kill_on_drop: false }
    }
}
