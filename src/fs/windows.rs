//! What is Windows only: two kinds of symbolic links, flags of `CreateFile`, handles.

use super::{File, OpenOptions, blocking};
use crate::impls::setters;
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, OwnedHandle, RawHandle};
use std::path::Path;

/// Makes a symbolic link `link` that points to the directory `original`. Windows only.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::os::windows::fs::symlink_dir`]. [`Other`](io::ErrorKind::Other) if the runtime is
/// shutting down.
///
/// # Panics
///
/// When polled outside a runtime.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// liten::fs::symlink_dir("release-7", "latest").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn symlink_dir(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    blocking(move || std::os::windows::fs::symlink_dir(original, link)).await
}

/// Makes a symbolic link `link` that points to the file `original`. Windows only.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::os::windows::fs::symlink_file`]. [`Other`](io::ErrorKind::Other) if the runtime is
/// shutting down.
///
/// # Panics
///
/// When polled outside a runtime.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// liten::fs::symlink_file("release-7", "latest").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn symlink_file(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    blocking(move || std::os::windows::fs::symlink_file(original, link)).await
}

/// Directories have no mode here.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct DirMode;

impl DirMode {
    pub(super) fn apply(self, _: &mut std::fs::DirBuilder) {}
}

impl OpenOptions {
    setters! {
        |this|
        /// Sets the access mode in place of what `read`, `write` and `append` say (`dwDesiredAccess`).
        /// Windows only.
        access_mode(access: u32) => this.0.access_mode(access);
        /// Sets what others may do with the file while it is open (`dwShareMode`); everything at first.
        /// Windows only.
        share_mode(share: u32) => this.0.share_mode(share);
        /// Sets further flags (`dwFlagsAndAttributes`). Windows only.
        custom_flags(flags: u32) => this.0.custom_flags(flags);
        /// Sets the attributes of a file that is made (`dwFlagsAndAttributes`). Windows only.
        attributes(attributes: u32) => this.0.attributes(attributes);
        /// Sets the quality of service when a named pipe is opened (`SECURITY_SQOS_PRESENT` is added).
        /// Windows only.
        security_qos_flags(flags: u32) => this.0.security_qos_flags(flags);
    }
}

impl AsHandle for File {
    /// Lends the handle. Its position may be before or behind that of the `File`.
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.std().as_handle()
    }
}

impl AsRawHandle for File {
    fn as_raw_handle(&self) -> RawHandle {
        self.std().as_raw_handle()
    }
}

impl From<OwnedHandle> for File {
    fn from(handle: OwnedHandle) -> Self {
        Self::from_std(handle.into())
    }
}
