//! Errors of the receiver of a [`oneshot`](super) channel.

use std::error::Error;
use std::fmt;

/// There will be no value: the sender was dropped without sending, or the receiver was closed before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecvError(pub(super) ());

/// Why [`Receiver::try_recv`](super::Receiver::try_recv) returned no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing has been sent yet.
    Empty,
    /// There will be no value: the sender was dropped, the receiver was closed, or the value has been taken
    /// out.
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
