//! `AsyncRead` and `AsyncWrite` of futures-io by forwarding, for every type of this crate that has them.
//!
//! The work is done once per family, on a shared reference (`&Async<S>`, `&TcpStream`, `&UnixStream`); the
//! owned type and the halves forward to that by the two macros. Macros, because a blanket implementation of
//! foreign traits for "everything that lends a stream" is forbidden by the orphan rule.

/// Implements `AsyncRead` by a shared reference that implements it: `[generics] type [bounds], this =>
/// reference`.
macro_rules! forward_read {
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
macro_rules! forward_write {
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

pub(crate) use {forward_read, forward_write};
