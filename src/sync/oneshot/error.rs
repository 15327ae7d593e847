//! Errors of the receiver of a [`oneshot`](super) channel.

use crate::impls::impl_error;

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

impl_error!([] RecvError, "channel closed");

impl_error!([] TryRecvError, this => match this {
    Self::Empty => "channel empty",
    Self::Closed => "channel closed",
});
