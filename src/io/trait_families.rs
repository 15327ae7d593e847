//! What the I/O traits of tokio and of hyper have in common.
//!
//! The two write alike, down to the names of the methods, and not quite as `futures-io` does: closing is
//! called shutting down, and a writer says whether it writes vectored. So a type that has the traits of
//! `futures-io` gets the other two by one macro per direction. They read alike too, but for the type of the
//! buffer, which may be uninitialised: a type that can fill such a buffer does it itself, and all other
//! types go through `tokio_io.rs` and `hyper_io.rs`.

/// Implements tokio's or hyper's `AsyncRead` by a shared reference that implements it: `trait, buffer,
/// [generics] type [bounds], this => reference`.
macro_rules! implement_read {
    (
        $trait:path, $buffer:ty,
        [$($generics:tt)*] $type:ty [$($bounds:tt)*], $this:ident => $reference:expr
    ) => {
        impl<$($generics)*> $trait for $type
        where
            $($bounds)*
        {
            fn poll_read(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
                buf: $buffer,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                let $this = &*self;
                <_ as $trait>::poll_read(::std::pin::Pin::new(&mut $reference), cx, buf)
            }
        }
    };
}

/// Implements tokio's or hyper's `AsyncWrite` for a type that implements `AsyncWrite`: `trait, vectored:
/// whether one call writes several buffers, [generics] type [bounds]`.
macro_rules! implement_write {
    ($trait:path, vectored: $vectored:literal, [$($generics:tt)*] $type:ty [$($bounds:tt)*]) => {
        impl<$($generics)*> $trait for $type
        where
            $($bounds)*
        {
            fn poll_write(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
                buf: &[u8],
            ) -> ::std::task::Poll<::std::io::Result<usize>> {
                $crate::io::AsyncWrite::poll_write(self, cx, buf)
            }

            fn poll_write_vectored(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
                bufs: &[::std::io::IoSlice<'_>],
            ) -> ::std::task::Poll<::std::io::Result<usize>> {
                $crate::io::AsyncWrite::poll_write_vectored(self, cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                $vectored
            }

            fn poll_flush(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                $crate::io::AsyncWrite::poll_flush(self, cx)
            }

            /// Does what closing does in `futures-io`.
            fn poll_shutdown(
                self: ::std::pin::Pin<&mut Self>,
                cx: &mut ::std::task::Context<'_>,
            ) -> ::std::task::Poll<::std::io::Result<()>> {
                $crate::io::AsyncWrite::poll_close(self, cx)
            }
        }
    };
}

pub(crate) use {implement_read, implement_write};
