//! What is Unix only: symbolic links, modes, descriptors.

use super::{DirBuilder, DirEntry, File, OpenOptions, blocking};
use crate::impls::setters;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::{DirBuilderExt, DirEntryExt, OpenOptionsExt};
use std::path::Path;

/// Makes a symbolic link `link` that points to `original`, which need not be there. Unix only.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::os::unix::fs::symlink`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting
/// down.
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
/// liten::fs::symlink("release-7", "latest").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    blocking(move || std::os::unix::fs::symlink(original, link)).await
}

/// The mode of directories to be made, if it is not the usual one.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct DirMode(Option<u32>);

impl DirMode {
    pub(super) fn apply(self, builder: &mut std::fs::DirBuilder) {
        if let Some(mode) = self.0 {
            builder.mode(mode);
        }
    }
}

impl DirBuilder {
    /// Sets the permissions of the directories that are made, less the process's umask; 0o777 at first.
    /// Unix only.
    pub fn mode(&mut self, mode: u32) -> &mut Self {
        self.mode = DirMode(Some(mode));
        self
    }
}

impl DirEntry {
    /// Returns the number of the entry's inode. Unix only.
    pub fn ino(&self) -> u64 {
        self.std.ino()
    }
}

impl OpenOptions {
    setters! {
        |this|
        /// Sets the permissions of a file that is made, less the process's umask; 0o666 at first. Unix only.
        mode(mode: u32) => this.0.mode(mode);
        /// Sets further flags for the system's `open`, for instance `O_NOFOLLOW`; those of the access mode
        /// are ignored. Unix only.
        custom_flags(flags: i32) => this.0.custom_flags(flags);
    }
}

impl AsFd for File {
    /// Lends the descriptor. Its position may be before or behind that of the `File`.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.std().as_fd()
    }
}

impl AsRawFd for File {
    fn as_raw_fd(&self) -> RawFd {
        self.std().as_raw_fd()
    }
}

impl From<OwnedFd> for File {
    fn from(fd: OwnedFd) -> Self {
        Self::from_std(fd.into())
    }
}
