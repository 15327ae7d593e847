//! The futures of [`Notify`].

use super::Notify;
use crate::wakers::Place;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

pin_project! {
    /// Waits for a notification; made by [`Notify::notified`].
    ///
    /// Once it is through it stays so: it may be polled again.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Notified<'a> {
        notify: &'a Notify,
        #[pin]
        place: Place,
    }

    impl PinnedDrop for Notified<'_> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.notify.leave(this.place.as_ref());
        }
    }
}

impl<'a> Notified<'a> {
    pub(super) fn new(notify: &'a Notify) -> Self {
        Self { notify, place: Place::new(notify.turn()) }
    }

    /// Joins the line now, without waiting; returns whether it is through.
    ///
    /// From here on a [`notify_one`](Notify::notify_one) may reach it, as if it had been polled. A waker
    /// that an earlier poll has left stays.
    ///
    /// # Examples
    ///
    /// Two receivers of one queue. Each joins the line before it looks, so that two pushes reach both of them
    /// and do not become one permit:
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

impl Future for Notified<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        this.notify.poll(this.place.as_ref(), Some(cx))
    }
}

pin_project! {
    /// Waits for a notification, and owns its [`Notify`]; made by [`Notify::notified_owned`].
    ///
    /// Once it is through it stays so: it may be polled again.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct OwnedNotified {
        notify: Arc<Notify>,
        #[pin]
        place: Place,
    }

    impl PinnedDrop for OwnedNotified {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.notify.leave(this.place.as_ref());
        }
    }
}

impl OwnedNotified {
    pub(super) fn new(notify: Arc<Notify>) -> Self {
        let place = Place::new(notify.turn());
        Self { notify, place }
    }

    /// Joins the line now, without waiting; returns whether it is through. See [`Notified::enable`].
    pub fn enable(self: Pin<&mut Self>) -> bool {
        let this = self.project();
        this.notify.poll(this.place.as_ref(), None).is_ready()
    }
}

impl Future for OwnedNotified {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        this.notify.poll(this.place.as_ref(), Some(cx))
    }
}
