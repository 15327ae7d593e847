//! The receiving half.

use super::error::{RecvError, TryRecvError};
use super::ring::{Found, Ring};
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::Ordering;
use crate::engine::task::budget;
use crate::engine::task::waker::set_note;
use crate::engine::wakers::{self, Place};
use crate::impls::impl_debug;
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::block_on::wait_outside;
use crate::sync::await_place::awaited_here;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Receives what is sent after it was made; made by [`channel`](super::channel()) and
/// [`Sender::subscribe`](super::Sender::subscribe).
///
/// Each receiver gets a clone of each value. A receiver is not `Clone`: see
/// [`resubscribe`](Self::resubscribe).
pub struct Receiver<T> {
    ring: Arc<Ring<T>>,
    /// The number of the value that it receives next.
    next: u64,
}

impl<T> Receiver<T> {
    pub(super) fn new(ring: Arc<Ring<T>>, next: u64) -> Self {
        Self { ring, next }
    }

    /// Returns how many values were sent and not received here. Values that were overwritten count, too.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, mut receiver) = liten::sync::broadcast::channel(16);
    /// sender.send(1).unwrap();
    /// sender.send(2).unwrap();
    /// assert_eq!(receiver.len(), 2);
    /// assert_eq!(receiver.try_recv(), Ok(1));
    /// assert_eq!(receiver.len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        let next = self.ring.tail.lock().next;
        usize::try_from(next.wrapping_sub(self.next)).unwrap_or(usize::MAX)
    }

    /// Returns whether there is nothing to receive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether both receive from the same channel.
    pub fn same_channel(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.ring, &other.ring)
    }

    /// Returns how many senders there are.
    pub fn sender_strong_count(&self) -> usize {
        // Ordering: Relaxed, nothing is read on the strength of this number.
        self.ring.senders.load(Ordering::Relaxed)
    }

    /// Returns how many weak senders there are.
    pub fn sender_weak_count(&self) -> usize {
        // Ordering: Relaxed, nothing is read on the strength of this number.
        self.ring.weak_senders.load(Ordering::Relaxed)
    }

    /// Returns whether all senders have been dropped. There may still be values to receive.
    pub fn is_closed(&self) -> bool {
        self.ring.tail.lock().closed
    }

    /// Takes what was found, or moves on past values that were overwritten; `None` if the receiver has to
    /// wait.
    fn settle<'a, R>(
        next: &mut u64,
        found: Found<'a, T>,
        take: impl FnOnce(super::ring::Taken<'a, T>) -> R,
    ) -> Option<Result<R, RecvError>> {
        match found {
            Found::Value(taken) => {
                // Before the value is cloned: if the clone panics, the next call must not try it again.
                *next = next.wrapping_add(1);
                Some(Ok(take(taken)))
            }
            Found::Empty => None,
            Found::Closed => Some(Err(RecvError::Closed)),
            Found::Lagged(count) => {
                *next = next.wrapping_add(count);
                Some(Err(RecvError::Lagged(count)))
            }
        }
    }
}

impl<T: Clone> Receiver<T> {
    /// Returns a receiver of the same channel for what is sent from now on.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, mut first) = liten::sync::broadcast::channel(16);
    /// sender.send(1).unwrap();
    /// let mut second = first.resubscribe();
    /// sender.send(2).unwrap();
    /// assert_eq!(first.try_recv(), Ok(1));
    /// assert_eq!(second.try_recv(), Ok(2));
    /// ```
    pub fn resubscribe(&self) -> Self {
        Self::new(self.ring.clone(), self.ring.enter())
    }

    /// Waits for the next value.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future receives nothing.
    ///
    /// # Errors
    ///
    /// [`Lagged`](RecvError::Lagged) if values were overwritten before they were received here: the next call
    /// returns the oldest one that is left. [`Closed`](RecvError::Closed) if all senders have been dropped
    /// and every value was received.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::broadcast::{self, error::RecvError};
    ///
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = broadcast::channel(2);
    /// for number in 1..=3 {
    ///     sender.send(number).unwrap();
    /// }
    /// drop(sender);
    /// assert_eq!(receiver.recv().await, Err(RecvError::Lagged(1)));
    /// assert_eq!(receiver.recv().await, Ok(2));
    /// assert_eq!(receiver.recv().await, Ok(3));
    /// assert_eq!(receiver.recv().await, Err(RecvError::Closed));
    /// # });
    /// ```
    #[track_caller]
    pub fn recv(&mut self) -> impl Future<Output = Result<T, RecvError>> {
        awaited_here(Recv { receiver: self, place: Place::new(0) })
    }

    /// Returns the next value if there is one.
    ///
    /// # Errors
    ///
    /// [`Empty`](TryRecvError::Empty) if there is none yet; otherwise as [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let found = self.ring.find(self.next);
        match Self::settle(&mut self.next, found, |taken| taken.value()) {
            Some(Ok(value)) => Ok(value),
            Some(Err(RecvError::Closed)) => Err(TryRecvError::Closed),
            Some(Err(RecvError::Lagged(count))) => Err(TryRecvError::Lagged(count)),
            None => Err(TryRecvError::Empty),
        }
    }

    /// As [`recv`](Self::recv), but blocks the thread; for code that is not async.
    ///
    /// # Panics
    ///
    /// In async code: inside a task, or in the future of a `block_on`.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, mut receiver) = liten::sync::broadcast::channel(16);
    /// let thread = std::thread::spawn(move || receiver.blocking_recv());
    /// sender.send(5).unwrap();
    /// assert_eq!(thread.join().unwrap(), Ok(5));
    /// ```
    #[track_caller]
    pub fn blocking_recv(&mut self) -> Result<T, RecvError> {
        wait_outside("Receiver::blocking_recv", self.recv())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let (until, last) = self.ring.leave();
        Leaving { receiver: self, until, last }.take_all();
    }
}

/// A receiver that is being dropped. It is not counted any more, but some values still wait for it.
struct Leaving<'a, T> {
    receiver: &'a mut Receiver<T>,
    /// The number after that of the last of these values.
    until: u64,
    last: bool,
}

impl<T> Leaving<'_, T> {
    fn take_all(&mut self) {
        let Receiver { ring, next } = &mut *self.receiver;
        // After `Lagged`, `next` may be beyond `until`. Values from there on do not wait for this receiver.
        while *next < self.until {
            let found = ring.find(*next);
            match Receiver::settle(next, found, drop) {
                Some(Ok(()) | Err(RecvError::Lagged(_))) => {}
                Some(Err(RecvError::Closed)) | None => break,
            }
        }
    }
}

impl<T> Drop for Leaving<'_, T> {
    fn drop(&mut self) {
        // The rest of the values, if the destructor of one has panicked.
        self.take_all();
        // After its values are gone, so that a task that is woken finds none.
        if self.last {
            self.receiver.ring.tell_unheard();
        }
    }
}

impl_debug!([T] Receiver<T>, "broadcast::Receiver");

pin_project! {
    /// Waits for the next value.
    struct Recv<'a, T> {
        receiver: &'a mut Receiver<T>,
        #[pin]
        place: Place,
    }

    impl<T> PinnedDrop for Recv<'_, T> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.receiver.ring.tail.leave(this.place.as_ref());
        }
    }
}

impl<T: Clone> Future for Recv<'_, T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let place = this.place.as_ref();
        let Receiver { ring, next } = &mut **this.receiver;
        budget::poll_leaf(cx, |cx| {
            // Only without a place in the list, because leaving the list needs the tail's lock.
            if !place.is_linked() && ring.seems_sent(*next) {
                let found = ring.find(*next);
                if let Some(result) = Receiver::settle(next, found, |taken| taken.value()) {
                    return Poll::Ready(result);
                }
            }
            let poll = ring.tail.poll(place, cx, |tail| {
                if !tail.is_waited_for(*next) {
                    return Poll::Ready(tail.leave(place));
                }
                if !tail.holds(&place) {
                    place.prepare(*next as usize);
                }
                Poll::Pending
            });
            if poll.is_pending() {
                set_note(cx.waker(), PrimitiveKind::Broadcast, &raw const **ring);
            }
            poll.map(|waker| {
                wakers::drop_all(waker);
                // The value is cloned without the tail's lock, so it may be overwritten before that.
                let found = ring.find(*next);
                let result = Receiver::settle(next, found, |taken| taken.value());
                result.expect("what was sent stays sent")
            })
        })
    }
}
