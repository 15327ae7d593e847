//! The receiving half, and the guard of a value that is borrowed.

use super::error::RecvError;
use super::{SPREAD, STEP, Shared, Version};
use crate::engine::sync_shim::atomic::Ordering;
use crate::engine::sync_shim::{Arc, RwLockReadGuard};
use crate::engine::task::budget;
use crate::engine::task::waker::set_note;
use crate::primitive_kind::PrimitiveKind;
use crate::sync::await_place::awaited_here;
use crate::sync::notify::Notified;
use std::fmt;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

/// Sees the latest value, and waits for a newer one; made by [`channel`](super::channel) and
/// [`Sender::subscribe`](super::Sender::subscribe).
///
/// It remembers which value it has seen last. A clone has seen the same value.
#[derive(Debug)]
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    memory: Memory,
}

/// The version that a receiver has seen, and, in the bits below it, at which of the channel's `Notify`s it
/// waits (its *index*). One word, so that a receiver is no larger than tokio's.
#[derive(Debug, Clone, Copy)]
struct Memory(usize);

impl Memory {
    fn new(seen: Version, index: usize) -> Self {
        Self(seen.0 | (index << 1))
    }

    fn seen(self) -> Version {
        Version(self.0 & !(STEP - 1))
    }

    fn index(self) -> usize {
        (self.0 & (STEP - 1)) >> 1
    }

    /// Counts `version` as seen, and returns whether it was not before.
    fn see(&mut self, version: Version) -> bool {
        let is_new = self.seen() != version;
        *self = Self::new(version, self.index());
        is_new
    }
}

impl<T> Receiver<T> {
    pub(super) fn new(shared: Arc<Shared<T>>, seen: Version) -> Self {
        // Ordering: Relaxed: there is a sender or a receiver that keeps the channel as it is.
        let before = shared.receivers.fetch_add(1, Ordering::Relaxed);
        Self { shared, memory: Memory::new(seen, before % SPREAD) }
    }

    /// Returns the latest value, which does not count as seen by this call.
    ///
    /// No sender can replace the value as long as the [`Ref`] is held, so hold it for a short time, and not
    /// across an await. A thread that holds a `Ref` and *sends* waits for itself for ever.
    ///
    /// A second borrow beside a `Ref` succeeds, also if a sender has begun to wait between the two: it waits
    /// behind the sender for a fraction of a millisecond, and then gets the same value as the first one.
    /// Readers that go on holding `Ref`s side by side do not keep the sender out: each further time the wait
    /// is twice as long, up to 1.6 seconds. (With tokio's channel a second borrow may wait for ever.)
    pub fn borrow(&self) -> Ref<'_, T> {
        let value = self.shared.read();
        let has_changed = self.memory.seen() != self.shared.version();
        Ref::new(value, has_changed)
    }

    /// Returns the latest value, which counts as seen: [`changed`](Self::changed) waits for a newer one.
    ///
    /// Apart from that it is like [`borrow`](Self::borrow).
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, mut receiver) = liten::sync::watch::channel(1);
    /// sender.send(2).unwrap();
    /// assert!(receiver.borrow_and_update().has_changed());
    /// assert!(!receiver.has_changed().unwrap());
    /// ```
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.shared.read();
        let version = self.shared.version();
        let has_changed = self.memory.see(version);
        Ref::new(value, has_changed)
    }

    /// Returns whether there is a value that this receiver has not seen.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if all senders have been dropped, also if their last value was not seen.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        match self.shared.state() {
            (_, true) => Err(RecvError(())),
            (version, false) => Ok(self.memory.seen() != version),
        }
    }

    /// Returns whether all senders have been dropped.
    pub fn is_closed(&self) -> bool {
        self.shared.state().1
    }

    /// Counts the present value as not seen: the next [`changed`](Self::changed) returns at once.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::watch::channel(1);
    /// receiver.mark_changed();
    /// // The first value is now handled as all that follow.
    /// receiver.changed().await.unwrap();
    /// assert_eq!(*receiver.borrow_and_update(), 1);
    /// # drop(sender);
    /// # });
    /// ```
    pub fn mark_changed(&mut self) {
        self.memory.see(Version(self.memory.seen().0.wrapping_sub(STEP)));
    }

    /// Counts the present value as seen, without looking at it.
    pub fn mark_unchanged(&mut self) {
        self.memory.see(self.shared.version());
    }

    /// Waits until there is a value that was not seen, and counts it as seen.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a future that is dropped before it is ready has marked no value as seen.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if all senders have been dropped and their last value was seen.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::watch::channel(1);
    /// liten::spawn(async move { sender.send(2) });
    /// assert!(receiver.changed().await.is_ok());
    /// assert_eq!(*receiver.borrow(), 2);
    /// assert!(receiver.changed().await.is_err());
    /// # });
    /// ```
    #[track_caller]
    pub fn changed(&mut self) -> impl Future<Output = Result<(), RecvError>> {
        awaited_here(async move {
            // `budget::within` would do, but its future in a future costs a twentieth of what a receiver does
            // for a value.
            let mut change = Change { shared: &self.shared, memory: &mut self.memory };
            let mut notified = pin!(change.notified());
            poll_fn(|cx| budget::poll_leaf(cx, |cx| change.poll(notified.as_mut(), cx))).await
        })
    }

    /// Waits until `f` returns true for the value, and returns that value, which counts as seen. The present
    /// value is tried first.
    ///
    /// `f` runs under the lock of the value: it should be short, and must not send to this channel. It is not
    /// called for a value that is replaced before this receiver looks.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, but values for which `f` has returned false before the future was dropped may count as
    /// seen.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if all senders have been dropped, and `f` returns false for their last value.
    ///
    /// # Panics
    ///
    /// If `f` panics; the value that it was called for counts as seen.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::watch::channel(0);
    /// liten::spawn(async move { (1..=10).for_each(|number| drop(sender.send(number))) });
    /// assert!(*receiver.wait_for(|number| *number > 7).await.unwrap() > 7);
    /// # });
    /// ```
    #[track_caller]
    pub fn wait_for(
        &mut self,
        f: impl FnMut(&T) -> bool,
    ) -> impl Future<Output = Result<Ref<'_, T>, RecvError>> {
        awaited_here(async move { budget::within(self.wait_for_unbudgeted(f)).await })
    }

    async fn wait_for_unbudgeted(
        &mut self,
        mut f: impl FnMut(&T) -> bool,
    ) -> Result<Ref<'_, T>, RecvError> {
        let mut closed = false;
        loop {
            {
                let value = self.shared.read();
                let version = self.shared.version();
                let has_changed = self.memory.see(version);
                // After the closing, `f` is only asked if the value is newer than the one it was asked for
                // last.
                if (!closed || has_changed) && f(&value) {
                    return Ok(Ref::new(value, has_changed));
                }
            }
            if closed {
                return Err(RecvError(()));
            }
            let mut change = Change { shared: &self.shared, memory: &mut self.memory };
            let mut notified = pin!(change.notified());
            closed = poll_fn(|cx| change.poll(notified.as_mut(), cx)).await.is_err();
        }
    }

    /// Returns whether both receive from the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

/// What [`Receiver::changed`] waits for.
struct Change<'a, T> {
    shared: &'a Shared<T>,
    memory: &'a mut Memory,
}

impl<'a, T> Change<'a, T> {
    fn notified(&self) -> Notified<'a> {
        self.shared.changed[self.memory.index()].notified_inside()
    }

    /// `notified` was made before the look at the state, so a change that comes after the look notifies it.
    fn poll(
        &mut self,
        mut notified: Pin<&mut Notified<'a>>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), RecvError>> {
        loop {
            let (version, closed) = self.shared.state();
            if self.memory.see(version) {
                return Poll::Ready(Ok(()));
            }
            if closed {
                return Poll::Ready(Err(RecvError(())));
            }
            if notified.as_mut().poll(cx).is_pending() {
                set_note(cx.waker(), PrimitiveKind::Watch, self.shared);
                return Poll::Pending;
            }
            notified.set(self.notified());
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self::new(self.shared.clone(), self.memory.seen())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // Ordering: Release pairs with the Acquire in `Sender::receiver_count`.
        if self.shared.receivers.fetch_sub(1, Ordering::Release) == 1 {
            self.shared.unwatched.notify_waiters();
        }
    }
}

/// The value of a channel, which no sender can replace as long as this is held.
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
    has_changed: bool,
}

// As a reference to the value.
impl<T: RefUnwindSafe> UnwindSafe for Ref<'_, T> {}
impl<T: RefUnwindSafe> RefUnwindSafe for Ref<'_, T> {}

impl<'a, T> Ref<'a, T> {
    pub(super) fn new(value: RwLockReadGuard<'a, T>, has_changed: bool) -> Self {
        Self { value, has_changed }
    }

    /// Returns whether the receiver had not seen this value before it borrowed it; false for what a sender
    /// borrows.
    pub fn has_changed(&self) -> bool {
        self.has_changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Ref");
        debug.field("inner", &**self).field("has_changed", &self.has_changed).finish()
    }
}
