//! The allocator that notes which task has allocated what.
//!
//! One allocation in 128 KiB is noted. When a block is given back, it must be known whether it was:
//!
//! | the block | is looked up when it is given back |
//! |---|---|
//! | [`LARGE`] or more bytes | always: such blocks are few, and each takes long to allocate |
//! | fewer, noted | it is aligned to [`ALIGN`], and those that are aligned so are looked up |
//! | fewer, not noted | if it is aligned so by chance, which is one in 64 |
//!
//! So a block keeps the size and the alignment with which the program has asked for it, but small ones that
//! are noted. A large one is grown by the allocator behind, which may do it in place, and is zeroed by it.
//! Rejected: a filter of the addresses, for which each end of a block would touch another line of the cache;
//! and a header before each block, which costs memory.
//!
//! To allocate 64 bytes and give them back takes 176 instructions by glibc's allocator, and 174 by this one
//! before it: it is called directly, and the system's through one function more. The time of programs that do
//! little else is the same.

#![allow(unsafe_code)]

use super::samples;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

/// A small block that is noted has this alignment at least. It wastes less than this.
const ALIGN: usize = 1024;

/// A block of so many bytes is large.
const LARGE: usize = 32 << 10;

/// An allocator that notes which tasks have allocated memory, for [`memory_by_place`](super::memory_by_place)
/// and the page. It hands all calls on to another allocator.
///
/// One allocation in 128 KiB is noted, with the place from which the task was spawned that is polled then.
/// That costs some ten instructions for each allocation, and up to 1 % more memory. A block that is made
/// larger is that of the task which has done so.
///
/// Nothing is noted on systems where a thread-local is allocated: Android, OpenBSD, and Windows with GNU's
/// libraries. In a process that was forked and does not `exec`, a few blocks may be leaked.
///
/// # Examples
///
/// ```
/// use liten::insight::{TrackingAllocator, memory_by_place};
///
/// #[global_allocator]
/// static ALLOCATOR: TrackingAllocator = TrackingAllocator::system();
///
/// #[liten::main]
/// async fn main() {
///     let task = liten::spawn(async { vec![1_u8; 50_000_000] });
///     let cache = task.await.unwrap();
///     let most = memory_by_place()[0];
///     assert!(most.spawned_at().is_some() && most.bytes() >= 50_000_000);
///     drop(cache);
/// }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct TrackingAllocator<A = System> {
    inner: A,
}

impl TrackingAllocator {
    /// Returns one that hands calls on to the system's allocator.
    pub const fn system() -> Self {
        Self { inner: System }
    }
}

impl<A> TrackingAllocator<A> {
    /// Returns one that hands calls on to `inner`.
    pub const fn new(inner: A) -> Self {
        Self { inner }
    }
}

/// The layout of a small block that is noted.
fn noted(layout: Layout) -> Layout {
    layout.align_to(ALIGN).unwrap_or(layout)
}

/// Whether a block with this layout may be a small one that was noted.
fn is_suspect(block: *mut u8, layout: Layout) -> bool {
    layout.size() < LARGE && block.addr() % ALIGN == 0
}

impl<A: GlobalAlloc> TrackingAllocator<A> {
    /// Allocates by `allocate`. A block that is due is noted.
    #[inline]
    fn allocate(&self, layout: Layout, allocate: impl Fn(&A, Layout) -> *mut u8) -> *mut u8 {
        match samples::count(layout.size()) {
            None => allocate(&self.inner, layout),
            Some(bytes) => self.note(layout, bytes, allocate),
        }
    }

    /// Allocates a block, and notes that it stands for so many bytes.
    #[cold]
    fn note(
        &self,
        layout: Layout,
        bytes: u64,
        allocate: impl Fn(&A, Layout) -> *mut u8,
    ) -> *mut u8 {
        if layout.size() >= LARGE {
            let block = allocate(&self.inner, layout);
            if !block.is_null() {
                samples::LARGE_BLOCKS.note(block.addr(), samples::of_this_thread(bytes));
            }
            return block;
        }
        let aligned = noted(layout);
        let block = allocate(&self.inner, aligned);
        if block.is_null()
            || samples::SMALL_BLOCKS.note(block.addr(), samples::of_this_thread(bytes))
        {
            return block;
        }
        // SAFETY: it was allocated by this allocator with this layout, and nothing else knows it.
        unsafe { self.inner.dealloc(block, aligned) };
        allocate(&self.inner, layout)
    }

    /// As [`GlobalAlloc::realloc`], by the allocator behind. Neither the block nor what it becomes is a small
    /// one that is noted.
    ///
    /// # Safety
    ///
    /// As there.
    unsafe fn resize(
        &self,
        block: *mut u8,
        layout: Layout,
        size: usize,
        due: Option<u64>,
    ) -> *mut u8 {
        let is_large = layout.size() >= LARGE;
        let sample =
            if is_large { samples::LARGE_BLOCKS.forget(block.addr()).flatten() } else { None };
        // SAFETY: the caller's promise.
        let new = unsafe { self.inner.realloc(block, layout, size) };
        if !new.is_null() {
            due.map(|bytes| samples::LARGE_BLOCKS.note(new.addr(), samples::of_this_thread(bytes)));
        } else if let Some(sample) = sample {
            samples::LARGE_BLOCKS.note(block.addr(), sample);
        }
        new
    }
}

// SAFETY: hands the calls on. A block that was allocated with the alignment of `noted` is given back with it:
// such blocks, and no others, are among the small samples, and their sizes are small when they are given
// back, too.
unsafe impl<A: GlobalAlloc> GlobalAlloc for TrackingAllocator<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.allocate(layout, |inner, layout| unsafe { inner.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        self.allocate(layout, |inner, layout| unsafe { inner.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let mut layout = layout;
        if layout.size() >= LARGE {
            // If it cannot be known, a sample stays of memory that is gone. It says something wrong, no more.
            samples::LARGE_BLOCKS.forget(block.addr());
        } else if is_suspect(block, layout) {
            match samples::SMALL_BLOCKS.forget(block.addr()) {
                Some(None) => {}
                Some(Some(_)) => layout = noted(layout),
                // It is leaked: how it was allocated cannot be known.
                None => return,
            }
        }
        // SAFETY: the caller's promise; and the layout is the one with which the block was allocated.
        unsafe { self.inner.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let due = samples::count(size);
        let is_small_and_due = size < LARGE && due.is_some();
        if !is_small_and_due && !is_suspect(block, layout) {
            // SAFETY: the caller's promise.
            return unsafe { self.resize(block, layout, size, due) };
        }
        // SAFETY: the caller's promise: such a layout may be made.
        let other = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: the caller's promise.
        let allocate = |inner: &A, layout| unsafe { inner.alloc(layout) };
        let new = match due {
            Some(bytes) => self.note(other, bytes, allocate),
            None => allocate(&self.inner, other),
        };
        if !new.is_null() {
            // SAFETY: both are blocks of that size at least, and different ones.
            unsafe { ptr::copy_nonoverlapping(block, new, layout.size().min(size)) };
            // SAFETY: the caller's promise.
            unsafe { self.dealloc(block, layout) };
        }
        new
    }
}
