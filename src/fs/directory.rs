//! Directories: made and removed.

use super::{blocking_at, system};
use std::io;
use std::path::Path;

/// Makes a directory, whose parent has to be there.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::fs::create_dir`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
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
/// liten::fs::create_dir("out").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    blocking_at(path, std::fs::create_dir).await
}

/// Makes a directory and all parents that are missing; it is no error if it is there already.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::fs::create_dir_all`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting
/// down. Some of the parents may have been made then.
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
/// liten::fs::create_dir_all("out/today/logs").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    blocking_at(path, std::fs::create_dir_all).await
}

/// Removes a directory, which has to be empty.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::fs::remove_dir`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
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
/// liten::fs::remove_dir("out").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    blocking_at(path, std::fs::remove_dir).await
}

/// Removes a directory with everything in it. Symbolic links are removed and not followed.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::fs::remove_dir_all`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting
/// down. Some of the entries may be gone then.
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
/// liten::fs::remove_dir_all("out").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    blocking_at(path, std::fs::remove_dir_all).await
}

/// Makes directories in various manners, after [`std::fs::DirBuilder`].
///
/// On Unix it has `mode`, the permissions of what it makes.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// liten::fs::DirBuilder::new().recursive(true).create("out/today/logs").await?;
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug, Default)]
pub struct DirBuilder {
    // Not std's builder, which cannot be cloned for the thread that uses it.
    recursive: bool,
    pub(super) mode: system::DirMode,
}

impl DirBuilder {
    /// Returns a builder as for [`create_dir`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether missing parents are made too, and a directory that is there already is no error. They
    /// are not, and it is, unless this is called.
    pub fn recursive(&mut self, recursive: bool) -> &mut Self {
        self.recursive = recursive;
        self
    }

    /// Makes the directory.
    ///
    /// # Cancel safety
    ///
    /// A call that was begun is done to its end although the future is dropped.
    ///
    /// # Errors
    ///
    /// The errors of [`std::fs::DirBuilder::create`]. [`Other`](io::ErrorKind::Other) if the runtime is
    /// shutting down.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn create(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(self.recursive);
        self.mode.apply(&mut builder);
        blocking_at(path, move |path| builder.create(path)).await
    }
}
