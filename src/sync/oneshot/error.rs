//! What receivers of a [`oneshot`](super) channel get in the place of a value.

use std::error::Error;
use std::fmt;

/// The sender has gone without sending, or the receiver was closed before: there will be no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecvError(pub(super) ());

/// Why [`Receiver::try_recv`](super::Receiver::try_recv) has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing has been sent yet.
    Empty,
    /// There will be no value: the sender has gone, the receiver was closed, or the value was taken before.
    Closed,
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "channel empty",
            Self::Closed => "channel closed",
        })
    }
}

impl Error for RecvError {}
impl Error for TryRecvError {}
