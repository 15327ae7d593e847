//! The queues that a thread has of its own, and whether a push to them wakes a peer.

use super::shared::Shared;
use super::slots::{Deques, Slot};
use crate::engine::queue::local::Local;
use crate::engine::sync_shim::Arc;
use crate::engine::task::header::Hot;
use crossbeam_utils::CachePadded;
use std::cell::Cell;

pub(super) struct OwnQueues {
    pub(super) index: usize,
    pub(super) slot: Arc<CachePadded<Slot>>,
    /// Tasks that have been woken or spawned.
    pub(super) ready: Local<Hot>,
    /// Tasks that have yielded.
    pub(super) yielded: Local<Hot>,
    /// The task that runs has made another one runnable here.
    pub(super) pushed: Cell<bool>,
    /// Counted in the idle word as searching.
    pub(super) searching: Cell<bool>,
}

impl OwnQueues {
    /// Those of slot `index`, which the calling thread has taken.
    pub(super) fn new(shared: &Shared, index: usize) -> Self {
        let slot = shared.slots.share(index);
        let Deques { ready, yielded } = slot.take_deques();
        let (pushed, searching) = (Cell::new(false), Cell::new(false));
        Self { index, slot, ready, yielded, pushed, searching }
    }

    /// Leaves the slot: gives the deques back to it.
    pub(super) fn leave(self) {
        self.slot.give_back(Deques { ready: self.ready, yielded: self.yielded });
    }

    /// Puts `task` into the next slot. A task that was there goes to the back of the ready deque.
    #[inline]
    pub(super) fn put_next(&self, task: Hot) {
        if let Some(displaced) = self.slot.next.put(task) {
            self.ready.push(displaced);
        }
    }

    /// Wakes an idle peer if more than one task is runnable here, and no worker searches. A single task this
    /// worker runs itself.
    #[inline]
    pub(super) fn notify_surplus(&self, shared: &Shared) {
        // The cheapest question first: mostly there is no worker to wake.
        if !shared.idle.is_settled() && !self.searching.get() {
            self.notify(shared);
        }
    }

    #[inline(never)]
    fn notify(&self, shared: &Shared) {
        let ready = self.ready.len() + usize::from(!self.slot.next.is_empty());
        if ready > 1 {
            shared.wake_one(self.index);
        } else if ready + self.yielded.len() > 1 {
            shared.wake_regular(self.index);
        }
    }
}
