//! A channel that gives each value to each receiver.
//!
//! It keeps the last values, as many as its capacity says, for receivers that are slower than the senders. A
//! sender never waits: a receiver that is too slow loses the oldest values, and is told
//! [how many](error::RecvError::Lagged).
//!
//! If only the newest value matters, take [`watch`](super::watch). If each value is for one receiver, take
//! [`mpsc`](super::mpsc).
//!
//! # Examples
//!
//! A chat room: each message goes to all guests.
//!
//! ```
//! use liten::sync::broadcast;
//!
//! # liten::block_on(async {
//! let (room, _) = broadcast::channel::<String>(64);
//! let guests: Vec<_> = (0..3)
//!     .map(|_| {
//!         let mut hears = room.subscribe();
//!         liten::spawn(async move { hears.recv().await })
//!     })
//!     .collect();
//! assert_eq!(room.send("hello".to_string()).unwrap(), 3);
//! for guest in guests {
//!     assert_eq!(guest.await.unwrap().unwrap(), "hello");
//! }
//! # });
//! ```

pub mod error;
mod receiver;
mod ring;

pub use self::receiver::Receiver;

use self::error::SendError;
use self::ring::Ring;
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::Ordering;
use crate::engine::task::budget;
use crate::impls::impl_debug;
use std::task::Poll;

/// Returns a sender and a receiver of a new channel that keeps at least `capacity` values.
///
/// The capacity is rounded up to a power of two.
///
/// # Panics
///
/// If `capacity` is 0 or more than `usize::MAX / 2`.
#[track_caller]
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let ring = Ring::new(capacity, 1);
    (Sender { ring: ring.clone() }, Receiver::new(ring, 0))
}

/// Sends to all receivers; made by [`channel()`]. Clones send to the same channel.
pub struct Sender<T> {
    ring: Arc<Ring<T>>,
}

impl<T> Sender<T> {
    /// Returns the sender of a new channel that has no receiver yet. See [`channel()`] for `capacity`.
    ///
    /// # Panics
    ///
    /// If `capacity` is 0 or more than `usize::MAX / 2`.
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        Self { ring: Ring::new(capacity, 0) }
    }

    /// Sends `value` to all receivers that exist now; returns how many they are.
    ///
    /// Some of them may be dropped before they receive it.
    ///
    /// # Errors
    ///
    /// [`SendError`], with the value, if there is no receiver. A later call may succeed, after
    /// [`subscribe`](Self::subscribe).
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        self.ring.send(value).map_err(SendError)
    }

    /// Returns a receiver of what is sent from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// let sender = liten::sync::broadcast::Sender::new(16);
    /// assert!(sender.send(1).is_err());
    /// let mut receiver = sender.subscribe();
    /// assert_eq!(sender.send(2).unwrap(), 1);
    /// assert_eq!(receiver.try_recv(), Ok(2));
    /// ```
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver::new(self.ring.clone(), self.ring.enter())
    }

    /// Returns a sender that does not keep the channel open.
    pub fn downgrade(&self) -> WeakSender<T> {
        // Ordering: Relaxed, nothing is read on the strength of this number.
        self.ring.weak_senders.fetch_add(1, Ordering::Relaxed);
        WeakSender { ring: self.ring.clone() }
    }

    /// Returns how many values are kept because some receiver has not received them.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, mut receiver) = liten::sync::broadcast::channel(16);
    /// sender.send(1).unwrap();
    /// sender.send(2).unwrap();
    /// assert_eq!(sender.len(), 2);
    /// receiver.try_recv().unwrap();
    /// assert_eq!(sender.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Returns whether no value is kept.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Returns how many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.ring.tail.lock().receivers
    }

    /// Returns whether both send to the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }

    /// Waits until there is no receiver.
    ///
    /// When this returns, [`subscribe`](Self::subscribe) may already have made a new one.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future loses nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, receiver) = liten::sync::broadcast::channel::<u32>(16);
    /// liten::spawn(async move { drop(receiver) });
    /// sender.closed().await;
    /// assert_eq!(sender.receiver_count(), 0);
    /// # });
    /// ```
    pub async fn closed(&self) {
        let is_unheard = || self.ring.tail.lock().receivers == 0;
        let look = || if is_unheard() { Poll::Ready(()) } else { Poll::Pending };
        budget::within(self.ring.unheard.wait(0, |_| look())).await;
    }

    /// Returns how many senders there are.
    pub fn strong_count(&self) -> usize {
        // Ordering: Relaxed, nothing is read on the strength of this number.
        self.ring.senders.load(Ordering::Relaxed)
    }

    /// Returns how many weak senders there are.
    pub fn weak_count(&self) -> usize {
        // Ordering: Relaxed, nothing is read on the strength of this number.
        self.ring.weak_senders.load(Ordering::Relaxed)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        // Ordering: Relaxed, as for the count of an Arc: this sender keeps it above 0.
        self.ring.senders.fetch_add(1, Ordering::Relaxed);
        Self { ring: self.ring.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // Ordering: Relaxed: what the senders have done went through the tail's lock, which the last one
        // takes.
        if self.ring.senders.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.ring.close();
        }
    }
}

impl_debug!([T] Sender<T>, "broadcast::Sender");

/// A sender that does not keep the channel open; made by [`Sender::downgrade`].
pub struct WeakSender<T> {
    ring: Arc<Ring<T>>,
}

impl<T> WeakSender<T> {
    /// Returns a sender, or `None` if all senders have been dropped.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.ring.add_sender().then(|| Sender { ring: self.ring.clone() })
    }

    /// Returns how many senders there are.
    pub fn strong_count(&self) -> usize {
        // Ordering: Relaxed, nothing is read on the strength of this number.
        self.ring.senders.load(Ordering::Relaxed)
    }

    /// Returns how many weak senders there are.
    pub fn weak_count(&self) -> usize {
        // Ordering: Relaxed, nothing is read on the strength of this number.
        self.ring.weak_senders.load(Ordering::Relaxed)
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        // Ordering: Relaxed, nothing is read on the strength of this number.
        self.ring.weak_senders.fetch_add(1, Ordering::Relaxed);
        Self { ring: self.ring.clone() }
    }
}

impl<T> Drop for WeakSender<T> {
    fn drop(&mut self) {
        // Ordering: Relaxed, nothing is read on the strength of this number.
        self.ring.weak_senders.fetch_sub(1, Ordering::Relaxed);
    }
}

impl_debug!([T] WeakSender<T>, "broadcast::WeakSender");

#[cfg(all(test, liten_loom))]
mod loom;
