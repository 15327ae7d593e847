//! Senders that do not keep their channel open.

use super::bounded::Sender;
use super::room::{Bounded, Unbounded};
use super::shared::WeakTx;
use super::unbounded::UnboundedSender;
use std::fmt;

/// A [`Sender`] that does not keep the channel open: when all others have been dropped, the receiver
/// learns that no message will come. Made by [`Sender::downgrade`].
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

impl<T> WeakSender<T> {
    /// Returns a sender; `None` if all have been dropped.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.tx.upgrade().map(|tx| Sender { tx })
    }

    /// How many senders there are.
    pub fn strong_count(&self) -> usize {
        self.tx.shared.senders()
    }

    /// How many weak senders there are.
    pub fn weak_count(&self) -> usize {
        self.tx.shared.weak()
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        Self { tx: self.tx.clone() }
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakSender").finish_non_exhaustive()
    }
}

/// A [`UnboundedSender`] that does not keep the channel open: when all others have been dropped, the receiver
/// learns that no message will come. Made by [`UnboundedSender::downgrade`].
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

impl<T> WeakUnboundedSender<T> {
    /// Returns a sender; `None` if all have been dropped.
    pub fn upgrade(&self) -> Option<UnboundedSender<T>> {
        self.tx.upgrade().map(|tx| UnboundedSender { tx })
    }

    /// How many senders there are.
    pub fn strong_count(&self) -> usize {
        self.tx.shared.senders()
    }

    /// How many weak senders there are.
    pub fn weak_count(&self) -> usize {
        self.tx.shared.weak()
    }
}

impl<T> Clone for WeakUnboundedSender<T> {
    fn clone(&self) -> Self {
        Self { tx: self.tx.clone() }
    }
}

impl<T> fmt::Debug for WeakUnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakUnboundedSender").finish_non_exhaustive()
    }
}
