//! Child processes: starting them, talking to them through pipes, waiting for their end.
//!
//! [`Command`] is the standard library's builder with asynchronous ends: [`Command::output`] runs a program
//! and collects what it writes, [`Command::status`] only waits for it, [`Command::spawn`] returns a
//! [`Child`].
//!
//! A child belongs to the runtime in which it was started, and can be waited for from any thread and any
//! other runtime while that one lives. (A runtime without workers notices the ends of its children only while
//! a thread is in its `block_on`.) Starting it is a blocking system call of a millisecond or
//! so, made on the calling thread.
//!
//! # Children that are dropped
//!
//! Dropping a [`Child`] does not end the process, unless [`Command::kill_on_drop`] was set. Either way
//! nothing is left of it in the system's table when it has ended: on Unix its runtime waits for it in the
//! background, without a task or a thread, but on Linux with a descriptor. If that runtime ends before the
//! child, one thread for the whole program goes on waiting, until all such children have ended. So a child
//! that the end of a runtime kills leaves no zombie, and the runtime does not wait for it. (With tokio it
//! stays one until the program starts another child, or waits for one.)
//!
//! # How the end is noticed
//!
//! On Linux through a pidfd; where the system refuses one, and on other Unixes, through `SIGCHLD`, which then
//! gets a handler. On Windows a thread per child waits, once a task waits for the child.
//!
//! # Pipes
//!
//! On Unix they are polled like sockets. On Windows they are read and written on the pool for blocking
//! calls: a write is ready when its bytes have been copied, so call `flush` or `close` after the last one;
//! and a read keeps a thread of the pool until the child writes or ends, also when its future has been
//! dropped, and holds up the end of the runtime as long.
//!
//! # Examples
//!
//! ```
//! # #[cfg(unix)]
//! # fn main() -> std::io::Result<()> {
//! # liten::block_on(async {
//! use liten::io::{AsyncReadExt, AsyncWriteExt};
//! use liten::process::Command;
//! use std::process::Stdio;
//!
//! let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
//! let mut stdin = child.stdin.take().expect("it is a pipe");
//! stdin.write_all(b"meow").await?;
//! // The child reads the end.
//! drop(stdin);
//!
//! let output = child.wait_with_output().await?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"meow");
//! # Ok(())
//! # })
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```

// Without a family of I/O traits no program can write to a child.
#![cfg_attr(not(any(feature = "futures-io", feature = "tokio-io")), allow(dead_code))]

mod child;
mod command;
mod stdio;
#[cfg(unix)]
mod unix;
mod watched;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use self::unix as system;
#[cfg(windows)]
use self::windows as system;

pub use self::child::Child;
pub use self::command::Command;
#[doc(hidden)]
pub use self::command::before_spawn;
pub use self::stdio::{ChildStderr, ChildStdin, ChildStdout};
#[doc(hidden)]
pub use self::watched::Watched;
