//! Senders that do not keep their channel open, and what they have in common with those that do.

use super::bounded::Sender;
use super::room::{Bounded, Room, Unbounded};
use super::shared::WeakTx;
use super::unbounded::UnboundedSender;
use std::fmt;

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

/// What both kinds of channels have: senders, and weak ones.
macro_rules! senders {
    ($sender:ident, $weak:ident) => {
        impl<T> $sender<T> {
            /// Waits until the receiver closes the channel or is dropped.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: dropping the future loses nothing.
            ///
            /// # Examples
            ///
            /// Work is given up when no receiver waits for its result:
            ///
            /// ```
            /// # liten::block_on(async {
            /// let (sender, receiver) = liten::sync::mpsc::channel::<u32>(1);
            /// let task = liten::spawn(async move {
            ///     liten::select! {
            ///         _ = sender.closed() => "given up",
            ///         _ = std::future::pending::<u32>() => "done",
            ///     }
            /// });
            /// drop(receiver);
            /// assert_eq!(task.await.unwrap(), "given up");
            /// # });
            /// ```
            pub async fn closed(&self) {
                self.tx.closed().await;
            }

            /// Returns whether the receiver has closed the channel, or has been dropped.
            pub fn is_closed(&self) -> bool {
                self.tx.shared.room.is_closed()
            }

            /// Returns whether both senders are of the same channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                self.tx.same_channel(&other.tx)
            }

            /// Returns a sender that does not keep the channel open.
            #[must_use = "the sender itself stays as it is"]
            pub fn downgrade(&self) -> $weak<T> {
                $weak { tx: self.tx.downgrade() }
            }
        }

        impl<T> fmt::Debug for $sender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($sender)).field("channel", &self.tx.shared).finish()
            }
        }

        impl<T> $weak<T> {
            /// Returns a sender; `None` if all senders have been dropped.
            pub fn upgrade(&self) -> Option<$sender<T>> {
                self.tx.upgrade().map(|tx| $sender { tx })
            }
        }

        impl<T> fmt::Debug for $weak<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($weak)).finish_non_exhaustive()
            }
        }

        senders!(both $sender);
        senders!(both $weak);
    };
    (both $handle:ident) => {
        impl<T> $handle<T> {
            /// Returns how many senders there are.
            pub fn strong_count(&self) -> usize {
                self.tx.shared.senders()
            }

            /// Returns how many weak senders there are.
            pub fn weak_count(&self) -> usize {
                self.tx.shared.weak()
            }
        }

        impl<T> Clone for $handle<T> {
            fn clone(&self) -> Self {
                Self { tx: self.tx.clone() }
            }
        }
    };
}

senders!(Sender, WeakSender);
senders!(UnboundedSender, WeakUnboundedSender);
