//! `AsyncRead` and `AsyncWrite` of futures-io by forwarding, for every type of this crate that has them.
//!
//! The work is done once per family, on a shared reference (`&Async<S>`, `&TcpStream`, `&UnixStream`); the
//! owned type and the halves forward to that by the two macros. Macros, because a blanket implementation of
//! foreign traits for "everything that lends a stream" is forbidden by the orphan rule.

/// Methods that poll another reader or writer: `the other one, its trait; name(argument) -> output: its
/// method`.
macro_rules! forward_polls {
    (
        |$this:ident| $other:expr, $trait:path;
        $($name:ident($($argument:ident: $type:ty)?) -> $output:ty: $method:ident;)*
    ) => {$(
        fn $name(
            self: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
            $($argument: $type,)?
        ) -> ::std::task::Poll<::std::io::Result<$output>> {
            let $this = self;
            <_ as $trait>::$method($other, cx $(, $argument)?)
        }
    )*};
}

/// Implements `AsyncRead` by a shared reference that implements it: `[generics] type [bounds], this =>
/// reference`.
macro_rules! forward_read {
    ([$($generics:tt)*] $type:ty [$($bounds:tt)*], $this:ident => $reference:expr) => {
        impl<$($generics)*> $crate::io::AsyncRead for $type
        where
            $($bounds)*
        {
            $crate::io::forward_polls! {
                |$this| ::std::pin::Pin::new(&mut $reference), $crate::io::AsyncRead;
                poll_read(buf: &mut [u8]) -> usize: poll_read;
                poll_read_vectored(bufs: &mut [::std::io::IoSliceMut<'_>]) -> usize: poll_read_vectored;
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
            $crate::io::forward_polls! {
                |$this| ::std::pin::Pin::new(&mut $reference), $crate::io::AsyncWrite;
                poll_write(buf: &[u8]) -> usize: poll_write;
                poll_write_vectored(bufs: &[::std::io::IoSlice<'_>]) -> usize: poll_write_vectored;
                poll_flush() -> (): poll_flush;
                poll_close() -> (): poll_close;
            }
        }
    };
}

pub(crate) use {forward_polls, forward_read, forward_write};
