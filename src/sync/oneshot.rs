//! Channels for one value, from one [`Sender`] to one [`Receiver`].
//!
//! [`channel`] makes both. The sender sends without waiting. The receiver is a future. It is ready with the
//! value, or with an error if the sender was dropped without sending. Neither of them takes a lock: they
//! share one atomic word beside the value, in one allocation.
//!
//! The typical use is the answer to a request. A task that owns some state (an *actor*) takes requests from a
//! channel with many senders, and each request contains the sender for its answer:
//!
//! ```
//! use liten::sync::{mpsc, oneshot};
//!
//! enum Request {
//!     Add(u64),
//!     Total(oneshot::Sender<u64>),
//! }
//!
//! # liten::block_on(async {
//! let (requests, mut inbox) = mpsc::channel(8);
//! let actor = liten::spawn(async move {
//!     let mut total = 0;
//!     while let Some(request) = inbox.recv().await {
//!         match request {
//!             Request::Add(number) => total += number,
//!             // `send` fails if the task that asked has ended meanwhile.
//!             Request::Total(answer) => drop(answer.send(total)),
//!         }
//!     }
//! });
//!
//! requests.send(Request::Add(40)).await.unwrap();
//! requests.send(Request::Add(2)).await.unwrap();
//! let (answer, receiver) = oneshot::channel();
//! requests.send(Request::Total(answer)).await.unwrap();
//! assert_eq!(receiver.await, Ok(42));
//!
//! drop(requests);
//! actor.await.unwrap();
//! # });
//! ```
//!
//! Receiving counts against the budget of the task (see [`consume_budget`]), and so does a
//! [`closed`](Sender::closed) that is ready. Channels work without a runtime, and between runtimes.
//!
//! [`consume_budget`]: crate::task::consume_budget

mod cell;
pub mod error;

use self::cell::{ReceiveHalf, SendHalf};
use self::error::{RecvError, TryRecvError};
use super::await_place::note_place;
use crate::engine::task::budget;
use crate::engine::task::waker::set_note;
use crate::engine::tokio_note::noted;
use crate::impls::{impl_debug, impl_unwind_safe};
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::block_on::wait_outside;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Returns the two halves of a new channel.
///
/// # Examples
///
/// ```
/// # liten::block_on(async {
/// let (sender, receiver) = liten::sync::oneshot::channel();
/// liten::spawn(async move { sender.send(42) });
/// assert_eq!(receiver.await, Ok(42));
/// # });
/// ```
#[must_use]
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (sender, receiver) = cell::halves();
    (Sender { half: sender }, Receiver { half: Some(receiver) })
}

/// Sends one value to its [`Receiver`]; made by [`channel`].
///
/// A sender that is dropped without having sent gives its receiver a [`RecvError`].
pub struct Sender<T> {
    half: SendHalf<T>,
}

impl<T> Sender<T> {
    /// Sends `value`. Never waits, so it may be called outside of async code, too.
    ///
    /// `Ok` says that the value is in the channel. The receiver may still be dropped before it takes the
    /// value out.
    ///
    /// # Errors
    ///
    /// The value, if the receiver has been dropped or closed.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, receiver) = liten::sync::oneshot::channel();
    /// drop(receiver);
    /// assert_eq!(sender.send("come back"), Err("come back"));
    /// ```
    #[inline]
    pub fn send(self, value: T) -> Result<(), T> {
        self.half.send(value)
    }

    /// Waits until the receiver is dropped or closed, so that a value could not be received any more.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: dropping the future loses nothing. The sender may wait again, or send.
    ///
    /// # Examples
    ///
    /// A computation that stops when its result is not wanted any more:
    ///
    /// ```
    /// use liten::future::{self, Either};
    /// use liten::sync::oneshot;
    /// use std::pin::pin;
    ///
    /// async fn compute() -> u64 {
    ///     // …
    /// #   std::future::pending().await
    /// }
    ///
    /// # liten::block_on(async {
    /// let (mut sender, receiver) = oneshot::channel();
    /// let task = liten::spawn(async move {
    ///     let result = match future::select(pin!(compute()), pin!(sender.closed())).await {
    ///         Either::Left((result, _)) => result,
    ///         Either::Right(_) => return "stopped",
    ///     };
    ///     drop(sender.send(result));
    ///     "computed"
    /// });
    /// drop(receiver);
    /// assert_eq!(task.await.unwrap(), "stopped");
    /// # });
    /// ```
    pub async fn closed(&mut self) {
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    /// Returns whether the receiver has been dropped or closed, so that [`send`](Self::send) would fail.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, receiver) = liten::sync::oneshot::channel::<()>();
    /// assert!(!sender.is_closed());
    /// drop(receiver);
    /// assert!(sender.is_closed());
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.half.is_closed()
    }

    /// Returns `Ready` when the receiver has been dropped or closed: [`closed`](Self::closed), for futures
    /// that are written by hand.
    ///
    /// If it returns `Pending`, the task of `cx` is woken when that happens. Only the task of the last call
    /// is woken.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::future::poll_fn;
    ///
    /// # liten::block_on(async {
    /// let (mut sender, receiver) = liten::sync::oneshot::channel::<()>();
    /// liten::spawn(async move { drop(receiver) });
    /// poll_fn(|cx| sender.poll_closed(cx)).await;
    /// # });
    /// ```
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        budget::poll_leaf(cx, |cx| self.half.poll_closed(cx.waker()))
    }
}

// A panic leaves a channel either as it was, or ended.
impl_unwind_safe!([T] Sender<T>);
impl_unwind_safe!([T] Receiver<T>);

impl_debug!([T] Sender<T>, this => "Sender" { is_closed: this.is_closed(), .. });

/// Receives one value from its [`Sender`]; made by [`channel`].
///
/// It is a future. It is ready with the value, or with a [`RecvError`] if the sender was dropped without
/// sending or the receiver was [closed](Self::close) before the value was sent. A receiver that is dropped
/// drops a value that it has not taken out.
///
/// # Cancel safety
///
/// Cancel safe if it is awaited by reference (`(&mut receiver).await`, or a branch of a `select!`): the value
/// stays in the channel for the next await.
///
/// # Panics
///
/// If it is polled after it was ready, or after [`try_recv`](Self::try_recv) has returned the value or
/// `Closed`. [`is_terminated`](Self::is_terminated) says whether that is so.
///
/// # Examples
///
/// A wait that ends after a time, and is begun again:
///
/// ```
/// use liten::time::{sleep, timeout};
/// use std::time::Duration;
///
/// # liten::block_on(async {
/// let (sender, mut receiver) = liten::sync::oneshot::channel();
/// assert!(timeout(Duration::from_millis(1), &mut receiver).await.is_err());
/// sender.send("late").unwrap();
/// assert_eq!(receiver.await, Ok("late"));
/// # });
/// ```
pub struct Receiver<T> {
    /// `None` when it has returned its value or its error.
    half: Option<ReceiveHalf<T>>,
}

impl<T> Receiver<T> {
    /// Closes the channel: from now on [`Sender::send`] fails.
    ///
    /// A value that was sent before can still be received. `close` does nothing if the channel is closed
    /// already, or if the value has been taken out.
    ///
    /// # Examples
    ///
    /// No value can be sent after `close`, so none is lost after the last look:
    ///
    /// ```
    /// let (sender, mut receiver) = liten::sync::oneshot::channel();
    /// receiver.close();
    /// let last = receiver.try_recv().ok();
    /// assert_eq!(last, None);
    /// assert_eq!(sender.send(1), Err(1));
    /// ```
    pub fn close(&mut self) {
        if let Some(half) = &mut self.half {
            half.close();
        }
    }

    /// Returns whether the receiver has returned its value or its error, so that polling it would panic.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let (sender, mut receiver) = liten::sync::oneshot::channel();
    /// sender.send(42).unwrap();
    /// assert!(!receiver.is_terminated());
    /// assert_eq!((&mut receiver).await, Ok(42));
    /// assert!(receiver.is_terminated());
    /// # });
    /// ```
    #[must_use]
    pub fn is_terminated(&self) -> bool {
        self.half.is_none()
    }

    /// Returns whether there is no value to be taken out: it was not sent yet, will never be sent, or has
    /// been taken out.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, receiver) = liten::sync::oneshot::channel();
    /// assert!(receiver.is_empty());
    /// sender.send(42).unwrap();
    /// assert!(!receiver.is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.half.as_ref().is_some_and(ReceiveHalf::has_value)
    }

    /// Takes the value out if it is there, without waiting.
    ///
    /// # Errors
    ///
    /// [`TryRecvError::Empty`] if nothing has been sent yet. [`TryRecvError::Closed`] if there will be no
    /// value: the sender was dropped, the receiver was closed, or the value has been taken out.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::sync::oneshot::{self, error::TryRecvError};
    ///
    /// let (sender, mut receiver) = oneshot::channel();
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    /// sender.send(42).unwrap();
    /// assert_eq!(receiver.try_recv(), Ok(42));
    /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.half.take_if(|half| half.has_ended()) {
            Some(half) => half.finish().ok_or(TryRecvError::Closed),
            None if self.half.is_some() => Err(TryRecvError::Empty),
            None => Err(TryRecvError::Closed),
        }
    }

    /// Blocks the calling thread until the value is there, and returns it; for code that is not async.
    ///
    /// It needs no runtime.
    ///
    /// # Errors
    ///
    /// [`RecvError`] if there will be no value.
    ///
    /// # Panics
    ///
    /// * In async code: inside a task, or in the future of a `block_on`. It may be called in
    ///   [`spawn_blocking`](crate::spawn_blocking) and [`block_in_place`](crate::task::block_in_place).
    /// * If the receiver has returned its value or its error before.
    /// * On wasm, if the value is not there: no other thread could send it.
    ///
    /// # Examples
    ///
    /// ```
    /// let (sender, receiver) = liten::sync::oneshot::channel();
    /// let thread = std::thread::spawn(move || receiver.blocking_recv());
    /// liten::block_on(async move { sender.send(42).unwrap() });
    /// assert_eq!(thread.join().unwrap(), Ok(42));
    /// ```
    #[track_caller]
    pub fn blocking_recv(self) -> Result<T, RecvError> {
        wait_outside("blocking_recv", self)
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = &mut self.get_mut().half;
        assert!(
            slot.is_some(),
            noted!("a oneshot::Receiver was called after complete: it had given its answer")
        );
        budget::poll_leaf(cx, |cx| {
            let waits =
                |half: &mut ReceiveHalf<T>| !half.has_ended() && half.store_waker(cx.waker());
            match slot.take_if(|half| !waits(half)) {
                Some(half) => Poll::Ready(half.finish().ok_or(RecvError(()))),
                None => {
                    if let Some(half) = slot {
                        set_note(cx.waker(), PrimitiveKind::Oneshot, half.address());
                        note_place(cx.waker(), half.made_at());
                    }
                    Poll::Pending
                }
            }
        })
    }
}

impl_debug!([T] Receiver<T>, this => "Receiver" {
    is_terminated: this.is_terminated(),
    is_empty: this.is_empty(),
    ..
});

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
