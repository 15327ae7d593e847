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
    pub(super) flags: WorkerFlags,
}

/// What is special about a worker at the moment. One byte for all, so that a worker that goes from task to
/// task looks only once.
pub(super) struct WorkerFlags(Cell<u8>);

/// The worker counts in the idle word as searching, and ends that when it finds a task.
const SEARCHING: u8 = 1;
/// It has found no task yet: with the first one the watchdog learns that this worker is at work.
const NEW: u8 = 2;
/// Polls, wakes and spawns are recorded, or one of them is measured.
const RECORDED: u8 = 4;

impl WorkerFlags {
    /// Those of a worker that has found no task yet.
    pub(super) fn new() -> Self {
        Self(Cell::new(NEW))
    }

    #[inline]
    pub(super) fn is_any_set(&self) -> bool {
        self.0.get() != 0
    }

    /// Whether the worker counts as searching.
    #[inline]
    pub(super) fn is_searching(&self) -> bool {
        self.0.get() & SEARCHING != 0
    }

    #[inline]
    pub(super) fn is_recorded(&self) -> bool {
        self.0.get() & RECORDED != 0
    }

    /// Returns whether the worker counted as searching before.
    pub(super) fn set_searching(&self, is_searching: bool) -> bool {
        self.replace(SEARCHING, is_searching)
    }

    pub(super) fn set_recorded(&self, is_recorded: bool) {
        self.replace(RECORDED, is_recorded);
    }

    /// Returns whether the worker was new; it is not any more.
    pub(super) fn take_new(&self) -> bool {
        self.replace(NEW, false)
    }

    fn replace(&self, bit: u8, is_set: bool) -> bool {
        let before = self.0.get();
        self.0.set(if is_set { before | bit } else { before & !bit });
        before & bit != 0
    }
}

impl OwnQueues {
    /// The queues of slot `index`, which the calling thread has taken.
    pub(super) fn new(shared: &Shared, index: usize) -> Self {
        let slot = shared.slots.share(index);
        let Deques { ready, yielded } = slot.take_deques();
        let (pushed, flags) = (Cell::new(false), WorkerFlags::new());
        Self { index, slot, ready, yielded, pushed, flags }
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
        if !shared.idle.wakes_no_worker() && !self.flags.is_searching() {
            self.notify(shared, 1);
        }
    }

    /// As [`OwnQueues::notify_surplus`], by a worker that has taken a task out of its queues and runs it
    /// next: each one that is left is surplus.
    pub(super) fn notify_rest(&self, shared: &Shared) {
        debug_assert!(!self.flags.is_searching(), "it has ended its search");
        self.notify(shared, 0);
    }

    /// Wakes a peer if there are more tasks than this worker `keeps`.
    #[inline(never)]
    fn notify(&self, shared: &Shared, keeps: usize) {
        let ready = self.ready.len() + usize::from(!self.slot.next.is_empty());
        if ready > keeps {
            shared.wake_one(self.index);
        } else if ready + self.yielded.len() > keeps {
            shared.wake_regular(self.index);
        }
    }
}
