//! The entries of a directory, read in portions.

use super::{AtShutdown, blocking, not_made, start};
use crate::engine::task::JoinHandle;
use futures_core::Stream;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{FileType, Metadata};
use std::future::{Future, poll_fn};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// How many entries a trip to the blocking pool brings at most.
const PORTION: usize = 32;

/// Opens a directory to list its entries.
///
/// The order of the entries is that of the operating system. `.` and `..` are not among them.
///
/// # Cancel safety
///
/// Cancel safe: nothing but the result is lost.
///
/// # Errors
///
/// The errors of [`std::fs::read_dir`]: among them that the directory is missing, that it is a file, or that
/// reading it is not allowed. [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
///
/// # Panics
///
/// When polled outside a runtime.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// let mut entries = liten::fs::read_dir("src").await?;
/// let mut names = Vec::new();
/// while let Some(entry) = entries.next_entry().await? {
///     names.push(entry.file_name());
/// }
/// assert!(names.contains(&"lib.rs".into()));
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    let first = blocking(move || Ok(Portion::take(Box::new(std::fs::read_dir(path)?)))).await?;
    Ok(ReadDir(Portions::Here(first)))
}

/// The entries of a directory, from [`read_dir`].
///
/// It is also a [`Stream`]. At the time of writing 32 entries are read at a time.
#[derive(Debug)]
pub struct ReadDir(Portions);

#[derive(Debug)]
enum Portions {
    Here(Portion),
    Coming(JoinHandle<Portion>),
}

#[derive(Debug)]
struct Portion {
    entries: VecDeque<io::Result<DirEntry>>,
    /// What comes after `entries`; `None` if nothing does. Boxed, since Windows keeps an entry in it.
    rest: Option<Box<std::fs::ReadDir>>,
}

impl ReadDir {
    /// Returns the next entry, or `None` at the end.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no entry is lost.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system; the entries after it may still be asked for.
    /// [`Other`](io::ErrorKind::Other) if the runtime is shutting down, and what the operating system says
    /// if it has no thread for the pool; the list is at its end then, whatever was still to come.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime and an entry has to be fetched.
    pub async fn next_entry(&mut self) -> io::Result<Option<DirEntry>> {
        poll_fn(|cx| self.poll_next_entry(cx)).await
    }

    /// As [`next_entry`](Self::next_entry), for hand-written futures. The last task that was told to wait
    /// is woken.
    ///
    /// # Errors
    ///
    /// The errors of [`next_entry`](Self::next_entry).
    ///
    /// # Panics
    ///
    /// As [`next_entry`](Self::next_entry).
    pub fn poll_next_entry(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<DirEntry>>> {
        loop {
            match &mut self.0 {
                Portions::Here(portion) => {
                    if let Some(entry) = portion.entries.pop_front() {
                        return Poll::Ready(entry.map(Some));
                    }
                    let Some(rest) = portion.rest.take() else {
                        return Poll::Ready(Ok(None));
                    };
                    self.0 = Portions::Coming(start(AtShutdown::Cancel, || Portion::take(rest))?);
                }
                Portions::Coming(job) => match ready!(Pin::new(job).poll(cx)) {
                    Ok(portion) => self.0 = Portions::Here(portion),
                    Err(error) => {
                        self.0 = Portions::Here(Portion { entries: VecDeque::new(), rest: None });
                        return Poll::Ready(Err(not_made(error)));
                    }
                },
            }
        }
    }
}

impl Stream for ReadDir {
    type Item = io::Result<DirEntry>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<DirEntry>>> {
        self.poll_next_entry(cx).map(Result::transpose)
    }
}

impl Portion {
    /// An error ends the portion, so that a directory that gives nothing but errors is not read on unasked.
    fn take(mut rest: Box<std::fs::ReadDir>) -> Self {
        let mut entries = VecDeque::with_capacity(PORTION);
        while entries.len() < PORTION {
            let Some(entry) = rest.next() else {
                return Self { entries, rest: None };
            };
            let failed = entry.is_err();
            entries.push_back(entry.map(DirEntry::new));
            if failed {
                break;
            }
        }
        Self { entries, rest: Some(rest) }
    }
}

/// An entry of a directory, from [`ReadDir`].
#[derive(Debug)]
pub struct DirEntry {
    pub(super) std: Arc<std::fs::DirEntry>,
    /// Most systems give it with the name, and the thread that reads the directory may ask the others.
    file_type: Option<FileType>,
}

impl DirEntry {
    fn new(std: std::fs::DirEntry) -> Self {
        Self { file_type: std.file_type().ok(), std: Arc::new(std) }
    }

    /// Returns the path: the one given to [`read_dir`] with the name of the entry behind it.
    pub fn path(&self) -> PathBuf {
        self.std.path()
    }

    /// Returns the name of the entry, without the path.
    pub fn file_name(&self) -> OsString {
        self.std.file_name()
    }

    /// Returns what the system knows of the entry; of a symbolic link itself, if it is one.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing but the result is lost.
    ///
    /// # Errors
    ///
    /// The errors of [`std::fs::DirEntry::metadata`], for instance if the entry has been removed meanwhile.
    /// [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        let std = self.std.clone();
        blocking(move || std.metadata()).await
    }

    /// Returns whether the entry is a file, a directory, a symbolic link or something else. Known without a
    /// system call on most systems.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing but the result is lost.
    ///
    /// # Errors
    ///
    /// The errors of [`metadata`](Self::metadata).
    ///
    /// # Panics
    ///
    /// When polled outside a runtime and the type is not known.
    pub async fn file_type(&self) -> io::Result<FileType> {
        if let Some(file_type) = self.file_type {
            return Ok(file_type);
        }
        let std = self.std.clone();
        blocking(move || std.file_type()).await
    }
}
