//! `AsyncRead` and `AsyncWrite` of futures-io: for `Async<S>`, and the forwarding that every other type in
//! the house uses.
//!
//! The work is done once per family, on a shared reference (`&Async<S>`, `&TcpStream`, `&UnixStream`); the
//! owned type and the halves forward to that by the two macros. Macros, because a blanket implementation of
//! foreign traits for "everything that lends a stream" is not ours to write.

use super::Async;
use crate::driver::readiness::Direction;
use futures_io::{AsyncRead, AsyncWrite};
use mio::event::Source;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Implements `AsyncRead` by a shared reference that implements it: `[generics] type [bounds], this =>
/// reference`.
macro_rules! read_through {
    ([$($generics:tt)*] $type:ty [$($bounds:tt)*], $this:ident => $reference:expr) => {
        impl<$($generics)*> $crate::io::AsyncRead for $type
        where
            $($bounds)*
        {
            fn poll_read(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
                buf: &mut [u8],
            ) -> ::std::task::Poll<::std::io::Result<usize>> {
                let $this = &*self;
                ::std::pin::Pin::new(&mut $reference).poll_read(cx, buf)
            }

            fn poll_read_vectored(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
                bufs: &mut [::std::io::IoSliceMut<'_>],
            ) -> ::std::task::Poll<::std::io::Result<usize>> {
                let $this = &*self;
                ::std::pin::Pin::new(&mut $reference).poll_read_vectored(cx, bufs)
            }
        }
    };
}

/// Implements `AsyncWrite` by a shared reference that implements it: `[generics] type [bounds], this =>
/// reference`.
macro_rules! write_through {
    ([$($generics:tt)*] $type:ty [$($bounds:tt)*], $this:ident => $reference:expr) => {
        impl<$($generics)*> $crate::io::AsyncWrite for $type
        where
            $($bounds)*
        {
            fn poll_write(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
                buf: &[u8],
            ) -> ::std::task::Poll<::std::io::Result<usize>> {
                let $this = &*self;
                ::std::pin::Pin::new(&mut $reference).poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
                bufs: &[::std::io::IoSlice<'_>],
            ) -> ::std::task::Poll<::std::io::Result<usize>> {
                let $this = &*self;
                ::std::pin::Pin::new(&mut $reference).poll_write_vectored(cx, bufs)
            }

            fn poll_flush(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                let $this = &*self;
                ::std::pin::Pin::new(&mut $reference).poll_flush(cx)
            }

            fn poll_close(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                let $this = &*self;
                ::std::pin::Pin::new(&mut $reference).poll_close(cx)
            }
        }
    };
}

pub(crate) use {read_through, write_through};

impl<S> AsyncRead for &Async<S>
where
    S: Source,
    for<'a> &'a S: Read,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Read, |mut source| source.read(buf))
    }

    fn poll_read_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Read, |mut source| source.read_vectored(bufs))
    }
}

impl<S> AsyncWrite for &Async<S>
where
    S: Source,
    for<'a> &'a S: Write,
{
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Write, |mut source| source.write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(cx, Direction::Write, |mut source| source.write_vectored(bufs))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_io(cx, Direction::Write, |mut source| source.flush())
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}

read_through!([S] Async<S> [S: Source, for<'a> &'a S: Read], this => &*this);
write_through!([S] Async<S> [S: Source, for<'a> &'a S: Write], this => &*this);
