//! Pipes: bytes in one direction, within the machine. Unix only.
//!
//! [`pipe`] makes an unnamed one, for instance for the output of a child process; [`OpenOptions`] opens a
//! named one (FIFO), which `mkfifo` has made in the file system. A [`Sender`] is written through
//! [`AsyncWrite`](crate::io::AsyncWrite), a [`Receiver`] is read through [`AsyncRead`](crate::io::AsyncRead).
//!
//! The reader sees the end when all writers are gone, and a writer gets
//! [`BrokenPipe`](std::io::ErrorKind::BrokenPipe) when all readers are gone. That counts descriptors and not
//! ends: a child process that has inherited one keeps the pipe open.

mod end;
mod open;

pub use self::end::{Receiver, Sender};
pub use self::open::OpenOptions;

use crate::io::current_driver;
use nix::libc;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;

/// Makes an unnamed pipe.
///
/// # Errors
///
/// Returns the error of the operating system, such as too many open files.
///
/// # Panics
///
/// Panics if it is called outside a runtime.
///
/// # Examples
///
/// What a child process prints:
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::io::AsyncReadExt;
/// use liten::net::unix::pipe;
/// use std::process::Command;
///
/// let (sender, mut receiver) = pipe::pipe()?;
/// let mut child = Command::new("echo").arg("hello").stdout(sender.into_blocking_fd()?).spawn()?;
/// let mut printed = String::new();
/// receiver.read_to_string(&mut printed).await?;
/// assert_eq!(printed, "hello\n");
/// liten::spawn_blocking(move || child.wait()).await.expect("it does not panic")?;
/// # Ok(())
/// # })
/// # }
/// ```
#[track_caller]
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let driver = current_driver();
    let (sender, receiver) = mio::unix::pipe::new()?;
    Ok((Sender::adopt(&driver, sender)?, Receiver::adopt(&driver, receiver)?))
}

/// Which access mode an end of a pipe needs, beside reading and writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Sender,
    Receiver,
}

/// Refuses a descriptor that is no pipe, or that cannot be used as this end of one.
fn check(fd: OwnedFd, end: End) -> io::Result<OwnedFd> {
    let file = File::from(fd);
    check_is_pipe(&file)?;
    let flags = nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_GETFL)?;
    let (only, what) = match end {
        End::Sender => (libc::O_WRONLY, "the pipe is not open for writing"),
        End::Receiver => (libc::O_RDONLY, "the pipe is not open for reading"),
    };
    let mode = flags & libc::O_ACCMODE;
    if mode != only && mode != libc::O_RDWR {
        return Err(io::Error::new(ErrorKind::InvalidInput, what));
    }
    Ok(file.into())
}

fn check_is_pipe(file: &File) -> io::Result<()> {
    if file.metadata()?.file_type().is_fifo() {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "not a pipe"))
}

/// Takes `O_NONBLOCK` away.
fn set_blocking(fd: impl AsFd) -> io::Result<()> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    let flags = OFlag::from_bits_retain(fcntl(&fd, FcntlArg::F_GETFL)?);
    fcntl(&fd, FcntlArg::F_SETFL(flags - OFlag::O_NONBLOCK))?;
    Ok(())
}
