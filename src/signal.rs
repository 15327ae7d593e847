//! Signals of the operating system: ctrl-c everywhere, all others by the system's own names.
//!
//! [`ctrl_c()`] is what most programs need. On Unix, `unix::signal` listens for any signal that can be
//! caught; on Windows, the module `windows` has a listener for each event of the console.
//!
//! Listening changes what the signal does to the process: from the first listener on it no longer ends the
//! process, on Unix also when all listeners are gone; on Windows it does then. A program that waits for
//! ctrl-c once and then cleans up may therefore want to wait for a second one, to end at once.
//!
//! # Examples
//!
//! Serve until ctrl-c, then end in order:
//!
//! ```no_run
//! # async fn serve() {}
//! # async fn clean_up() {}
//! use liten::future::{Either, select};
//! use std::pin::pin;
//!
//! #[liten::main]
//! async fn main() -> std::io::Result<()> {
//!     let interrupted = pin!(liten::signal::ctrl_c());
//!     let serving = pin!(serve());
//!     if let Either::Left((result, _)) = select(interrupted, serving).await {
//!         result?;
//!     }
//!     clean_up().await;
//!     Ok(())
//! }
//! ```

#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
pub mod windows;

#[cfg(unix)]
use self::unix as system;
#[cfg(windows)]
use self::windows as system;

use crate::engine::ended::ended;
use std::io;

/// Waits until the user presses ctrl-c, or the process is sent what ctrl-c sends: `SIGINT` on Unix.
///
/// The future asks for nothing before it is polled. Its first poll installs the handler, and it completes
/// with the first ctrl-c after that. From then on ctrl-c does not end the process any more, on Unix also
/// after the future has been dropped.
///
/// On Unix, a ctrl-c that comes between two such futures of one task completes the second one, whatever the
/// task and the runtime do meanwhile: `unix::signal` says exactly what a new listener is told of. On Windows
/// it may be lost. To miss none there, keep a listener: `windows::ctrl_c`.
///
/// # Cancel safety
///
/// Cancel safe on Unix: a ctrl-c after the last poll of this future completes the next one that the task
/// polls. On Windows a ctrl-c between the two may be lost.
///
/// # Errors
///
/// Returns the error of the operating system if the handler cannot be installed or there is no descriptor
/// left for it, and an error if the runtime has been shut down.
///
/// # Panics
///
/// On Unix the first poll panics outside a runtime.
///
/// # Examples
///
/// ```no_run
/// # liten::block_on(async {
/// println!("ctrl-c ends this");
/// liten::signal::ctrl_c().await?;
/// println!("bye");
/// # std::io::Result::Ok(())
/// # });
/// ```
pub async fn ctrl_c() -> io::Result<()> {
    let received = system::ctrl_c()?.recv().await;
    received.ok_or_else(|| ended("the runtime that waits for ctrl-c has been shut down"))
}
