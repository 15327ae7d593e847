//! Channels without a bound, and their senders, also those that do not keep their channel open.

use super::error::SendError;
use super::receive::Rx;
use super::receiver::UnboundedReceiver;
use super::room::{Room, Unbounded};
use super::shared::{Shared, Tx, WeakTx};
use crate::engine::sync_shim::Arc;
use crate::impls::impl_debug;
use crate::runtime::gauges::{Gauge, Measured};
use std::panic::Location;
use std::ptr::from_ref;

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
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let gauge = Gauge::new(Measured::Unbounded, None, Location::caller());
    let shared = Arc::new(Shared::new(Unbounded::new(), gauge.clone()));
    gauge.is_of(|| [from_ref(&*shared).addr(), 0]);
    (
        UnboundedSender { tx: Tx { shared: shared.clone() } },
        UnboundedReceiver { rx: Rx::new(shared, gauge) },
    )
}

/// Sends messages to an [`UnboundedReceiver`]; may be cloned. Made by [`unbounded_channel`].
pub struct UnboundedSender<T> {
    tx: Tx<T, Unbounded>,
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

/// Can be made an [`UnboundedSender`] again, and does not keep the channel open; made by
/// [`UnboundedSender::downgrade`].
///
/// When all senders have been dropped, the receiver learns that no message will come, although there may be
/// weak senders.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let (sender, mut receiver) = liten::sync::mpsc::unbounded_channel();
/// let weak = sender.downgrade();
/// sender.send(1).unwrap();
/// drop(sender);
/// assert!(weak.upgrade().is_none());
/// assert_eq!(receiver.recv().await, Some(1));
/// assert_eq!(receiver.recv().await, None);
/// # });
/// ```
pub struct WeakUnboundedSender<T> {
    tx: WeakTx<T, Unbounded>,
}

impl<T> WeakUnboundedSender<T> {
    weak_sender_methods!(UnboundedSender);
}

clones!(WeakUnboundedSender);

impl_debug!([T] WeakUnboundedSender<T>, "WeakUnboundedSender");
