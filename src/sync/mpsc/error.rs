//! Why a message was not sent or not received.

use crate::impls::{impl_debug, impl_error};
use std::fmt;

/// The channel is closed; contains the message that was not sent.
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

impl_debug!([T] SendError<T>, "SendError");

impl_error!([T] SendError<T>, "channel closed");

/// Why a message was not sent at once; contains the message.
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum TrySendError<T> {
    /// The channel has no room for another message now.
    Full(T),
    /// The channel is closed.
    Closed(T),
}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> Self {
        Self::Closed(error.0)
    }
}

/// Why no message was received at once.
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum TryRecvError {
    /// No message is in the channel, and one may still come.
    Empty,
    /// No message is in the channel, and none will come.
    Disconnected,
}

impl_error!([] TryRecvError, this => match this {
    Self::Empty => "receiving on an empty channel",
    Self::Disconnected => "receiving on a closed channel",
});

/// Why a message was not sent in time; contains the message.
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum SendTimeoutError<T> {
    /// The time passed before the channel had room for the message.
    Timeout(T),
    /// The channel is closed.
    Closed(T),
}

/// What the two errors have in common that keep a message: `error, its reason beside Closed: text`.
macro_rules! unsent {
    ($($error:ident, $reason:ident: $text:literal;)*) => {$(
        impl<T> $error<T> {
            /// Returns the message.
            pub fn into_inner(self) -> T {
                match self {
                    Self::$reason(message) | Self::Closed(message) => message,
                }
            }
        }

        impl<T> fmt::Debug for $error<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    Self::$reason(_) => concat!(stringify!($reason), "(..)"),
                    Self::Closed(_) => "Closed(..)",
                })
            }
        }

        impl_error!([T] $error<T>, this => match this {
            Self::$reason(_) => $text,
            Self::Closed(_) => "channel closed",
        });
    )*};
}

unsent! {
    TrySendError, Full: "no available capacity";
    SendTimeoutError, Timeout: "timed out waiting on send operation";
}
