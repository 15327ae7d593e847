//! Switches inside a poll.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::world::turn;

/// An allocator with which a thread may lose its turn wherever the program takes memory or gives it
/// back.
///
/// Without it a thread loses its turn only in calls to the system, so that most polls are atomic.
/// With it, polls of different threads are interleaved too. Outside of a run it is the system's
/// allocator.
///
/// Name it in the test's crate:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: liten_sim::Preempt = liten_sim::Preempt;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Preempt;

// SAFETY: each call is passed on to the system's allocator as it is. A step neither allocates on
// behalf of the caller nor unwinds.
unsafe impl GlobalAlloc for Preempt {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        turn::step_anywhere();
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        turn::step_anywhere();
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        turn::step_anywhere();
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        turn::step_anywhere();
        // SAFETY: the caller's contract is the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}
