//! `OpenOptions`: named pipes.

use super::{End, Receiver, Sender, check_is_pipe};
use nix::libc;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How a named pipe (FIFO) is opened.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::AsyncReadExt;
/// use liten::net::unix::pipe;
///
/// let mut receiver = pipe::OpenOptions::new().open_receiver("/run/orders")?;
/// let mut order = [0; 64];
/// let n = receiver.read(&mut order).await?;
/// # let _ = n;
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    read_write: bool,
    unchecked: bool,
}

impl OpenOptions {
    /// Makes options of which none is set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens the pipe for both reading and writing, so that it stays open when the other side goes: a
    /// receiver then never sees the end, and a sender can be opened before there is a receiver.
    ///
    /// This is an extension of Linux; on other systems the outcome is not specified.
    pub fn read_write(&mut self, on: bool) -> &mut Self {
        self.read_write = on;
        self
    }

    /// Skips the check that the file is a pipe.
    ///
    /// Other pollable files may then work as well. A regular file does not: the operating system refuses to
    /// poll it.
    pub fn unchecked(&mut self, on: bool) -> &mut Self {
        self.unchecked = on;
        self
    }

    /// Opens the receiving end of the pipe at `path`, whether or not there is a sender.
    ///
    /// Before the first sender has come, reading returns the end; see [`read_write`](Self::read_write).
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) if the file is no pipe, otherwise the error of
    /// the operating system.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn open_receiver<P: AsRef<Path>>(&self, path: P) -> io::Result<Receiver> {
        // Not in a closure, which has no caller for the panic to point at.
        let file = self.open(path.as_ref(), End::Receiver)?;
        Receiver::from_file_unchecked(file)
    }

    /// Opens the sending end of the pipe at `path`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) if the file is no pipe, otherwise the error of
    /// the operating system: `ENXIO` (no such device or address) if no process has opened the receiving end.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn open_sender<P: AsRef<Path>>(&self, path: P) -> io::Result<Sender> {
        let file = self.open(path.as_ref(), End::Sender)?;
        Sender::from_file_unchecked(file)
    }

    fn open(&self, path: &Path, end: End) -> io::Result<File> {
        let file = fs::OpenOptions::new()
            .read(self.read_write || end == End::Receiver)
            .write(self.read_write || end == End::Sender)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)?;
        if !self.unchecked {
            check_is_pipe(&file)?;
        }
        Ok(file)
    }
}
