//! How a file is opened.

use super::{File, blocking_at};
use crate::impls::{impl_default, setters};
use std::io;
use std::path::Path;

/// How a file is opened: for what, and whether it is made; after [`std::fs::OpenOptions`].
///
/// Everything is off at first. On Unix it also has `mode` and `custom_flags`; on Windows `access_mode`,
/// `share_mode`, `custom_flags`, `attributes` and `security_qos_flags`.
///
/// # Examples
///
/// ```no_run
/// # fn main() -> std::io::Result<()> {
/// # liten::block_on(async {
/// use liten::fs::OpenOptions;
/// use liten::io::AsyncWriteExt;
///
/// let mut log = OpenOptions::new().append(true).create(true).open("server.log").await?;
/// log.write_all(b"started\n").await?;
/// log.flush().await?;
/// # Ok(())
/// # })
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct OpenOptions(pub(super) std::fs::OpenOptions);

impl OpenOptions {
    /// Returns options with everything off.
    pub fn new() -> Self {
        Self(std::fs::OpenOptions::new())
    }

    setters! {
        |this|
        /// Sets whether the file can be read.
        read(read: bool) => this.0.read(read);
        /// Sets whether the file can be written. An existing file keeps what is not overwritten.
        write(write: bool) => this.0.write(write);
        /// Sets whether each write goes to the end of the file, wherever the position is.
        append(append: bool) => this.0.append(append);
        /// Sets whether an existing file is emptied; needs `write`.
        truncate(truncate: bool) => this.0.truncate(truncate);
        /// Sets whether the file is made if it is missing; needs `write` or `append`.
        create(create: bool) => this.0.create(create);
        /// Sets whether the file has to be made, and an existing one is an error; needs `write` or `append`.
        /// `create` and `truncate` mean nothing then.
        ///
        /// The system looks and makes in one step, so the file is new for certain.
        create_new(create_new: bool) => this.0.create_new(create_new);
    }

    /// Opens the file.
    ///
    /// # Cancel safety
    ///
    /// A call that was begun is done to its end although the future is dropped: the file may be made or
    /// emptied, and it is closed then.
    ///
    /// # Errors
    ///
    /// The errors of [`std::fs::OpenOptions::open`]: among them that the file is missing or is there already,
    /// that it is not allowed, or that the options contradict each other. [`Other`](io::ErrorKind::Other)
    /// if the runtime is shutting down. Unix opens a directory for reading without an error, which comes
    /// with the first read.
    ///
    /// # Panics
    ///
    /// When polled outside a runtime.
    pub async fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let options = self.0.clone();
        blocking_at(path, move |path| options.open(path)).await.map(File::from_std)
    }
}

impl_default!([] OpenOptions);

impl From<std::fs::OpenOptions> for OpenOptions {
    fn from(std: std::fs::OpenOptions) -> Self {
        Self(std)
    }
}
