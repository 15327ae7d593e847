//! A place for one hot task that its owner fills and empties and a thief may empty too.
//!
//! It is the worker's *next slot*. An atomic and not a plain cell, because the task in it must not be
//! stranded when its owner is stuck in a long poll: a thief may then take it. The owner pays one swap on
//! its own cache line per take, and a plain store to fill the empty slot.
#![allow(unsafe_code)]

use super::header::Hot;
use crate::engine::queue::wake_channel::{Link, Linked};
use crate::engine::sync_shim::atomic::{AtomicPtr, Ordering};
use std::ptr::{self, NonNull};

#[derive(Debug)]
pub(crate) struct NextSlot(AtomicPtr<Link>);

impl NextSlot {
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    /// Puts `task` in; returns the task that it displaces. For the owner only.
    pub(crate) fn put(&self, task: Hot) -> Option<Hot> {
        let task = task.into_link().as_ptr();
        if self.is_empty() {
            // Ordering: Release as in `swap`. No RMW: thieves only ever empty the slot, so an empty one
            // stays so until its owner fills it.
            self.0.store(task, Ordering::Release);
            return None;
        }
        self.swap(task)
    }

    /// Empties the slot.
    pub(crate) fn take(&self) -> Option<Hot> {
        if self.is_empty() { None } else { self.swap(ptr::null_mut()) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: Relaxed, a hint of whether `put` has stored a task; the swap in `take` decides.
        self.0.load(Ordering::Relaxed).is_null()
    }

    fn swap(&self, new: *mut Link) -> Option<Hot> {
        // Ordering: AcqRel. Release hands the task's memory to the thread that takes it, Acquire is that
        // thread's end.
        let link = NonNull::new(self.0.swap(new, Ordering::AcqRel))?;
        // SAFETY: what is in the slot was given away by `into_link`, and a swap takes it out once.
        Some(unsafe { Hot::from_link(link) })
    }
}
