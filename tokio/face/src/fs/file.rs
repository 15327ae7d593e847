//! An open file: liten's, with tokio's interface and I/O traits.
//!
//! tokio's own file forgets what a failed write has left: the second flush says `Ok`, and the data are lost.
//! liten's keeps it and tries it again.

use crate::fs::{FileTimes, OpenOptions};
use crate::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use crate::runtime::context;
use std::fmt;
use std::fs::{File as StdFile, Metadata, Permissions};
use std::io::{self, IoSlice, SeekFrom};
use std::path::Path;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::time::SystemTime;

/// An open file, read and written on the pool for blocking work.
///
/// A write is ready when its bytes have been copied; a thread of the pool then writes them to the file.
/// **Call [`flush`] after the last write**: it waits until everything has arrived, and returns the error of a
/// write. After `flush`, dropping the file closes it at once.
///
/// Bytes that could not be written are kept. The next write, `flush`, [`sync_all`] or [`sync_data`] tries
/// them again, and returns an error as long as that fails: `Ok` from one of these says that all bytes that
/// were accepted are in the file. With the real tokio the second `flush` says `Ok`, and the bytes are
/// lost.
///
/// A pipe or a device in non-blocking mode is read and written as one in blocking mode.
///
/// [`flush`]: fn@crate::io::AsyncWriteExt::flush
/// [`sync_all`]: fn@crate::fs::File::sync_all
/// [`sync_data`]: fn@crate::fs::File::sync_data
///
/// # Examples
///
/// ```no_run
/// use tokio::fs::File;
/// use tokio::io::AsyncWriteExt; // for write_all()
///
/// # async fn dox() -> std::io::Result<()> {
/// let mut file = File::create("foo.txt").await?;
/// file.write_all(b"hello, world!").await?;
/// file.flush().await?;
/// # Ok(())
/// # }
/// ```
pub struct File {
    inner: liten::fs::File,
}

impl File {
    /// Opens a file for reading.
    ///
    /// # Errors
    ///
    /// The errors of [`OpenOptions::open`].
    pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
        Self::options().read(true).open(path).await
    }

    /// Opens a file for writing. Makes it if it is missing, and empties it otherwise.
    ///
    /// # Errors
    ///
    /// The errors of [`OpenOptions::open`].
    pub async fn create(path: impl AsRef<Path>) -> io::Result<File> {
        Self::options().write(true).create(true).truncate(true).open(path).await
    }

    /// Makes a file and opens it for reading and writing; that it is there already is an error.
    ///
    /// # Errors
    ///
    /// The errors of [`OpenOptions::open`].
    pub async fn create_new<P: AsRef<Path>>(path: P) -> io::Result<File> {
        Self::options().read(true).write(true).create_new(true).open(path).await
    }

    /// Returns options for opening a file in other ways.
    #[must_use]
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// Makes a `File` of std's. The position stays where it is.
    pub fn from_std(std: StdFile) -> File {
        Self { inner: liten::fs::File::from_std(std) }
    }

    /// Waits until everything that was written has reached the disk, with the file's metadata.
    ///
    /// # Errors
    ///
    /// The error of an earlier write, and that of [`std::fs::File::sync_all`].
    pub async fn sync_all(&self) -> io::Result<()> {
        context::assert_inside();
        self.inner.sync_all().await
    }

    /// As [`sync_all`](Self::sync_all), but leaves out metadata that reading the contents does not need.
    ///
    /// # Errors
    ///
    /// The error of an earlier write, and that of [`std::fs::File::sync_data`].
    pub async fn sync_data(&self) -> io::Result<()> {
        context::assert_inside();
        self.inner.sync_data().await
    }

    /// Cuts the file off at `size` bytes, or fills it up with zeros. The position stays where it is.
    ///
    /// # Errors
    ///
    /// The error of [`std::fs::File::set_len`].
    pub async fn set_len(&self, size: u64) -> io::Result<()> {
        context::assert_inside();
        self.inner.set_len(size).await
    }

    /// Returns what the system knows of the file.
    ///
    /// # Errors
    ///
    /// The error of [`std::fs::File::metadata`].
    pub async fn metadata(&self) -> io::Result<Metadata> {
        context::assert_inside();
        self.inner.metadata().await
    }

    /// Returns another handle to the same open file, which shares the position.
    ///
    /// # Errors
    ///
    /// The error of [`std::fs::File::try_clone`].
    pub async fn try_clone(&self) -> io::Result<File> {
        context::assert_inside();
        Ok(Self { inner: self.inner.try_clone().await? })
    }

    /// Waits for what is under way, and returns std's file.
    pub async fn into_std(self) -> StdFile {
        self.inner.into_std().await
    }

    /// Returns std's file if nothing is under way.
    ///
    /// # Errors
    ///
    /// Gives the file back if something is.
    pub fn try_into_std(self) -> Result<StdFile, Self> {
        self.inner.try_into_std().map_err(|inner| Self { inner })
    }

    /// Changes the permissions of the file.
    ///
    /// # Errors
    ///
    /// The error of [`std::fs::File::set_permissions`].
    pub async fn set_permissions(&self, perm: Permissions) -> io::Result<()> {
        context::assert_inside();
        self.inner.set_permissions(perm).await
    }

    /// Changes when the file was read and written last, after the writes that were accepted.
    ///
    /// # Errors
    ///
    /// The error of [`std::fs::File::set_times`].
    pub async fn set_times(&self, times: FileTimes) -> io::Result<()> {
        context::assert_inside();
        self.inner.set_times(times.into_std()).await
    }

    /// Changes when the file was written last, after the writes that were accepted.
    ///
    /// # Errors
    ///
    /// The error of [`std::fs::File::set_modified`].
    pub async fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.set_times(FileTimes::new().set_modified(time)).await
    }

    /// Sets how many bytes one call on the pool reads or writes at most; 2 MiB at first.
    ///
    /// # Panics
    ///
    /// If `max_buf_size` is 0.
    #[track_caller]
    pub fn set_max_buf_size(&mut self, max_buf_size: usize) {
        assert!(max_buf_size > 0, "`max_buf_size` must be greater than 0");
        self.inner.set_max_buf_size(max_buf_size);
    }

    /// Returns how many bytes one call on the pool reads or writes at most.
    pub fn max_buf_size(&self) -> usize {
        self.inner.max_buf_size()
    }
}

impl AsyncRead for File {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        dst: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        context::assert_inside();
        let wanted = dst.remaining();
        ready!(self.inner.poll_read(cx, wanted, |bytes| dst.put_slice(bytes)))?;
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for File {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        context::assert_inside();
        self.inner.start_seek(position)
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.inner.poll_sought(cx)
    }
}

impl AsyncWrite for File {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        src: &[u8],
    ) -> Poll<io::Result<usize>> {
        context::assert_inside();
        self.inner.poll_write(cx, [src])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        context::assert_inside();
        self.inner.poll_write(cx, bufs.iter().map(|buf| &**buf))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

impl From<StdFile> for File {
    fn from(std: StdFile) -> Self {
        Self::from_std(std)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[cfg(unix)]
mod unix {
    use super::{File, StdFile};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

    impl From<OwnedFd> for File {
        fn from(fd: OwnedFd) -> Self {
            Self::from_std(StdFile::from(fd))
        }
    }

    impl AsRawFd for File {
        fn as_raw_fd(&self) -> RawFd {
            self.inner.as_raw_fd()
        }
    }

    impl AsFd for File {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.inner.as_fd()
        }
    }

    impl FromRawFd for File {
        unsafe fn from_raw_fd(fd: RawFd) -> Self {
            // SAFETY: the caller promises of the descriptor what this function asks for.
            Self::from_std(unsafe { StdFile::from_raw_fd(fd) })
        }
    }
}

#[cfg(windows)]
mod windows {
    use super::{File, StdFile};
    use std::os::windows::io::{
        AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle, RawHandle,
    };

    impl From<OwnedHandle> for File {
        fn from(handle: OwnedHandle) -> Self {
            Self::from_std(StdFile::from(handle))
        }
    }

    impl AsRawHandle for File {
        fn as_raw_handle(&self) -> RawHandle {
            self.inner.as_raw_handle()
        }
    }

    impl AsHandle for File {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            self.inner.as_handle()
        }
    }

    impl FromRawHandle for File {
        unsafe fn from_raw_handle(handle: RawHandle) -> Self {
            // SAFETY: the caller promises of the handle what this function asks for.
            Self::from_std(unsafe { StdFile::from_raw_handle(handle) })
        }
    }
}
