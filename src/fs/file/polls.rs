//! What the I/O traits of all families are made of: hidden, and public for the package named `tokio`, whose
//! traits are its own.

use super::File;
use std::io::{self, SeekFrom};
use std::task::{Context, Poll};

impl File {
    /// Waits until there is something to take, at most `wanted` bytes of it, and lets `take` have it. Returns
    /// how many bytes that were; 0 at the end of the file.
    ///
    /// # Errors
    ///
    /// Returns the error of the read.
    #[doc(hidden)]
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        wanted: usize,
        take: impl FnOnce(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let sizes = (wanted, self.max_buf_size);
        self.traffic.get_mut().poll_read(cx, &self.shared, sizes, take)
    }

    /// Accepts bytes of `parts`, and starts to write them. Returns how many.
    ///
    /// # Errors
    ///
    /// Returns the error of an earlier write.
    #[doc(hidden)]
    pub fn poll_write<'a>(
        &mut self,
        cx: &mut Context<'_>,
        parts: impl IntoIterator<Item = &'a [u8]>,
    ) -> Poll<io::Result<usize>> {
        self.traffic.get_mut().poll_write(cx, &self.shared, parts, self.max_buf_size)
    }

    /// Waits until all that was accepted is with the operating system.
    ///
    /// # Errors
    ///
    /// Returns the error of a write.
    #[doc(hidden)]
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.traffic.get_mut().poll_flush(cx, &self.shared)
    }

    /// Starts to seek, if nothing is under way.
    ///
    /// # Errors
    ///
    /// Returns an error if something is.
    #[doc(hidden)]
    pub fn start_seek(&mut self, position: SeekFrom) -> io::Result<()> {
        let traffic = self.traffic.get_mut();
        if traffic.is_busy() {
            let error = "other file operation is pending, call poll_complete before start_seek";
            return Err(io::Error::other(error));
        }
        traffic.start_seek(&self.shared, position)
    }

    /// Waits for the seek that was started, and returns where the last one has led to.
    ///
    /// # Errors
    ///
    /// Returns the error of the seek.
    #[doc(hidden)]
    pub fn poll_sought(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        self.traffic.get_mut().poll_sought(cx)
    }
}
