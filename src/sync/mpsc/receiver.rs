//! The receivers of channels with a bound and without.

use super::error::TryRecvError;
use super::receive::Rx;
use super::room::{Bounded, Unbounded};
use crate::runtime::block_on::wait_outside;
use crate::sync::await_place::awaited_here;
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// Receives the messages of [`Sender`](super::Sender)s. Made by [`channel`](super::channel).
pub struct Receiver<T> {
    pub(super) rx: Rx<T, Bounded>,
}

/// Receives the messages of [`UnboundedSender`](super::UnboundedSender)s. Made by
/// [`unbounded_channel`](super::unbounded_channel).
pub struct UnboundedReceiver<T> {
    pub(super) rx: Rx<T, Unbounded>,
}

/// The methods that both receivers have, `$methods` that the one alone has, and `Debug`. The texts are for
/// the examples: how a channel is made, and what follows `send` there; and what sends outside async code.
macro_rules! receiver {
    ($receiver:ident, $channel:literal, $sent:literal, $blocking:literal, $($methods:tt)*) => {
        impl<T> $receiver<T> {
            /// Returns the next message as soon as there is one; `None` if none will come.
            ///
            /// `None` means that there is no message, and that all senders have been dropped, or that the
            /// channel is closed and all permits were used or dropped.
            ///
            /// # Cancel safety
            ///
            /// Cancel safe: the future takes a message only when it is ready, so dropping it loses nothing.
            ///
            /// # Examples
            ///
            /// ```
            /// # liten::block_on(async {
            #[doc = concat!("let (sender, mut receiver) = liten::sync::mpsc::", $channel, ";")]
            #[doc = concat!("sender.send(\"hello\")", $sent, ".unwrap();")]
            /// drop(sender);
            /// assert_eq!(receiver.recv().await, Some("hello"));
            /// assert_eq!(receiver.recv().await, None);
            /// # });
            /// ```
            #[track_caller]
            pub fn recv(&mut self) -> impl Future<Output = Option<T>> {
                awaited_here(poll_fn(|cx| self.rx.poll_recv(cx)))
            }

            /// Waits for a message, and then moves up to `limit` messages that are there to the end of
            /// `buffer`; returns how many.
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
            #[doc = concat!("let (sender, mut receiver) = liten::sync::mpsc::", $channel, ";")]
            /// for number in 0..5 {
            #[doc = concat!("    sender.send(number)", $sent, ".unwrap();")]
            /// }
            /// let mut numbers = Vec::new();
            /// assert_eq!(receiver.recv_many(&mut numbers, 3).await, 3);
            /// assert_eq!(receiver.recv_many(&mut numbers, 3).await, 2);
            /// assert_eq!(numbers, [0, 1, 2, 3, 4]);
            /// # });
            /// ```
            #[track_caller]
            pub fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> impl Future<Output = usize> {
                awaited_here(poll_fn(move |cx| self.rx.poll_recv_many(cx, buffer, limit)))
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
            /// use liten::sync::mpsc::error::TryRecvError;
            ///
            #[doc = concat!("let (sender, mut receiver) = liten::sync::mpsc::", $channel, ";")]
            /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            #[doc = concat!("sender.", $blocking, "(1).unwrap();")]
            /// drop(sender);
            /// assert_eq!(receiver.try_recv(), Ok(1));
            /// assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
            /// ```
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.rx.try_recv()
            }

            /// Blocks the thread until there is a message, and returns it; `None` if none will come. For
            /// code that is not async.
            ///
            /// # Panics
            ///
            /// In async code: inside a task, or in the future of a `block_on`.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("let (sender, mut receiver) = liten::sync::mpsc::", $channel, ";")]
            /// let thread = std::thread::spawn(move || receiver.blocking_recv());
            #[doc = concat!("sender.", $blocking, "(1).unwrap();")]
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

            /// Closes the channel: sending fails from now on. Messages that were sent before can still be
            /// received, and permits that were given out before can still send.
            ///
            /// # Examples
            ///
            /// ```
            /// # liten::block_on(async {
            #[doc = concat!("let (sender, mut receiver) = liten::sync::mpsc::", $channel, ";")]
            #[doc = concat!("sender.send(\"sent before\")", $sent, ".unwrap();")]
            /// receiver.close();
            #[doc = concat!("assert!(sender.send(\"too late\")", $sent, ".is_err());")]
            /// assert_eq!(receiver.recv().await, Some("sent before"));
            /// assert_eq!(receiver.recv().await, None);
            /// # });
            /// ```
            pub fn close(&mut self) {
                self.rx.shared.close();
            }

            /// Returns whether the channel was closed, or all senders have been dropped. There may still be
            /// messages.
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
            /// If it returns [`Poll::Pending`], the waker of the last call is called when there is a
            /// message, or when none will come. The waker may also be called without such a reason.
            pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
                self.rx.poll_recv(cx)
            }

            /// As [`recv_many`](Self::recv_many), for futures and streams that are written by hand.
            ///
            /// If it returns [`Poll::Pending`], nothing was moved, and the waker of the last call is called
            /// as after [`poll_recv`](Self::poll_recv).
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

            $($methods)*
        }

        impl<T> fmt::Debug for $receiver<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($receiver)).field("channel", &self.rx.shared).finish()
            }
        }
    };
}

receiver! {
    Receiver, "channel(8)", ".await", "blocking_send",

    /// Returns for how many messages there is room now. Reserved room counts as used.
    pub fn capacity(&self) -> usize {
        self.rx.shared.room.permits.available()
    }

    /// Returns for how many messages there is room in the empty channel.
    pub fn max_capacity(&self) -> usize {
        self.rx.shared.room.bound
    }
}

receiver!(UnboundedReceiver, "unbounded_channel()", "", "send",);
