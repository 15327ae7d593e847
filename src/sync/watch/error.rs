//! Errors of watch channels.

use crate::impls::{impl_debug, impl_error};

/// There is no receiver; contains the value that was not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

impl_debug!([T] SendError<T>, "SendError");

impl_error!([T] SendError<T>, "channel closed");

/// All senders have been dropped.
#[derive(Debug, Clone)]
pub struct RecvError(pub(super) ());

impl_error!([] RecvError, "channel closed");
