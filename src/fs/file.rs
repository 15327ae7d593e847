//! An open file.

mod buffer;
#[cfg(feature = "futures-io")]
mod futures_io;
mod polls;
#[cfg(feature = "tokio-io")]
mod tokio_io;
mod traffic;

use self::traffic::{Kind, Shared, Traffic};
use super::OpenOptions;
use crate::engine::sync_shim::Mutex;
use crate::runtime::tokio_words;
use crate::sync::Mutex as AsyncMutex;
use std::fmt;
use std::fs::{FileTimes, Metadata, Permissions};
use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::SystemTime;

/// As tokio's: large enough that the trip to the pool does not count beside the copying.
const MAX_BUF_SIZE: usize = 2 * 1024 * 1024;

/// An open file, read and written on the pool for blocking calls.
///
/// It implements `AsyncRead`, `AsyncWrite` and `AsyncSeek` of futures-io (feature `futures-io`) and of
/// tokio (feature `tokio-io`).
///
/// # Writing
///
/// A write is ready when the `File` has copied the bytes, at most [`max_buf_size`](Self::max_buf_size) of
/// them; a thread of the pool then writes them to the file, and the next operation waits for it. **Call
/// `flush` after the last write**: it waits until everything has arrived, and returns the error of the last
/// write.
///
/// An error of a write comes out once, at the next write, `flush`, [`sync_all`](Self::sync_all) or
/// [`sync_data`](Self::sync_data); reads, seeks and the others keep it for those. The bytes that could not be
/// written are kept. The next write, `flush` or sync tries them again, at the place that they were meant for,
/// and returns an error as long as that fails. So `Ok` from one of these always says that all bytes which
/// were accepted are in the file. (tokio's file forgets the bytes with the error, and the second `flush` says
/// `Ok`.) [`set_len`](Self::set_len) cuts off those behind the new end.
///
/// A write that failed may have written a part, and moved the position by it.
///
/// `flush` leaves the bytes with the operating system, where other programs see them. Only
/// [`sync_all`](Self::sync_all) and [`sync_data`](Self::sync_data) say that they survive a loss of power.
///
/// # Dropping
///
/// After `flush` there is nothing to lose, and the file is closed at once. Without it, what was accepted is
/// still written on the pool, but some time later; an error is lost. That is so too if the runtime ends
/// meanwhile: it waits for these writes as for running calls, but neither `shutdown_background` nor the end
/// of the process does. Bytes of a write that has failed are given up.
///
/// # Files that are no regular files
///
/// A pipe or a device in non-blocking mode is read and written as one in blocking mode: a call that finds no
/// data or no room waits. (tokio's file returns `WouldBlock` to a read, and loses what was to be written.) A
/// read that waits so ends with its runtime, with an error.
///
/// # Reading
///
/// A read makes one call, for as many bytes as the caller has room for,
/// [`max_buf_size`](Self::max_buf_size) at most. If it is cancelled, its bytes are kept for the next read.
/// The position that is seen from outside (by a [`try_clone`](Self::try_clone), or through the descriptor)
/// may be beyond these bytes; everything in this type counts without them.
///
/// # Cancel safety
///
/// `read`, `write` and `flush` are cancel safe: a read that was dropped has taken no bytes, a write has
/// accepted none. A seek that was dropped may take place or not. Repeated at once, it counts as one (but not
/// through tokio's `AsyncSeekExt`, which waits for the first one, returns its error if it has failed, and
/// seeks again if not); to be sure, seek from the start.
///
/// # Examples
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::fs::File;
/// use liten::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom};
///
/// # let path = std::env::temp_dir().join(format!("liten-doc-file-{}", std::process::id()));
/// let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).await?;
/// file.write_all(b"hello, world").await?;
/// file.flush().await?;
///
/// let mut text = String::new();
/// file.seek(SeekFrom::Start(7)).await?;
/// file.read_to_string(&mut text).await?;
/// assert_eq!(text, "world");
/// # liten::fs::remove_file(&path).await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub struct File {
    shared: Arc<Shared>,
    /// Locked over an await by the methods that take `&self`, so that they queue up.
    traffic: AsyncMutex<Traffic>,
    max_buf_size: usize,
}

impl File {
    /// Opens a file for reading.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: if the file is opened after the future has been dropped, it is closed.
    ///
    /// # Errors
    ///
    /// The errors of [`OpenOptions::open`].
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::options().read(true).open(path).await
    }

    /// Opens a file for writing; makes it if it is missing, and empties it otherwise.
    ///
    /// # Cancel safety
    ///
    /// The file may be made or emptied after the future has been dropped; it is closed then.
    ///
    /// # Errors
    ///
    /// The errors of [`OpenOptions::open`].
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::options().write(true).create(true).truncate(true).open(path).await
    }

    /// Makes a file and opens it for reading and writing; that it is there already is an error.
    ///
    /// # Cancel safety
    ///
    /// The file may be made after the future has been dropped; it is closed then.
    ///
    /// # Errors
    ///
    /// The errors of [`OpenOptions::open`]; [`AlreadyExists`](io::ErrorKind::AlreadyExists).
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn create_new(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::options().read(true).write(true).create_new(true).open(path).await
    }

    /// Returns options for opening a file in other ways.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Makes a `File` of std's. The position stays where it is.
    pub fn from_std(std: std::fs::File) -> Self {
        Self {
            shared: Shared::new(std),
            traffic: AsyncMutex::default(),
            max_buf_size: MAX_BUF_SIZE,
        }
    }

    /// Waits for what is under way and returns std's file, at the position of this one.
    ///
    /// An error of a write that has not come out yet is lost, and so are the bytes of a write that has
    /// failed: call `flush` before. So is what was read ahead by a read that was dropped, if the file has
    /// no position (a pipe).
    ///
    /// # Cancel safety
    ///
    /// As with dropping the file: what was accepted is written.
    pub async fn into_std(mut self) -> std::fs::File {
        let traffic = self.traffic.get_mut();
        poll_fn(|cx| traffic.poll_settle(cx)).await;
        match self.try_into_std() {
            Ok(std) => std,
            Err(_) => unreachable!("nothing is under way, and only what is has the file too"),
        }
    }

    /// Returns std's file, at the position of this one, if nothing is under way. What
    /// [`into_std`](Self::into_std) loses is lost here too.
    ///
    /// # Errors
    ///
    /// Gives the file back if something is under way: a write, or a call whose future was dropped.
    pub fn try_into_std(mut self) -> Result<std::fs::File, Self> {
        // A call may have ended that no one has asked for since.
        let cx = &mut Context::from_waker(Waker::noop());
        if self.traffic.get_mut().poll_settle(cx).is_pending() {
            return Err(self);
        }
        // No system waits for anything to do this, and an error leaves the position ahead.
        let _ = self.shared.realign();
        match Arc::try_unwrap(self.shared) {
            Ok(shared) => Ok(shared.std),
            Err(shared) => {
                self.shared = shared;
                Err(self)
            }
        }
    }

    /// Waits until everything that was written has reached the disk, with the file's metadata.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: an error that comes after the future has been dropped is reported by the next write,
    /// `flush` or sync.
    ///
    /// # Errors
    ///
    /// The error of an earlier write; else that of [`std::fs::File::sync_all`].
    /// [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn sync_all(&self) -> io::Result<()> {
        self.call(Kind::Sync, |shared| shared.std.sync_all()).await
    }

    /// As [`sync_all`](Self::sync_all), but leaves out metadata that reading the contents does not need.
    ///
    /// # Cancel safety
    ///
    /// As [`sync_all`](Self::sync_all).
    ///
    /// # Errors
    ///
    /// The error of an earlier write; else that of [`std::fs::File::sync_data`].
    /// [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn sync_data(&self) -> io::Result<()> {
        self.call(Kind::Sync, |shared| shared.std.sync_data()).await
    }

    /// Cuts the file off at `size` bytes, or fills it up with zeros. The position stays where it is.
    ///
    /// # Cancel safety
    ///
    /// A call that was begun is done to its end although the future is dropped.
    ///
    /// # Errors
    ///
    /// The errors of [`std::fs::File::set_len`], among them that the file is not open for writing.
    /// [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        self.call(Kind::Other, move |shared| shared.set_len(size)).await
    }

    /// Returns what the system knows of the file, after the writes that were accepted. A read that is under
    /// way is not waited for.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing but the result is lost.
    ///
    /// # Errors
    ///
    /// The errors of [`std::fs::File::metadata`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting
    /// down.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn metadata(&self) -> io::Result<Metadata> {
        self.call(Kind::Beside, |shared| shared.std.metadata()).await
    }

    /// Returns another `File` for the same open file: the position is common to both.
    ///
    /// What one of them has read ahead is passed over by the other. Use them by turns only after a `flush`
    /// or a seek.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing but the result is lost.
    ///
    /// # Errors
    ///
    /// The errors of [`std::fs::File::try_clone`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting
    /// down.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn try_clone(&self) -> io::Result<Self> {
        let clone = self.call(Kind::Other, |shared| {
            shared.realign()?;
            shared.std.try_clone()
        });
        let mut clone = Self::from_std(clone.await?);
        clone.max_buf_size = self.max_buf_size;
        Ok(clone)
    }

    /// Changes the permissions of the file. A read that is under way is not waited for.
    ///
    /// # Cancel safety
    ///
    /// A call that was begun is done to its end although the future is dropped.
    ///
    /// # Errors
    ///
    /// The errors of [`std::fs::File::set_permissions`]. [`Other`](io::ErrorKind::Other) if the runtime is
    /// shutting down.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        self.call(Kind::Beside, move |shared| shared.std.set_permissions(permissions)).await
    }

    /// Changes when the file was read and written last, after the writes that were accepted. A read that is
    /// under way is not waited for.
    ///
    /// # Cancel safety
    ///
    /// A call that was begun is done to its end although the future is dropped.
    ///
    /// # Errors
    ///
    /// The errors of [`std::fs::File::set_times`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting
    /// down.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        self.call(Kind::Beside, move |shared| shared.std.set_times(times)).await
    }

    /// Changes when the file was written last, after the writes that were accepted.
    ///
    /// # Cancel safety
    ///
    /// As [`set_times`](Self::set_times).
    ///
    /// # Errors
    ///
    /// The errors of [`set_times`](Self::set_times).
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    /// Returns how many bytes one call on the pool reads or writes at most; 2 MiB at first.
    pub fn max_buf_size(&self) -> usize {
        self.max_buf_size
    }

    /// Sets how many bytes one call on the pool reads or writes at most. The file may keep as much memory
    /// for reading, and as much for writing.
    ///
    /// # Panics
    ///
    /// If `max_buf_size` is 0.
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "max_buf_size must not be 0");
        self.max_buf_size = max_buf_size;
    }

    /// Makes a call when nothing else is under way that it has to wait for.
    async fn call<T: Send + 'static>(
        &self,
        kind: Kind,
        call: impl FnOnce(&Shared) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let mut traffic = self.traffic.lock().await;
        poll_fn(|cx| traffic.poll_room(cx, kind)).await;
        if kind == Kind::Sync {
            poll_fn(|cx| traffic.poll_flush(cx, &self.shared)).await?;
        }
        // Beside the outcome that all calls have, so that the next caller can wait for any of them.
        let value = Arc::new(Mutex::new(None));
        let place = Arc::clone(&value);
        traffic.start(kind, &self.shared, move |shared| {
            *place.lock() = Some(call(shared)?);
            Ok(0)
        })?;
        poll_fn(|cx| traffic.poll_own(cx, kind)).await?;
        let value = value.lock().take();
        Ok(value.expect("a call without an error leaves its value"))
    }

    pub(super) fn std(&self) -> &std::fs::File {
        &self.shared.std
    }
}

impl From<std::fs::File> for File {
    fn from(std: std::fs::File) -> Self {
        Self::from_std(std)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(tokio_words::FILE).field("std", self.std()).finish_non_exhaustive()
    }
}
