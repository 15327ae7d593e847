//! Errors of broadcast channels.

use crate::impls::impl_display;
use std::error::Error;
use std::fmt;

/// There is no receiver; contains the value that was not sent.
#[derive(Debug)]
pub struct SendError<T>(pub T);

impl_display!([T] SendError<T>, "channel closed");

impl<T: fmt::Debug> Error for SendError<T> {}

/// Why [`Receiver::recv`](super::Receiver::recv) returned no value.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum RecvError {
    /// All senders have been dropped, and all values have been received.
    Closed,
    /// The receiver was too slow; contains how many values were overwritten. The next call returns the oldest
    /// value that is left.
    Lagged(u64),
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("channel closed"),
            Self::Lagged(count) => write!(f, "channel lagged by {count}"),
        }
    }
}

impl Error for RecvError {}

/// Why [`Receiver::try_recv`](super::Receiver::try_recv) returned no value.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum TryRecvError {
    /// There is no value yet.
    Empty,
    /// All senders have been dropped, and all values have been received.
    Closed,
    /// The receiver was too slow; contains how many values were overwritten. The next call returns the oldest
    /// value that is left.
    Lagged(u64),
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("channel empty"),
            Self::Closed => f.write_str("channel closed"),
            Self::Lagged(count) => write!(f, "channel lagged by {count}"),
        }
    }
}

impl Error for TryRecvError {}
