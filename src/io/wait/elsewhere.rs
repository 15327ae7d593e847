//! Reading and writing on a thread that may block, where no other process can change the mode.

use std::io::{self, ErrorKind, Read, Write};

/// What can be waited for.
pub trait Waitable {}

impl<T: ?Sized> Waitable for T {}

/// Reads some bytes.
///
/// # Errors
///
/// The error of the read other than `Interrupted`.
pub fn read(source: &mut impl Read, buf: &mut [u8]) -> io::Result<usize> {
    uninterrupted(|| source.read(buf))
}

/// As [`read`].
///
/// # Errors
///
/// As [`read`].
pub fn read_when_ready(source: &mut impl Read, buf: &mut [u8]) -> io::Result<usize> {
    read(source, buf)
}

/// Writes some bytes.
///
/// # Errors
///
/// The error of the write other than `Interrupted`.
pub fn write(to: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    uninterrupted(|| to.write(bytes))
}

/// Writes all that follows the first `written` bytes, and counts it. Bytes that can never be written, such as
/// those for a console that are no UTF-8, count too: the caller would try them for ever.
///
/// # Errors
///
/// As [`write`]; [`WriteZero`](ErrorKind::WriteZero) if a write takes nothing.
pub fn write_all(to: &mut impl Write, bytes: &[u8], written: &mut usize) -> io::Result<()> {
    while *written < bytes.len() {
        match write(to, &bytes[*written..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => *written += count,
            Err(error) => {
                if error.kind() == ErrorKind::InvalidData {
                    *written = bytes.len();
                }
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Flushes what `to` has buffered.
///
/// # Errors
///
/// The error of the flush other than `Interrupted`.
pub fn flush(to: &mut impl Write) -> io::Result<()> {
    uninterrupted(|| to.flush())
}

fn uninterrupted<R>(mut call: impl FnMut() -> io::Result<R>) -> io::Result<R> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
