//! The receiver's end, for both kinds of channels.

use super::error::TryRecvError;
use super::queue::Queue;
use super::room::Room;
use super::shared::{Inbox, Shared, abandon};
use crate::engine::sync_shim::{Arc, Mutex};
use crate::engine::task::budget;
use crate::engine::task::waker::{is_task, set_note};
use crate::engine::wakers::{Locked, drop_all};
use crate::impls::impl_unwind_safe;
use crate::primitive_kind::PrimitiveKind;
use crate::runtime::gauges::Gauge;
use std::mem;
use std::task::{Context, Poll, ready};

/// A receiver of either kind.
pub(super) struct Rx<T, R: Room> {
    pub(super) shared: Arc<Shared<T, R>>,
    /// What was taken out of the shared queue. The lock is there only because `len` has a shared reference,
    /// and the values need not be `Sync`.
    taken: Mutex<Queue<T>>,
}

impl_unwind_safe!([T, R: Room] Rx<T, R>);
/// No value is pinned in a queue.
impl<T, R: Room> Unpin for Rx<T, R> {}

impl<T, R: Room> Rx<T, R> {
    pub(super) fn new(shared: Arc<Shared<T, R>>, gauge: Gauge) -> Self {
        Self { shared, taken: Mutex::new(Queue::measured(gauge)) }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.shared.room.is_closed() || self.shared.senders() == 0
    }

    pub(super) fn len(&self) -> usize {
        let taken = self.taken.lock().len();
        let there = self.shared.inbox.lock().queue.len();
        taken + there
    }

    /// The next of the values that were taken out of the shared queue.
    #[inline]
    fn next(&mut self) -> Option<T> {
        let value = self.taken.get_mut().pop()?;
        self.shared.room.release(1);
        Some(value)
    }

    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        budget::poll_leaf(cx, |cx| {
            if let Some(value) = self.next() {
                return Poll::Ready(Some(value));
            }
            let mut inbox = self.shared.inbox.lock();
            // To take one value costs less than to exchange the queues.
            if let Some(value) = inbox.queue.pop_single() {
                drop(inbox);
                self.shared.room.release(1);
                return Poll::Ready(Some(value));
            }
            // If there are no values, `next` returns `None`, which is right at the end of the channel.
            let _found = ready!(take_or_wait(&self.shared, self.taken.get_mut(), inbox, cx));
            Poll::Ready(self.next())
        })
    }

    pub(super) fn poll_recv_many(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        budget::poll_leaf(cx, |cx| {
            if limit == 0 {
                return Poll::Ready(0);
            }
            let taken = self.taken.get_mut();
            if taken.is_empty() {
                let inbox = self.shared.inbox.lock();
                if !ready!(take_or_wait(&self.shared, taken, inbox, cx)) {
                    return Poll::Ready(0);
                }
            }
            let mut count = self.taken.get_mut().pop_many(buffer, limit);
            if count < limit {
                count += self.pop_more(buffer, limit - count);
            }
            self.shared.room.release(count);
            Poll::Ready(count)
        })
    }

    /// Takes the shared queue, and moves values from it to `buffer`.
    fn pop_more(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        let taken = self.taken.get_mut();
        taken.take_all(&mut self.shared.inbox.lock().queue);
        taken.pop_many(buffer, limit)
    }

    pub(super) fn try_recv(&mut self) -> Result<T, TryRecvError> {
        if let Some(value) = self.next() {
            return Ok(value);
        }
        let mut inbox = self.shared.inbox.lock();
        self.taken.get_mut().take_all(&mut inbox.queue);
        let ended = self.shared.has_ended();
        drop(inbox);
        match self.next() {
            Some(value) => Ok(value),
            None if ended => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }
}

/// Makes sure that there are values in `taken`, which is empty. Ready with `true` if there are, and with
/// `false` if none will come. If it is pending, the waker of `cx` is called when it would be ready.
#[inline]
fn take_or_wait<'a, T, R: Room>(
    shared: &'a Shared<T, R>,
    taken: &mut Queue<T>,
    mut inbox: Locked<'a, Inbox<T>>,
    cx: &Context<'_>,
) -> Poll<bool> {
    if inbox.queue.is_empty() {
        return wait(shared, taken, inbox, cx);
    }
    taken.take_all(&mut inbox.queue);
    Poll::Ready(true)
}

/// Leaves the waker of `cx` in the inbox, which was found empty; returns as [`take_or_wait`].
#[inline(never)]
fn wait<'a, T, R: Room>(
    shared: &'a Shared<T, R>,
    taken: &mut Queue<T>,
    mut inbox: Locked<'a, Inbox<T>>,
    cx: &Context<'_>,
) -> Poll<bool> {
    let mut clone = None;
    let poll = loop {
        if !inbox.queue.is_empty() {
            taken.take_all(&mut inbox.queue);
            break Poll::Ready(true);
        }
        if shared.has_ended() {
            break Poll::Ready(false);
        }
        if inbox.waker.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            break Poll::Pending;
        }
        // The waker of a task of liten may be cloned under the lock, which saves locking a second time.
        let new = clone.take().or_else(|| is_task(cx.waker()).then(|| cx.waker().clone()));
        if let Some(new) = new {
            clone = inbox.waker.replace(new);
            break Poll::Pending;
        }
        // To clone another runtime's waker is user code.
        drop(inbox);
        clone = Some(cx.waker().clone());
        inbox = shared.inbox.lock();
    };
    drop(inbox);
    if poll.is_pending() {
        shared.room.note_receiver();
        taken.gauge.note_user();
        set_note(cx.waker(), PrimitiveKind::Receiver, shared);
    }
    drop_all(clone);
    poll
}

impl<T, R: Room> Drop for Rx<T, R> {
    fn drop(&mut self) {
        self.shared.close();
        let taken = mem::take(self.taken.get_mut());
        let rest = abandon(&self.shared);
        self.shared.room.release(taken.len() + rest.len());
        // The destructors of the values may use the channel. If one panics, the other values are still
        // dropped.
        drop((taken, rest));
    }
}
