//! Channels without a bound.

use super::error::SendError;
use super::receive::Rx;
use super::receiver::UnboundedReceiver;
use super::room::{Room, Unbounded};
use super::shared::{Shared, Tx};
use super::weak::WeakUnboundedSender;
use crate::engine::impls::impl_debug;
use crate::engine::sync_shim::Arc;

/// Returns the two ends of a new channel with room for any number of messages, as long as there is memory.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let (sender, mut receiver) = liten::sync::mpsc::unbounded_channel();
/// for number in 0..100 {
///     sender.send(number).unwrap();
/// }
/// assert_eq!(receiver.recv().await, Some(0));
/// # });
/// ```
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let shared = Arc::new(Shared::new(Unbounded::new()));
    (
        UnboundedSender { tx: Tx { shared: shared.clone() } },
        UnboundedReceiver { rx: Rx::new(shared) },
    )
}

/// Sends messages to an [`UnboundedReceiver`]; may be cloned. Made by [`unbounded_channel`].
pub struct UnboundedSender<T> {
    pub(super) tx: Tx<T, Unbounded>,
}

impl<T> UnboundedSender<T> {
    /// Sends `message`. Never waits, so threads outside the runtime may use it, too.
    ///
    /// Success does not mean that it will be received: the receiver may be closed or dropped before.
    ///
    /// # Errors
    ///
    /// [`SendError`], with the message, if the channel is closed.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.tx.shared.push(message).map_err(SendError)
    }

    sender_methods!(WeakUnboundedSender);
}

clones!(UnboundedSender);

impl_debug!([T] UnboundedSender<T>, this => "UnboundedSender" { channel: this.tx.shared });
