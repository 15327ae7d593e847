//! Files and directories, on the pool for blocking calls.
//!
//! The operating systems have no readiness for files: a read blocks the thread that makes it until the disk
//! answers. So each call here goes to a thread of the runtime's blocking pool, and the task that waits for
//! it leaves its worker free. Names and semantics are those of `tokio::fs`; the functions are those of
//! [`std::fs`], with the error that std gives.
//!
//! | to | use |
//! |---|---|
//! | read or write a whole file | [`read`], [`read_to_string`], [`write()`], [`copy`] |
//! | read or write parts of a file | [`File`], [`OpenOptions`] |
//! | list a directory | [`read_dir()`] |
//! | make | [`create_dir_all`], [`DirBuilder`], [`hard_link`] |
//! | move and remove | [`rename`], [`remove_file`], [`remove_dir_all`] |
//! | ask | [`metadata`], [`try_exists`], [`canonicalize`] |
//!
//! # What it costs
//!
//! Going to another thread and back takes some microseconds, far more than a system call. So do much per
//! call: the functions for whole files make one trip, a [`File`] makes one per read and write, of
//! [`File::max_buf_size`] bytes at most. Wrap a `File` in [`BufReader`](crate::io::BufReader) or
//! [`BufWriter`](crate::io::BufWriter) when the pieces are small, and call `flush` at the end. For many
//! calls in a row, one [`spawn_blocking`](crate::spawn_blocking) around functions of [`std::fs`] is
//! cheaper.
//!
//! The pool has as many threads as [`Builder::max_blocking_threads`] says; further calls wait for their
//! turn. A call that never returns (opening a named pipe without a peer) keeps its thread, and holds up the
//! end of the runtime.
//!
//! [`Builder::max_blocking_threads`]: crate::runtime::Builder::max_blocking_threads
//!
//! # Cancel safety
//!
//! A future of this module that is dropped before it is ready does not stop the call if a thread has begun
//! it: the call is done to its end, its effect remains, and its result is lost. A call that is still queued
//! is made as well, unless the runtime ends first.
//!
//! # Errors
//!
//! Functions return the error of the operating system, with its
//! [`raw_os_error`](std::io::Error::raw_os_error); [`Other`](std::io::ErrorKind::Other) if the runtime is
//! shutting down, or if the operating system has no thread for the pool, with what it says to that.
//!
//! # Panics
//!
//! The futures panic when they are polled outside a runtime. Making them needs none.
//!
//! # Examples
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! # liten::block_on(async {
//! use liten::fs;
//!
//! let folder = std::env::temp_dir().join(format!("liten-doc-{}", std::process::id()));
//! fs::create_dir_all(&folder).await?;
//! fs::write(folder.join("greeting"), "hello").await?;
//! assert_eq!(fs::read_to_string(folder.join("greeting")).await?, "hello");
//!
//! let mut entries = fs::read_dir(&folder).await?;
//! while let Some(entry) = entries.next_entry().await? {
//!     assert_eq!(entry.file_name(), "greeting");
//! }
//! fs::remove_dir_all(&folder).await?;
//! # Ok(())
//! # })
//! # }
//! ```

mod content;
mod directory;
mod entry;
#[cfg_attr(
    not(all(feature = "futures-io", feature = "tokio-io")),
    allow(dead_code, reason = "what the traits of one or the other are made of")
)]
mod file;
mod open_options;
mod read_dir;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

// What the two systems do differently behind the same names.
#[cfg(unix)]
use self::unix as system;
#[cfg(windows)]
use self::windows as system;

pub use self::content::{copy, read, read_to_string, write};
pub use self::directory::{DirBuilder, create_dir, create_dir_all, remove_dir, remove_dir_all};
pub use self::entry::{
    canonicalize, hard_link, metadata, read_link, remove_file, rename, set_permissions,
    symlink_metadata, try_exists,
};
pub use self::file::File;
pub use self::open_options::OpenOptions;
pub use self::read_dir::{DirEntry, ReadDir, read_dir};
#[cfg(unix)]
pub use self::unix::symlink;
#[cfg(windows)]
pub use self::windows::{symlink_dir, symlink_file};
#[doc(no_inline)]
pub use std::fs::{FileTimes, FileType, Metadata, Permissions};

use crate::engine::ended::ended;
use crate::engine::task::{JoinError, JoinHandle};
use crate::runtime::blocking_task::CLOSED;
use crate::runtime::context;
use std::io;
use std::path::{Path, PathBuf};

/// What becomes of a call that is queued when the runtime ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AtShutdown {
    Cancel,
    /// It is made, because a caller was told that it would be.
    Make,
}

/// Sends `call` to the blocking pool of the current runtime.
///
/// # Panics
///
/// Outside a runtime.
fn start<T: Send + 'static>(
    at_shutdown: AtShutdown,
    call: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    context::start_blocking("liten::fs", at_shutdown == AtShutdown::Make, call)
}

/// Makes `call` on the blocking pool and waits for it.
async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    start(AtShutdown::Cancel, call)?.await.unwrap_or_else(|error| Err(not_made(error)))
}

/// Makes `call` with an own copy of the path, on the blocking pool, and waits for it.
async fn blocking_at<T: Send + 'static>(
    path: impl AsRef<Path>,
    call: impl FnOnce(PathBuf) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let path = path.as_ref().to_owned();
    blocking(move || call(path)).await
}

/// The call was queued and then cancelled, which only the end of the runtime does; or it has panicked.
fn not_made(error: JoinError) -> io::Error {
    if error.is_cancelled() { ended(CLOSED) } else { error.into() }
}
