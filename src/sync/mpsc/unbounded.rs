//! Channels without a bound.

use super::error::{SendError, TryRecvError};
use super::receive::Rx;
use super::room::{Room, Unbounded};
use super::shared::{Shared, Tx};
use super::weak::WeakUnboundedSender;
use crate::engine::sync_shim::Arc;
use crate::runtime::block_on::wait_outside;
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

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

    /// Waits until the receiver closes the channel or is dropped.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future loses nothing.
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
    pub fn downgrade(&self) -> WeakUnboundedSender<T> {
        WeakUnboundedSender { tx: self.tx.downgrade() }
    }

    /// Returns how many senders there are.
    pub fn strong_count(&self) -> usize {
        self.tx.shared.senders()
    }

    /// Returns how many weak senders there are.
    pub fn weak_count(&self) -> usize {
        self.tx.shared.weak()
    }
}

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> Self {
        Self { tx: self.tx.clone() }
    }
}

impl<T> fmt::Debug for UnboundedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedSender").field("channel", &self.tx.shared).finish()
    }
}

/// Receives the messages of [`UnboundedSender`]s. Made by [`unbounded_channel`].
pub struct UnboundedReceiver<T> {
    pub(super) rx: Rx<T, Unbounded>,
}

impl<T> UnboundedReceiver<T> {
    /// Returns the next message as soon as there is one; `None` if none will come.
    ///
    /// `None` means that there is no message, and that all senders have been dropped or the channel is
    /// closed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the future takes a message only when it is ready, so dropping it loses nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::mpsc::unbounded_channel();
    /// sender.send("hello").unwrap();
    /// drop(sender);
    /// assert_eq!(receiver.recv().await, Some("hello"));
    /// assert_eq!(receiver.recv().await, None);
    /// # });
    /// ```
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|cx| self.rx.poll_recv(cx)).await
    }

    /// Waits for a message, and then moves up to `limit` messages that are there to the end of `buffer`;
    /// returns how many.
    ///
    /// 0 means that `limit` is 0, or that no message will come, as with [`recv`](Self::recv).
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the future takes messages only when it is ready, so dropping it loses nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::mpsc::unbounded_channel();
    /// for number in 0..5 {
    ///     sender.send(number).unwrap();
    /// }
    /// let mut numbers = Vec::new();
    /// assert_eq!(receiver.recv_many(&mut numbers, 3).await, 3);
    /// assert_eq!(receiver.recv_many(&mut numbers, 3).await, 2);
    /// assert_eq!(numbers, [0, 1, 2, 3, 4]);
    /// # });
    /// ```
    pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        poll_fn(|cx| self.rx.poll_recv_many(cx, buffer, limit)).await
    }

    /// Returns the next message if there is one now.
    ///
    /// # Errors
    ///
    /// [`TryRecvError`] if there is no message yet, or if none will come.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::mpsc::{unbounded_channel, error::TryRecvError};
    ///
    /// let (sender, mut receiver) = unbounded_channel();
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.send(1).unwrap();
    /// drop(sender);
    /// assert_eq!(receiver.try_recv(), Ok(1));
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.rx.try_recv()
    }

    /// Blocks the thread until there is a message, and returns it; `None` if none will come. For code that is
    /// not async.
    ///
    /// # Panics
    ///
    /// In async code: inside a task, or in the future of a `block_on`.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, mut receiver) = liten::sync::mpsc::unbounded_channel();
    /// let thread = std::thread::spawn(move || receiver.blocking_recv());
    /// sender.send(1).unwrap();
    /// assert_eq!(thread.join().unwrap(), Some(1));
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Option<T> {
        wait_outside("blocking_recv", self.recv())
    }

    /// As [`recv_many`](Self::recv_many), but blocks the thread. For code that is not async.
    ///
    /// # Panics
    ///
    /// In async code: inside a task, or in the future of a `block_on`.
    #[track_caller]
    pub fn blocking_recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        wait_outside("blocking_recv_many", self.recv_many(buffer, limit))
    }

    /// Closes the channel: sending fails from now on. Messages that were sent before can still be received.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::mpsc::unbounded_channel();
    /// sender.send("sent before").unwrap();
    /// receiver.close();
    /// assert!(sender.send("too late").is_err());
    /// assert_eq!(receiver.recv().await, Some("sent before"));
    /// assert_eq!(receiver.recv().await, None);
    /// # });
    /// ```
    pub fn close(&mut self) {
        self.rx.shared.close();
    }

    /// Returns whether the channel was closed, or all senders have been dropped. There may still be messages.
    pub fn is_closed(&self) -> bool {
        self.rx.is_closed()
    }

    /// Returns whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.rx.len() == 0
    }

    /// Returns how many messages there are.
    pub fn len(&self) -> usize {
        self.rx.len()
    }

    /// As [`recv`](Self::recv), for futures and streams that are written by hand.
    ///
    /// If it returns [`Poll::Pending`], the waker of the last call is called when there is a message, or when
    /// none will come. The waker may also be called without such a reason.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        self.rx.poll_recv(cx)
    }

    /// As [`recv_many`](Self::recv_many), for futures and streams that are written by hand.
    ///
    /// If it returns [`Poll::Pending`], nothing was moved, and the waker of the last call is called as after
    /// [`poll_recv`](Self::poll_recv).
    pub fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        self.rx.poll_recv_many(cx, buffer, limit)
    }

    /// Returns how many senders there are.
    pub fn sender_strong_count(&self) -> usize {
        self.rx.shared.senders()
    }

    /// Returns how many weak senders there are.
    pub fn sender_weak_count(&self) -> usize {
        self.rx.shared.weak()
    }
}

impl<T> fmt::Debug for UnboundedReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnboundedReceiver").field("channel", &self.rx.shared).finish()
    }
}
