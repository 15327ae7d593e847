//! Channels with a bound, and their senders, also those that do not keep their channel open.

use super::error::{SendError, SendTimeoutError, TrySendError};
use super::permit::{OwnedPermit, Permit, PermitIterator};
use super::receive::Rx;
use super::receiver::Receiver;
use super::room::{Bounded, Room};
use super::shared::{Shared, Tx, WeakTx};
use crate::engine::sync_shim::Arc;
use crate::engine::tokio_note::{NOTE, noted};
use crate::impls::impl_debug;
use crate::runtime::block_on::wait_outside;
use crate::runtime::gauges::{Gauge, Measured};
use crate::runtime::tokio_words;
use crate::sync::await_place::awaited_here;
use crate::sync::permits::{Owner, Permits, Refusal};
use crate::time::{Duration, timeout};
use std::mem;
use std::panic::Location;
use std::ptr::from_ref;

/// Returns the two ends of a new channel with room for `buffer` messages.
///
/// # Panics
///
/// If `buffer` is 0, or more than `usize::MAX / 8`.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let (sender, mut receiver) = liten::sync::mpsc::channel(8);
/// for number in 0..3 {
///     let sender = sender.clone();
///     liten::spawn(async move { sender.send(number).await });
/// }
/// drop(sender);
///
/// let mut sum = 0;
/// while let Some(number) = receiver.recv().await {
///     sum += number;
/// }
/// assert_eq!(sum, 3);
/// # });
/// ```
#[track_caller]
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, noted!("mpsc bounded channel requires buffer > 0"));
    assert!(
        buffer <= Permits::MAX,
        "a bounded channel has room for {} messages at most, not for {buffer}{NOTE}",
        Permits::MAX
    );
    let room = Bounded { permits: Permits::new(buffer, Owner::Channel), bound: buffer };
    let gauge = Gauge::new(Measured::Bounded, Some(buffer), Location::caller());
    let shared = Arc::new(Shared::new(room, gauge.clone()));
    gauge.is_of(|| [from_ref(&*shared).addr(), from_ref(&shared.room.permits).addr()]);
    (Sender { tx: Tx { shared: shared.clone() } }, Receiver { rx: Rx::new(shared, gauge) })
}

/// Sends messages to a [`Receiver`]; may be cloned. Made by [`channel`].
pub struct Sender<T> {
    pub(super) tx: Tx<T, Bounded>,
}

/// A future that waited for room gives back what it had collected, and the receiver of a closed channel may
/// wait for that.
struct GivesUp<'a, T>(&'a Shared<T, Bounded>);

impl<T> Drop for GivesUp<'_, T> {
    fn drop(&mut self) {
        self.0.wake_if_ended();
    }
}

impl<T> Sender<T> {
    fn shared(&self) -> &Shared<T, Bounded> {
        &self.tx.shared
    }

    fn room(&self) -> &Bounded {
        &self.tx.shared.room
    }

    /// Sends `value` as soon as there is room for it.
    ///
    /// Success does not mean that it will be received: the receiver may be closed or dropped before.
    ///
    /// # Errors
    ///
    /// [`SendError`], with the value, if the channel is closed.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before it is ready has not sent the value, and drops it. It also loses its
    /// place among the senders that wait. With [`reserve`](Self::reserve) the caller keeps the value while it
    /// waits.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::mpsc::channel(1);
    /// sender.send("hello").await.unwrap();
    /// assert_eq!(receiver.recv().await, Some("hello"));
    /// drop(receiver);
    /// assert_eq!(sender.send("too late").await.unwrap_err().0, "too late");
    /// # });
    /// ```
    #[track_caller]
    pub fn send(&self, value: T) -> impl Future<Output = Result<(), SendError<T>>> {
        awaited_here(async move {
            match self.acquire(1).await {
                Ok(()) => {
                    // The message has its room, so this succeeds although the receiver may be dropped
                    // meanwhile.
                    drop(self.shared().push(value));
                    Ok(())
                }
                Err(SendError(())) => Err(SendError(value)),
            }
        })
    }

    /// Sends `message` if there is room for it now.
    ///
    /// # Errors
    ///
    /// [`TrySendError`], with the message, if there is no room or the channel is closed.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::mpsc::{channel, error::TrySendError};
    ///
    /// let (sender, receiver) = channel(1);
    /// assert_eq!(sender.try_send(1), Ok(()));
    /// assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    /// drop(receiver);
    /// assert_eq!(sender.try_send(3), Err(TrySendError::Closed(3)));
    /// ```
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        match self.room().permits.try_acquire(1) {
            Ok(()) => {
                drop(self.shared().push(message));
                Ok(())
            }
            Err(Refusal::TooFew) => Err(TrySendError::Full(message)),
            Err(Refusal::Closed) => Err(TrySendError::Closed(message)),
        }
    }

    /// Sends `value` if there is room for it within `timeout`.
    ///
    /// # Errors
    ///
    /// [`SendTimeoutError`], with the value, if the time has passed or the channel is closed.
    ///
    /// # Panics
    ///
    /// Outside a runtime.
    ///
    /// # Cancel safety
    ///
    /// As of [`send`](Self::send).
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::mpsc::{channel, error::SendTimeoutError};
    /// use std::time::Duration;
    ///
    /// # liten::block_on(async {
    /// let (sender, _receiver) = channel(1);
    /// let soon = Duration::from_millis(1);
    /// assert_eq!(sender.send_timeout(1, soon).await, Ok(()));
    /// assert_eq!(sender.send_timeout(2, soon).await, Err(SendTimeoutError::Timeout(2)));
    /// # });
    /// ```
    #[track_caller]
    pub fn send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> impl Future<Output = Result<(), SendTimeoutError<T>>> {
        awaited_here(async move {
            tokio_words::assert_timer(|| crate::runtime::Handle::try_current().is_ok());
            match self::timeout(timeout, self.acquire(1)).await {
                Ok(Ok(())) => {
                    Permit::new(self.shared()).send(value);
                    Ok(())
                }
                Ok(Err(_)) => Err(SendTimeoutError::Closed(value)),
                Err(_) => Err(SendTimeoutError::Timeout(value)),
            }
        })
    }

    /// Sends `value`, and blocks the thread until there is room for it; for code that is not async.
    ///
    /// # Errors
    ///
    /// [`SendError`], with the value, if the channel is closed.
    ///
    /// # Panics
    ///
    /// In async code: inside a task, or in the future of a `block_on`.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, mut receiver) = liten::sync::mpsc::channel(1);
    /// let thread = std::thread::spawn(move || sender.blocking_send(1));
    /// assert_eq!(receiver.blocking_recv(), Some(1));
    /// assert!(thread.join().unwrap().is_ok());
    /// ```
    #[track_caller]
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        wait_outside("blocking_send", self.send(value))
    }

    /// Waits for room for one message, and returns it as a [`Permit`].
    ///
    /// # Errors
    ///
    /// [`SendError`] if the channel is closed.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped loses its place among the senders that wait, and nothing else.
    ///
    /// # Examples
    ///
    /// See [`Permit::send`].
    #[track_caller]
    pub fn reserve(&self) -> impl Future<Output = Result<Permit<'_, T>, SendError<()>>> {
        awaited_here(async move {
            self.acquire(1).await?;
            Ok(Permit::new(self.shared()))
        })
    }

    /// Waits for room for `n` messages, and returns an iterator of `n` [`Permit`]s.
    ///
    /// # Errors
    ///
    /// [`SendError`] if the channel is closed, or has room for fewer messages even when it is empty.
    ///
    /// # Cancel safety
    ///
    /// As of [`reserve`](Self::reserve).
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::mpsc::channel(4);
    /// for (number, permit) in sender.reserve_many(3).await.unwrap().enumerate() {
    ///     permit.send(number);
    /// }
    /// let mut numbers = Vec::new();
    /// receiver.recv_many(&mut numbers, 10).await;
    /// assert_eq!(numbers, [0, 1, 2]);
    /// # });
    /// ```
    #[track_caller]
    pub fn reserve_many(
        &self,
        n: usize,
    ) -> impl Future<Output = Result<PermitIterator<'_, T>, SendError<()>>> {
        awaited_here(async move {
            self.acquire(n).await?;
            Ok(PermitIterator::new(self.shared(), n))
        })
    }

    /// Waits for room for one message, and returns it together with this sender.
    ///
    /// To keep the sender, clone it before: `sender.clone().reserve_owned()`.
    ///
    /// # Errors
    ///
    /// [`SendError`] if the channel is closed; the sender is dropped.
    ///
    /// # Cancel safety
    ///
    /// As of [`reserve`](Self::reserve); the sender is dropped with the future.
    ///
    /// # Examples
    ///
    /// See [`OwnedPermit::send`].
    #[track_caller]
    pub fn reserve_owned(self) -> impl Future<Output = Result<OwnedPermit<T>, SendError<()>>> {
        awaited_here(async move {
            self.acquire(1).await?;
            Ok(OwnedPermit::new(self.tx))
        })
    }

    async fn acquire(&self, count: usize) -> Result<(), SendError<()>> {
        if count > self.room().bound {
            return Err(SendError(()));
        }
        let gives_up = GivesUp(self.shared());
        match self.room().permits.acquire_ready(count).await {
            Ok(()) => {
                mem::forget(gives_up);
                Ok(())
            }
            Err(_) => Err(SendError(())),
        }
    }

    /// Returns a [`Permit`] for one message if there is room for it now.
    ///
    /// # Errors
    ///
    /// [`TrySendError`] if there is no room or the channel is closed.
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TrySendError<()>> {
        self.try_acquire(1)?;
        Ok(Permit::new(self.shared()))
    }

    /// Returns an iterator of `n` [`Permit`]s if there is room for `n` messages now.
    ///
    /// # Errors
    ///
    /// [`TrySendError`] if there is less room or the channel is closed.
    pub fn try_reserve_many(&self, n: usize) -> Result<PermitIterator<'_, T>, TrySendError<()>> {
        // Also when it is closed, because there never was room for so many.
        if n > self.room().bound {
            return Err(TrySendError::Full(()));
        }
        self.try_acquire(n)?;
        Ok(PermitIterator::new(self.shared(), n))
    }

    /// Returns room for one message, together with this sender, if there is room now.
    ///
    /// # Errors
    ///
    /// [`TrySendError`], with the sender, if there is no room or the channel is closed.
    pub fn try_reserve_owned(self) -> Result<OwnedPermit<T>, TrySendError<Self>> {
        match self.try_acquire(1) {
            Ok(()) => Ok(OwnedPermit::new(self.tx)),
            Err(TrySendError::Full(())) => Err(TrySendError::Full(self)),
            Err(TrySendError::Closed(())) => Err(TrySendError::Closed(self)),
        }
    }

    fn try_acquire(&self, count: usize) -> Result<(), TrySendError<()>> {
        self.room().permits.try_acquire(count).map_err(|refusal| match refusal {
            Refusal::TooFew => TrySendError::Full(()),
            Refusal::Closed => TrySendError::Closed(()),
        })
    }

    /// Returns for how many messages there is room now. Reserved room counts as used.
    pub fn capacity(&self) -> usize {
        self.room().permits.available()
    }

    /// Returns for how many messages there is room in the empty channel, as [`channel`] was told.
    pub fn max_capacity(&self) -> usize {
        self.room().bound
    }

    sender_methods!(WeakSender);
}

clones!(Sender);

impl_debug!([T] Sender<T>, this => "Sender" { channel: this.tx.shared });

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
    tx: WeakTx<T, Bounded>,
}

impl<T> WeakSender<T> {
    weak_sender_methods!(Sender);
}

clones!(WeakSender);

impl_debug!([T] WeakSender<T>, "WeakSender");
