//! The two halves of a stream, for two tasks that read and write it independently.
//!
//! [`TcpStream`](super::TcpStream) and `UnixStream` split in two ways, and [`tcp`](super::tcp) and `unix`
//! name the halves for each of them:
//!
//! - `split` borrows the stream. The halves cost nothing and go no further than the scope of the stream.
//! - `into_split` takes the stream. The halves are `'static`, so that tasks can take them, and can be put
//!   together again with `reunite`.
//!
//! A half lends its stream: `half.peer_addr()`, `half.readable()` and all other methods of the stream that
//! take `&self` work on either half. Only reading and writing through the I/O traits are divided between
//! them.
//!
//! The system call is the same from both halves and takes no lock: a reader never waits for a writer.

use crate::impls::{impl_debug, impl_error};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The borrowed half of a stream that reads.
#[derive(Debug)]
pub struct ReadHalf<'a, S> {
    stream: &'a S,
}

/// The borrowed half of a stream that writes.
///
/// Dropping it does not end the stream; [`close`](crate::io::AsyncWriteExt::close) tells the peer that
/// nothing follows.
#[derive(Debug)]
pub struct WriteHalf<'a, S> {
    stream: &'a S,
}

/// The owned half of a stream that reads.
///
/// The stream stays open until the other half is dropped too.
#[derive(Debug)]
pub struct OwnedReadHalf<S> {
    stream: Arc<S>,
}

/// The owned half of a stream that writes.
///
/// Dropping it shuts the stream down for writing, so that the peer reads the end, whether or not the other
/// half is still there. [`forget`](Self::forget) drops it without doing so.
pub struct OwnedWriteHalf<S> {
    stream: Arc<S>,
    /// What `drop` does to the stream; a function and not a trait, so that the type asks nothing of `S`.
    end: Option<fn(&S)>,
}

pub(super) fn borrowed<S>(stream: &S) -> (ReadHalf<'_, S>, WriteHalf<'_, S>) {
    (ReadHalf { stream }, WriteHalf { stream })
}

pub(super) fn owned<S>(stream: S, end: fn(&S)) -> (OwnedReadHalf<S>, OwnedWriteHalf<S>) {
    let stream = Arc::new(stream);
    (OwnedReadHalf { stream: Arc::clone(&stream) }, OwnedWriteHalf { stream, end: Some(end) })
}

impl<S> OwnedReadHalf<S> {
    /// Puts the two halves of a stream together again.
    ///
    /// # Errors
    ///
    /// Gives both halves back if they are not of the same stream.
    pub fn reunite(self, write: OwnedWriteHalf<S>) -> Result<S, ReuniteError<S>> {
        if !self.is_pair_of(&write) {
            return Err(ReuniteError(self, write));
        }
        write.forget();
        Ok(Arc::into_inner(self.stream).expect("a stream has two halves and the other one is gone"))
    }

    /// Returns whether the two halves are of the same stream.
    pub fn is_pair_of(&self, write: &OwnedWriteHalf<S>) -> bool {
        Arc::ptr_eq(&self.stream, &write.stream)
    }
}

impl<S> OwnedWriteHalf<S> {
    /// Puts the two halves of a stream together again.
    ///
    /// # Errors
    ///
    /// Gives both halves back if they are not of the same stream.
    pub fn reunite(self, read: OwnedReadHalf<S>) -> Result<S, ReuniteError<S>> {
        read.reunite(self)
    }

    /// Returns whether the two halves are of the same stream.
    pub fn is_pair_of(&self, read: &OwnedReadHalf<S>) -> bool {
        read.is_pair_of(self)
    }

    /// Drops this half without ending the stream: the peer reads the end when the other half is gone too.
    pub fn forget(mut self) {
        self.end = None;
    }
}

impl<S> Drop for OwnedWriteHalf<S> {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            end(&self.stream);
        }
    }
}

impl_debug!([S: fmt::Debug] OwnedWriteHalf<S>, this => "OwnedWriteHalf" {
    stream: this.stream,
    ..
});

/// Two halves that do not belong together, given back by `reunite`.
pub struct ReuniteError<S>(
    /// The half that reads.
    pub OwnedReadHalf<S>,
    /// The half that writes.
    pub OwnedWriteHalf<S>,
);

impl_error!([S] ReuniteError<S>, "the two halves are not of the same stream");

impl_debug!([S] ReuniteError<S>, "ReuniteError");

/// A half lends its stream.
macro_rules! lends_its_stream {
    ([$($generics:tt)*] $half:ty) => {
        impl<$($generics)*> Deref for $half {
            type Target = S;

            fn deref(&self) -> &S {
                &self.stream
            }
        }

        impl<$($generics)*> AsRef<S> for $half {
            fn as_ref(&self) -> &S {
                &self.stream
            }
        }
    };
}

lends_its_stream!(['a, S] ReadHalf<'a, S>);
lends_its_stream!(['a, S] WriteHalf<'a, S>);
lends_its_stream!([S] OwnedReadHalf<S>);
lends_its_stream!([S] OwnedWriteHalf<S>);
