//! Room for a message that was reserved before the message exists.

use super::bounded::Sender;
use super::room::Bounded;
use super::shared::{Shared, Tx};
use crate::impls::impl_debug;
use std::iter::FusedIterator;
use std::mem;

/// Room for one message, which [`Sender::reserve`] and [`Sender::try_reserve`] return.
///
/// A permit that is dropped without sending gives the room back.
pub struct Permit<'a, T> {
    shared: &'a Shared<T, Bounded>,
}

impl<'a, T> Permit<'a, T> {
    pub(super) fn new(shared: &'a Shared<T, Bounded>) -> Self {
        Self { shared }
    }

    /// Sends `value`, without waiting.
    ///
    /// The channel may have been closed after the room had been reserved: its receiver waits for the messages
    /// of the permits. If the receiver has been dropped, the value is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::mpsc::channel(1);
    /// let permit = sender.reserve().await.unwrap();
    /// assert!(sender.try_send(1).is_err(), "the only place is reserved");
    /// permit.send(2);
    /// assert_eq!(receiver.recv().await, Some(2));
    /// # });
    /// ```
    pub fn send(self, value: T) {
        let shared = self.shared;
        mem::forget(self);
        drop(shared.push(value));
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.shared.give_back(1);
    }
}

impl_debug!([T] Permit<'_, T>, this => "Permit" { channel: this.shared });

/// Room for several messages, as an iterator of [`Permit`]s; [`Sender::reserve_many`] and
/// [`Sender::try_reserve_many`] return it.
///
/// When it is dropped, it gives back the room for which it has not returned a permit.
pub struct PermitIterator<'a, T> {
    shared: &'a Shared<T, Bounded>,
    left: usize,
}

impl<'a, T> PermitIterator<'a, T> {
    pub(super) fn new(shared: &'a Shared<T, Bounded>, left: usize) -> Self {
        Self { shared, left }
    }
}

impl<'a, T> Iterator for PermitIterator<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.left = self.left.checked_sub(1)?;
        Some(Permit::new(self.shared))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for PermitIterator<'_, T> {}
impl<T> FusedIterator for PermitIterator<'_, T> {}

impl<T> Drop for PermitIterator<'_, T> {
    fn drop(&mut self) {
        if self.left > 0 {
            self.shared.give_back(self.left);
        }
    }
}

impl_debug!([T] PermitIterator<'_, T>, this => "PermitIterator" {
    channel: this.shared,
    left: this.left,
});

/// Room for one message together with the sender that reserved it; [`Sender::reserve_owned`] and
/// [`Sender::try_reserve_owned`] return it.
///
/// It borrows nothing, so it may be moved into another task. If it is dropped without sending, it gives the
/// room back and drops the sender.
pub struct OwnedPermit<T> {
    /// `None` when the room was used or given back.
    tx: Option<Tx<T, Bounded>>,
}

impl<T> OwnedPermit<T> {
    pub(super) fn new(tx: Tx<T, Bounded>) -> Self {
        Self { tx: Some(tx) }
    }

    fn take(&mut self) -> Tx<T, Bounded> {
        self.tx.take().expect("only methods that take the permit by value take its sender")
    }

    /// Sends `value`, without waiting; returns the sender.
    ///
    /// The channel may have been closed after the room had been reserved: see [`Permit::send`].
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::mpsc::channel(1);
    /// let permit = sender.reserve_owned().await.unwrap();
    /// let sender = permit.send("hello");
    /// assert_eq!(receiver.recv().await, Some("hello"));
    /// sender.send("again").await.unwrap();
    /// # });
    /// ```
    pub fn send(mut self, value: T) -> Sender<T> {
        let tx = self.take();
        drop(tx.shared.push(value));
        Sender { tx }
    }

    /// Gives the room back; returns the sender.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, _receiver) = liten::sync::mpsc::channel::<()>(1);
    /// let permit = sender.reserve_owned().await.unwrap();
    /// let sender = permit.release();
    /// assert_eq!(sender.capacity(), 1);
    /// # });
    /// ```
    pub fn release(mut self) -> Sender<T> {
        let tx = self.take();
        tx.shared.give_back(1);
        Sender { tx }
    }

    /// Returns whether both permits are of the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        self.is_of(other.tx.as_ref())
    }

    /// Returns whether the permit and `sender` are of the same channel.
    pub fn same_channel_as_sender(&self, sender: &Sender<T>) -> bool {
        self.is_of(Some(&sender.tx))
    }

    fn is_of(&self, other: Option<&Tx<T, Bounded>>) -> bool {
        self.tx.as_ref().zip(other).is_some_and(|(tx, other)| tx.same_channel(other))
    }
}

impl<T> Drop for OwnedPermit<T> {
    fn drop(&mut self) {
        if let Some(tx) = self.tx.take() {
            tx.shared.give_back(1);
        }
    }
}

impl_debug!([T] OwnedPermit<T>, this => "OwnedPermit" {
    channel: this.tx.as_ref().map(|tx| &tx.shared),
});
