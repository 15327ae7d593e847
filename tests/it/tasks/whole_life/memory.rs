//! How many cells are allocated: those of the tasks here are told from all other memory by their alignment.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nothing else in this binary asks for it. The runtime keeps no memory of this kind for later.
pub(super) const ALIGNMENT: usize = 1024;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static ALONE: Mutex<()> = Mutex::new(());

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: hands every call on to the system's allocator as it is. `alloc_zeroed` and `realloc` are those of
// the trait, which call these two.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == ALIGNMENT {
            LIVE.fetch_add(1, Ordering::SeqCst);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.align() == ALIGNMENT {
            LIVE.fetch_sub(1, Ordering::SeqCst);
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Blocks that have been allocated and not given back.
pub(super) fn live() -> usize {
    LIVE.load(Ordering::SeqCst)
}

/// One test at a time: the count is of all threads.
pub(super) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
