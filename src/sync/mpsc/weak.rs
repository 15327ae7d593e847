//! Senders that do not keep their channel open.

use super::bounded::Sender;
use super::room::{Bounded, Unbounded};
use super::shared::WeakTx;
use super::unbounded::UnboundedSender;
use crate::engine::impls::impl_debug;

/// Can be made a [`Sender`] again, and does not keep the channel open; made by [`Sender::downgrade`].
///
/// When all senders have been dropped, the receiver learns that no message will come, although there may be
/// weak senders.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let (sender, mut receiver) = liten::sync::mpsc::channel(1);
/// let weak = sender.downgrade();
/// sender.send(1).await.unwrap();
/// drop(sender);
/// assert!(weak.upgrade().is_none());
/// assert_eq!(receiver.recv().await, Some(1));
/// assert_eq!(receiver.recv().await, None);
/// # });
/// ```
pub struct WeakSender<T> {
    pub(super) tx: WeakTx<T, Bounded>,
}

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
    pub(super) tx: WeakTx<T, Unbounded>,
}

impl<T> WeakSender<T> {
    /// Returns a sender; `None` if all senders have been dropped.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.tx.upgrade().map(|tx| Sender { tx })
    }

    counts!();
}

impl<T> WeakUnboundedSender<T> {
    /// Returns a sender; `None` if all senders have been dropped.
    pub fn upgrade(&self) -> Option<UnboundedSender<T>> {
        self.tx.upgrade().map(|tx| UnboundedSender { tx })
    }

    counts!();
}

clones!(WeakSender WeakUnboundedSender);

impl_debug!([T] WeakSender<T>, "WeakSender");

impl_debug!([T] WeakUnboundedSender<T>, "WeakUnboundedSender");
