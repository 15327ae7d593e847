//! The slot for the task that a worker runs next. Models: `task/loom.rs`.
#![allow(unsafe_code)]

use super::wake_channel::{Link, Linked};
use crate::engine::sync_shim::atomic::{AtomicPtr, Ordering};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::Mutex;

/// A place for one item that its owner fills and empties, and that a thief may empty too.
///
/// It is a worker's *next slot*. An atomic and not a plain cell, because the task in it must not be stranded
/// when its owner is stuck in a long poll: a thief may then take it. The owner pays one swap on its own cache
/// line per take, and a plain store to fill the empty slot.
pub(crate) struct NextSlot<T: Linked> {
    link: AtomicPtr<Link>,
    /// The items go from thread to thread, as they do through a lock.
    owns: PhantomData<Mutex<T>>,
}

impl<T: Linked> NextSlot<T> {
    pub(crate) fn new() -> Self {
        Self { link: AtomicPtr::new(ptr::null_mut()), owns: PhantomData }
    }

    /// Puts `item` in; returns the item that it displaces. For the owner only.
    pub(crate) fn put(&self, item: T) -> Option<T> {
        if self.is_empty() {
            // No RMW: thieves only ever empty the slot, so an empty one stays so until its owner fills it.
            // Ordering: Release as in `swap`.
            self.link.store(item.into_link().as_ptr(), Ordering::Release);
            return None;
        }
        self.swap(item.into_link().as_ptr())
    }

    /// Empties the slot.
    pub(crate) fn take(&self) -> Option<T> {
        if self.is_empty() { None } else { self.swap(ptr::null_mut()) }
    }

    /// Whether it is empty: a hint, unless the owner asks.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        // Ordering: Relaxed, no item is taken on the strength of it: the swap decides. `put` stores if it is
        // true, which is right because only the owner fills the slot.
        self.link.load(Ordering::Relaxed).is_null()
    }

    /// Puts `new` in the place of what is there, and returns that.
    #[inline]
    fn swap(&self, new: *mut Link) -> Option<T> {
        // Ordering: AcqRel. Release hands the item's memory to the thread that takes it, Acquire is that
        // thread's end.
        let link = NonNull::new(self.link.swap(new, Ordering::AcqRel))?;
        // SAFETY: what is in the slot was given away by `into_link`, and a swap takes it out once.
        Some(unsafe { T::from_link(link) })
    }
}
