//! A place for one hot task that its owner fills and empties and a thief may empty too.
//!
//! It is the worker's *next slot*. An atomic and not a plain cell, because the task in it must not be
//! stranded when its owner is stuck in a long poll: a thief may then take it. The owner pays one swap on
//! its own cache line per take, and a plain store to fill the empty slot.

use super::header::Hot;
use crate::engine::queue::wake_channel::AtomicLinked;

pub(crate) struct NextSlot(AtomicLinked<Hot>);

impl NextSlot {
    pub(crate) fn new() -> Self {
        Self(AtomicLinked::new())
    }

    /// Puts `task` in; returns the task that it displaces. For the owner only.
    pub(crate) fn put(&self, task: Hot) -> Option<Hot> {
        if self.is_empty() {
            // No RMW: thieves only ever empty the slot, so an empty one stays so until its owner fills it.
            self.0.store(task);
            return None;
        }
        self.0.swap(Some(task))
    }

    /// Empties the slot.
    pub(crate) fn take(&self) -> Option<Hot> {
        if self.is_empty() { None } else { self.0.swap(None) }
    }

    /// Whether it is empty: a hint, unless the owner asks.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
