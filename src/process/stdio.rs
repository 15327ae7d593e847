//! `ChildStdin`, `ChildStdout`, `ChildStderr`: our ends of the pipes to a child.
//!
//! The pipes of the system read and write by plain `poll_` methods; each family of I/O traits is a module of
//! its own on top.

#[cfg(unix)]
mod descriptor;
#[cfg(feature = "futures-io")]
mod futures_io;
#[cfg(feature = "tokio-io")]
mod tokio_io;

use super::system::{Input, Output};
use crate::impls::impl_debug;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::process::{self, Stdio};

/// The pipe that a child reads its stdin from.
///
/// The child reads the end when this is dropped or closed. Writing waits while the pipe is full, and is an
/// error of the kind [`BrokenPipe`](io::ErrorKind::BrokenPipe) when no process reads it any more.
pub struct ChildStdin {
    /// `None` after `close`.
    pipe: Option<Input>,
}

/// The pipe that a child writes its stdout to. The end is read when no process can write to it any more.
pub struct ChildStdout {
    pub(super) pipe: Output,
}

/// The pipe that a child writes its stderr to. The end is read when no process can write to it any more.
pub struct ChildStderr {
    pub(super) pipe: Output,
}

impl ChildStdin {
    /// Makes it of the standard library's.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if it cannot be registered with the runtime.
    ///
    /// # Panics
    ///
    /// Panics if it is called outside a runtime.
    #[track_caller]
    pub fn from_std(stdin: process::ChildStdin) -> io::Result<Self> {
        Ok(Self { pipe: Some(Input::new(stdin)?) })
    }

    fn pipe(&mut self) -> io::Result<&mut Input> {
        self.pipe.as_mut().ok_or_else(closed)
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the child's stdin has been closed")
}

impl TryFrom<ChildStdin> for Stdio {
    type Error = io::Error;

    /// Makes it what another child writes to.
    fn try_from(mut stdin: ChildStdin) -> io::Result<Self> {
        stdin.pipe.take().ok_or_else(closed)?.into_stdio()
    }
}

impl_debug!([] ChildStdin, this => "ChildStdin" { open: this.pipe.is_some(), .. });

/// Defines the methods that the two pipes that are read have in common.
macro_rules! output {
    ($($type:ident)*) => {$(
        impl $type {
            /// Makes it of the standard library's.
            ///
            /// # Errors
            ///
            /// Returns the error of the operating system if it cannot be registered with the runtime.
            ///
            /// # Panics
            ///
            /// Panics if it is called outside a runtime.
            #[track_caller]
            pub fn from_std(output: process::$type) -> io::Result<Self> {
                Ok(Self { pipe: Output::new(output)? })
            }
        }

        impl TryFrom<$type> for Stdio {
            type Error = io::Error;

            /// Makes it what another child reads from.
            fn try_from(output: $type) -> io::Result<Self> {
                output.pipe.into_stdio()
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($type)).finish_non_exhaustive()
            }
        }
    )*};
}

output!(ChildStdout ChildStderr);

/// Reads to the end, if there is a pipe. Not by an extension trait: without features there is none.
pub(super) async fn read_all(pipe: Option<&mut Output>) -> io::Result<Vec<u8>> {
    let mut collected = Collected::default();
    let Some(pipe) = pipe else { return Ok(Vec::new()) };
    loop {
        let count = poll_fn(|cx| pipe.poll_read(cx, collected.room())).await?;
        if count == 0 {
            return Ok(collected.into_bytes());
        }
        collected.filled += count;
    }
}

/// Bytes that come in pieces. The memory doubles, and is zeroed when it grows: to zero the room for each
/// piece would take time that grows with the square of the bytes.
#[derive(Default)]
struct Collected {
    memory: Vec<u8>,
    /// How many bytes of it have been read.
    filled: usize,
}

impl Collected {
    const STEP: usize = 8 * 1024;

    /// Room for the next piece; never empty.
    fn room(&mut self) -> &mut [u8] {
        if self.filled == self.memory.len() {
            self.memory.resize((2 * self.filled).max(Self::STEP), 0);
        }
        &mut self.memory[self.filled..]
    }

    fn into_bytes(mut self) -> Vec<u8> {
        self.memory.truncate(self.filled);
        self.memory
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::Collected;

    #[test]
    fn room_that_is_left_is_not_zeroed_again() {
        let mut collected = Collected::default();
        let mut expected = Vec::new();
        for number in 0..100 {
            let grows = collected.filled == collected.memory.len();
            let room = collected.room();
            assert_eq!(room[0], if grows { 0 } else { u8::MAX }, "piece {number}");
            room.fill(u8::MAX);
            let count = room.len().min(777);
            room[..count].fill(number);
            collected.filled += count;
            expected.extend(std::iter::repeat_n(number, count));
        }
        assert!(collected.into_bytes() == expected);
    }
}
