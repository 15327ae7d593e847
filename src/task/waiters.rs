//! Floor 2: wakers that wait for one thing to come true, kept for those who make it true.
//!
//! Wakers are user code, so they are cloned, called and dropped outside the lock: one that comes back here
//! finds the lock free. A waker that panics when it is called costs no other waiter a wake, and when it is
//! dropped, not the poll that has come later, whose waker it is not.
//!
//! Nobody is missed: who makes it true does so before [`Waiters::wake_all`] takes the lock; who waits asks
//! once more under the lock before it leaves its waker. If the lock is the waiter's first, its waker is
//! taken. If it is the other one's first, the waiter sees that it is true.
//!
//! Rejected: event-listener, which wakes under its lock and lets a panic of one waker pass in front of the
//! others; the house's slab, whose first chunk is 6 KiB, for each of ten thousand tokens with one waiter.

use crate::sync_shim::Mutex;
use crate::wakers;
use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

pub(super) struct Waiters(Mutex<List>);

#[derive(Default)]
struct List {
    /// By number, so that they are woken in the order in which they came.
    wakers: BTreeMap<u64, Waker>,
    next: u64,
}

/// Where a waiter has left its waker, if it has.
#[derive(Debug, Default)]
pub(super) struct Place(Option<u64>);

impl Waiters {
    pub(super) fn new() -> Self {
        Self(Mutex::new(List::default()))
    }

    /// Ready if `is_over`; otherwise the waker of `cx` is left at `place`. `is_over` is called under the
    /// lock, and takes no other that somebody holds while he wakes.
    pub(super) fn poll(
        &self,
        place: &mut Place,
        cx: &Context<'_>,
        is_over: impl Fn() -> bool,
    ) -> Poll<()> {
        if is_over() {
            return Poll::Ready(());
        }
        let mut clone = None;
        loop {
            let mut list = self.0.lock();
            if is_over() {
                drop(list);
                return Poll::Ready(());
            }
            let mine = place.0.and_then(|number| list.wakers.get(&number));
            if mine.is_some_and(|waker| waker.will_wake(cx.waker())) {
                return Poll::Pending;
            }
            let Some(clone) = clone.take() else {
                drop(list);
                clone = Some(cx.waker().clone());
                continue;
            };
            let number = place.0.unwrap_or(list.next);
            list.next = list.next.max(number + 1);
            let old = list.wakers.insert(number, clone);
            place.0 = Some(number);
            drop(list);
            wakers::drop_all(old);
            return Poll::Pending;
        }
    }

    /// Takes back what was left at `place`.
    pub(super) fn leave(&self, place: &mut Place) {
        let left = place.0.take().and_then(|number| self.0.lock().wakers.remove(&number));
        wakers::drop_all(left);
    }

    /// Moves all wakers to `to`.
    pub(super) fn take_into(&self, to: &mut Vec<Waker>) {
        let taken = std::mem::take(&mut self.0.lock().wakers);
        to.extend(taken.into_values());
    }

    /// Wakes all, in the order in which they came.
    pub(super) fn wake_all(&self) {
        let mut taken = Vec::new();
        self.take_into(&mut taken);
        wakers::wake_all(&mut taken);
    }
}
