//! Whole files in one call.

use super::{blocking, blocking_at};
use std::io;
use std::path::Path;

/// Reads a whole file.
///
/// # Cancel safety
///
/// Cancel safe: nothing but the result is lost.
///
/// # Errors
///
/// The errors of [`std::fs::read`]: among them that the file is missing, that it is a directory, or that
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
/// let manifest = liten::fs::read("Cargo.toml").await?;
/// assert!(manifest.starts_with(b"[package]"));
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    blocking_at(path, std::fs::read).await
}

/// Reads a whole file as text.
///
/// # Cancel safety
///
/// Cancel safe: nothing but the result is lost.
///
/// # Errors
///
/// The errors of [`read`]; [`InvalidData`](io::ErrorKind::InvalidData) if the content is not UTF-8.
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
/// let manifest = liten::fs::read_to_string("Cargo.toml").await?;
/// assert!(manifest.contains("name"));
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    blocking_at(path, std::fs::read_to_string).await
}

/// Writes `contents` as the whole of a file, which is made if it is missing and replaced otherwise.
///
/// The contents are copied once, because the thread that writes them may outlive the caller.
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped. If the runtime ends at that
/// moment, a call that was not begun is not made at all.
///
/// # Errors
///
/// The errors of [`std::fs::write`]; the file may hold a part of the contents then.
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
/// liten::fs::write("greeting.txt", "hello").await?;
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let contents = contents.as_ref().to_owned();
    blocking_at(path, move |path| std::fs::write(path, contents)).await
}

/// Copies the contents and the permissions of a file to another one; returns the number of bytes.
///
/// An existing file `to` is replaced. Copying a file onto itself empties it on most systems, as with
/// [`std::fs::copy`].
///
/// # Cancel safety
///
/// A call that was begun is done to its end although the future is dropped.
///
/// # Errors
///
/// The errors of [`std::fs::copy`]; `to` may hold a part of the contents then.
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
/// let bytes = liten::fs::copy("greeting.txt", "greeting.bak").await?;
/// println!("{bytes} bytes copied");
/// # Ok(())
/// # })
/// # }
/// ```
pub async fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<u64> {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    blocking(move || std::fs::copy(from, to)).await
}
