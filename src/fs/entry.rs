//! Entries of directories: asked about, renamed, linked, removed.

use super::{blocking, blocking_at};
use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// Returns what the system knows of a file or directory; symbolic links are followed.
///
/// # Cancel safety
///
/// Cancel safe: nothing but the result is lost.
///
/// # Errors
///
/// The errors of [`std::fs::metadata`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
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
/// let bytes = liten::fs::metadata("Cargo.toml").await?.len();
/// println!("{bytes} bytes");
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    blocking_at(path, std::fs::metadata).await
}

/// Returns what the system knows of a path; of a symbolic link itself, if it is one.
///
/// # Cancel safety
///
/// Cancel safe: nothing but the result is lost.
///
/// # Errors
///
/// The errors of [`std::fs::symlink_metadata`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting
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
/// let is_link = liten::fs::symlink_metadata("latest").await?.is_symlink();
/// println!("{is_link}");
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    blocking_at(path, std::fs::symlink_metadata).await
}

/// Returns whether something is there; symbolic links are followed.
///
/// What is there may be gone, and the other way round, when the answer comes: to make a file only if it is
/// missing, use [`OpenOptions::create_new`](super::OpenOptions::create_new).
///
/// # Cancel safety
///
/// Cancel safe: nothing but the result is lost.
///
/// # Errors
///
/// If the system cannot say, for instance because a directory on the way may not be searched.
/// [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
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
/// if !liten::fs::try_exists("config.toml").await? {
///     println!("the defaults it is");
/// }
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn try_exists(path: impl AsRef<Path>) -> io::Result<bool> {
    blocking_at(path, |path| path.try_exists()).await
}

/// Returns the absolute path, free of symbolic links and of `.` and `..`.
///
/// # Cancel safety
///
/// Cancel safe: nothing but the result is lost.
///
/// # Errors
///
/// The errors of [`std::fs::canonicalize`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
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
/// println!("{}", liten::fs::canonicalize(".").await?.display());
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    blocking_at(path, std::fs::canonicalize).await
}

/// Returns where a symbolic link points to.
///
/// # Cancel safety
///
/// Cancel safe: nothing but the result is lost.
///
/// # Errors
///
/// The errors of [`std::fs::read_link`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
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
/// println!("{}", liten::fs::read_link("latest").await?.display());
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    blocking_at(path, std::fs::read_link).await
}

/// Changes the permissions of a file or directory.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::fs::set_permissions`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting
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
/// let mut permissions = liten::fs::metadata("greeting.txt").await?.permissions();
/// permissions.set_readonly(true);
/// liten::fs::set_permissions("greeting.txt", permissions).await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    blocking_at(path, move |path| std::fs::set_permissions(path, permissions)).await
}

/// Gives a file or directory another name; a file that has this name is replaced.
///
/// Both names have to be on the same mount point.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::fs::rename`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
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
/// liten::fs::rename("greeting.tmp", "greeting.txt").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    blocking(move || std::fs::rename(from, to)).await
}

/// Gives a file a second name.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::fs::hard_link`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
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
/// liten::fs::hard_link("greeting.txt", "same.txt").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn hard_link(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    blocking(move || std::fs::hard_link(original, link)).await
}

/// Removes a file.
///
/// Where it is open the content stays until it is closed; Windows refuses, depending on how it was opened.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::fs::remove_file`]. [`Other`](io::ErrorKind::Other) if the runtime is shutting down.
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
/// liten::fs::remove_file("greeting.txt").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    blocking_at(path, std::fs::remove_file).await
}
