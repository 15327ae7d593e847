//! The I/O traits of tokio and of hyper, for types that have those of futures-io.
//!
//! The two families write alike, down to the names of the methods, and not quite as futures-io does: closing
//! is called shutting down, and a writer says whether it writes vectored. They read alike too, but for the
//! type of the buffer, and [`Buffer`] has what those types have in common. So one macro per direction
//! implements the trait of either family.
#![allow(unsafe_code)]

use super::{Async, AsyncRead};
#[cfg(feature = "tokio-io")]
use super::{DuplexStream, Empty, Repeat, Sink, Stderr, Stdin, Stdout};
use mio::event::Source;
#[cfg(feature = "net")]
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A buffer of tokio's or hyper's, whose memory may be uninitialised.
pub(crate) trait Buffer {
    /// How many more bytes it takes.
    fn room(&self) -> usize;

    /// Fills uninitialised memory with zeros, and returns as much of it as one read should use.
    fn initialize(&mut self) -> &mut [u8];

    /// Returns the memory that is not filled.
    ///
    /// # Safety
    ///
    /// The caller makes no byte of it uninitialised.
    unsafe fn unfilled(&mut self) -> &mut [MaybeUninit<u8>];

    /// Counts `length` more bytes as filled.
    ///
    /// # Safety
    ///
    /// The first `length` bytes of what is not filled are initialised.
    unsafe fn fill(&mut self, length: usize);
}

/// The buffer remembers what is initialised: one that is kept pays once.
#[cfg(feature = "tokio-io")]
impl Buffer for &mut tokio::io::ReadBuf<'_> {
    fn room(&self) -> usize {
        self.remaining()
    }

    fn initialize(&mut self) -> &mut [u8] {
        self.initialize_unfilled()
    }

    unsafe fn unfilled(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: what the caller promises.
        unsafe { self.unfilled_mut() }
    }

    unsafe fn fill(&mut self, length: usize) {
        // SAFETY: what the caller promises.
        unsafe {
            self.assume_init(length);
        }
        self.advance(length);
    }
}

/// hyper makes a new buffer for each read and up to 400 KB of it, hence the bound on how much is initialised:
/// a record of TLS, the usual reader that wants initialised memory.
#[cfg(feature = "hyper")]
impl Buffer for hyper::rt::ReadBufCursor<'_> {
    fn room(&self) -> usize {
        self.remaining()
    }

    fn initialize(&mut self) -> &mut [u8] {
        let room = self.remaining().min(16 * 1024);
        self.initialize_unfilled_to(room)
    }

    unsafe fn unfilled(&mut self) -> &mut [MaybeUninit<u8>] {
        // SAFETY: what the caller promises.
        unsafe { self.as_mut() }
    }

    unsafe fn fill(&mut self, length: usize) {
        // SAFETY: what the caller promises.
        unsafe {
            self.advance(length);
        }
    }
}

/// Reads through `AsyncRead` of futures-io, which wants initialised memory. So does `std::io::Read`, whose
/// `read_buf` is unstable. A socket of `net` does not come this way.
pub(crate) fn fill<R: AsyncRead>(
    reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    mut buf: impl Buffer,
) -> Poll<io::Result<()>> {
    let room = buf.initialize();
    let most = room.len();
    let length = ready!(reader.poll_read(cx, room))?;
    assert!(length <= most, "a reader says that it has read {length} bytes into {most}");
    // SAFETY: the first `most` bytes are initialised since the call above, and `length` is not more, whatever
    // the reader says.
    unsafe {
        buf.fill(length);
    }
    Poll::Ready(Ok(()))
}

/// Receives into memory that is not initialised, once, without waiting for what is to be received.
#[cfg(feature = "net")]
pub(crate) fn receive(socket: SockRef<'_>, buf: &mut impl Buffer) -> io::Result<usize> {
    // SAFETY: a receive makes no byte uninitialised.
    let length = socket.recv(unsafe { buf.unfilled() })?;
    // SAFETY: the system has received `length` bytes into the beginning of that memory.
    unsafe {
        buf.fill(length);
    }
    Ok(length)
}

/// Implements tokio's or hyper's `AsyncRead`: `trait, buffer, [generics] type [bounds], how it reads`.
macro_rules! implement_read {
    (
        $trait:path, $buffer:ty,
        [$($generics:tt)*] $type:ty [$($bounds:tt)*], |$this:ident, $cx:ident, $buf:ident| $read:expr
    ) => {
        impl<$($generics)*> $trait for $type
        where
            $($bounds)*
        {
            fn poll_read(
                self: ::std::pin::Pin<&mut Self>,
                $cx: &mut ::std::task::Context<'_>,
                $buf: $buffer,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                let $this = self;
                $read
            }
        }
    };
}

/// Implements tokio's or hyper's `AsyncWrite` for a type that implements that of futures-io: `trait,
/// vectored: whether one call writes several buffers, [generics] type [bounds]`.
macro_rules! implement_write {
    ($trait:path, vectored: $vectored:literal, [$($generics:tt)*] $type:ty [$($bounds:tt)*]) => {
        impl<$($generics)*> $trait for $type
        where
            $($bounds)*
        {
            // What closing does in `futures-io`, shutting down does here.
            $crate::io::forward_polls! {
                |this| this, $crate::io::AsyncWrite;
                poll_write(buf: &[u8]) -> usize: poll_write;
                poll_write_vectored(bufs: &[::std::io::IoSlice<'_>]) -> usize: poll_write_vectored;
                poll_flush() -> (): poll_flush;
                poll_shutdown() -> (): poll_close;
            }

            fn is_write_vectored(&self) -> bool {
                $vectored
            }
        }
    };
}

pub(crate) use {implement_read, implement_write};

/// One family's traits for `Async<S>`, as far as std's `Read` and `Write` reach.
///
/// It says that it does not write vectored, because stable Rust has no question whether `S` does. A caller
/// that is told wrongly that vectored writes are possible would write many small pieces; hyper gathers such
/// pieces itself.
macro_rules! implement_family {
    ($read:path, $buffer:ty, $write:path) => {
        implement_read!(
            $read, $buffer,
            [S] &Async<S> [S: Source, for<'a> &'a S: Read], |this, cx, buf| fill(this, cx, buf)
        );
        implement_read!(
            $read, $buffer,
            [S] Async<S> [S: Source, for<'a> &'a S: Read], |this, cx, buf| fill(this, cx, buf)
        );
        implement_write!(
            $write, vectored: false,
            ['s, S] &'s Async<S> [S: Source, for<'a> &'a S: Write]
        );
        implement_write!($write, vectored: false, [S] Async<S> [S: Source, for<'a> &'a S: Write]);
    };
}

#[cfg(feature = "tokio-io")]
implement_family!(tokio::io::AsyncRead, &mut tokio::io::ReadBuf<'_>, tokio::io::AsyncWrite);
#[cfg(feature = "hyper")]
implement_family!(hyper::rt::Read, hyper::rt::ReadBufCursor<'_>, hyper::rt::Write);

/// tokio's traits for a stream that stands on no socket.
#[cfg(feature = "tokio-io")]
macro_rules! implement_tokio {
    (read: $($reader:ty)*) => {$(
        implement_read!(
            tokio::io::AsyncRead, &mut tokio::io::ReadBuf<'_>,
            [] $reader [], |this, cx, buf| fill(this, cx, buf)
        );
    )*};
    (write, vectored: $vectored:literal, $($writer:ty)*) => {$(
        implement_write!(tokio::io::AsyncWrite, vectored: $vectored, [] $writer []);
    )*};
}

#[cfg(feature = "tokio-io")]
implement_tokio!(read: DuplexStream Empty Repeat Stdin);
#[cfg(feature = "tokio-io")]
implement_tokio!(write, vectored: true, Empty Sink);
#[cfg(feature = "tokio-io")]
implement_tokio!(write, vectored: false, DuplexStream Stdout Stderr);
