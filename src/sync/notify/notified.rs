//! The futures of [`Notify`].

use super::Notify;
use crate::engine::wakers::Place;
use crate::sync::await_place::note_place;
use pin_project_lite::pin_project;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A future that waits for a notification: `its name, [its lifetime], how it refers to what notifies it`.
macro_rules! notified {
    ($(#[$doc:meta])* $future:ident [$($lifetime:lifetime)?] $notify:ty) => {
        pin_project! {
            $(#[$doc])*
            #[derive(Debug)]
            #[must_use = "futures do nothing unless you `.await` or poll them"]
            pub struct $future$(<$lifetime>)? {
                notify: $notify,
                #[pin]
                place: Place,
                // `None` inside of a future that has one of its own.
                at: Option<&'static Location<'static>>,
            }

            impl$(<$lifetime>)? PinnedDrop for $future$(<$lifetime>)? {
                #[inline]
                fn drop(this: Pin<&mut Self>) {
                    let this = this.project();
                    this.notify.leave(this.place.as_ref());
                }
            }
        }

        impl$(<$lifetime>)? $future$(<$lifetime>)? {
            #[inline]
            pub(super) fn new(
                notify: $notify,
                at: Option<&'static Location<'static>>,
            ) -> Self {
                let place = Place::new(notify.turn());
                Self { notify, place, at }
            }

            /// Begins to wait, as the first poll does; returns whether it is ready.
            ///
            /// From now on a [`notify_one`](Notify::notify_one) may notify it. The waker of an earlier poll
            /// stays in use; without an earlier poll no waker is called.
            ///
            /// # Examples
            ///
            /// Two receivers of one queue. Each begins to wait before it looks into the queue, so that two
            /// pushes notify both of them and do not become one permit:
            ///
            /// ```
            /// use liten::sync::Notify;
            /// use std::collections::VecDeque;
            /// use std::pin::pin;
            /// use std::sync::{Arc, Mutex};
            ///
            /// #[derive(Default)]
            /// struct Queue {
            ///     items: Mutex<VecDeque<u32>>,
            ///     filled: Notify,
            /// }
            ///
            /// impl Queue {
            ///     fn push(&self, item: u32) {
            ///         self.items.lock().unwrap().push_back(item);
            ///         self.filled.notify_one();
            ///     }
            ///
            ///     async fn pop(&self) -> u32 {
            ///         let mut filled = pin!(self.filled.notified());
            ///         loop {
            ///             filled.as_mut().enable();
            ///             if let Some(item) = self.items.lock().unwrap().pop_front() {
            ///                 return item;
            ///             }
            ///             filled.as_mut().await;
            ///             filled.set(self.filled.notified());
            ///         }
            ///     }
            /// }
            ///
            /// # liten::block_on(async {
            /// let queue = Arc::new(Queue::default());
            /// let receive = |queue: Arc<Queue>| liten::spawn(async move { queue.pop().await });
            /// let (one, other) = (receive(queue.clone()), receive(queue.clone()));
            /// queue.push(1);
            /// queue.push(2);
            /// assert_eq!(one.await.unwrap() + other.await.unwrap(), 3);
            /// # });
            /// ```
            pub fn enable(self: Pin<&mut Self>) -> bool {
                let this = self.project();
                this.notify.poll(this.place.as_ref(), None).is_ready()
            }
        }

        impl$(<$lifetime>)? Future for $future$(<$lifetime>)? {
            type Output = ();

            fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
                let this = self.project();
                let poll = this.notify.poll(this.place.as_ref(), Some(cx));
                if let (Some(at), Poll::Pending) = (*this.at, poll) {
                    note_place(cx.waker(), at);
                }
                poll
            }
        }
    };
}

notified! {
    /// Waits for a notification; made by [`Notify::notified`].
    ///
    /// It may be polled again after it was ready, and is ready again.
    Notified['a] &'a Notify
}

notified! {
    /// Waits for a notification, and owns its [`Notify`]; made by [`Notify::notified_owned`].
    ///
    /// It may be polled again after it was ready, and is ready again.
    OwnedNotified[] Arc<Notify>
}
