//! Memory for tasks and for channels of one value, kept for the next of them.
//!
//! A runtime allocates and frees cells of a few sizes all the time, and often frees them on another
//! thread than it allocated them on: the one that stole the task. That is the slow path of a general
//! allocator (with glibc it is half the cost of a spawn). Here each thread keeps a short list per size,
//! and whole lists go from thread to thread through a depot, so that a lock is taken once for
//! [`CHAIN`] cells.
//!
//! What is kept is bounded: two chains per size and thread (8 kB for tasks of 128 bytes), and a depot of
//! [`DEPOT`] bytes per size for the process; the remainder goes back to the allocator. Large or over-aligned
//! cells are not kept. Nothing is given back when a runtime ends: the next one starts with it.
//!
//! ```text
//!  thread A                     depot (one per size, locked)                thread B
//!  current: 0…CHAIN cells       full chains                                 current
//!  reserve: a full chain  ───►  [chain] [chain] [chain] …            ◄───   reserve
//! ```
//!
//! The reserve keeps a thread that allocates and frees alternately at the edge of a chain away from the
//! depot.
//!
//! A thread never waits for the depot: while another one has it, the thread uses the allocator. Such a moment
//! is rare and costs one chain. In a forked child it may last for ever: if a thread of the parent held the
//! lock when `fork` was called, no thread of the child releases it.
#![allow(unsafe_code)]

use crate::engine::sync_shim::{StaticMutex, thread_local};
use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ptr::{self, NonNull};

/// Cells per chain: few enough that a thread holds back some kilobytes only.
const CHAIN: u32 = 32;

/// Bytes that the depot keeps per size: some ten thousand small tasks, so that a burst of them finds its
/// memory again. Programs have tasks of a few sizes; if they had all, this would be 31 MiB.
const DEPOT: usize = 1 << 20;

/// Sizes are kept apart in steps of 16 bytes, as glibc does, so that nothing is rounded up twice.
const STEP: usize = 16;
const SIZES: usize = 32;
/// The largest size that is kept.
const LARGEST: usize = SIZES * STEP - STEP / 2;
const ALIGN: usize = 8;

/// Under Miri each cell is an allocation of its own, so that a use after free is seen; likewise, for the
/// sanitizers, with `--cfg liten_plain_memory`. On wasm because no other thread frees a cell, and each byte
/// of code has to be loaded.
const OFF: bool = cfg!(any(miri, liten_plain_memory, target_family = "wasm"));

/// What the models and shuttle's schedules find in memory that was given back.
const POISON: u8 = 0xa5;

/// A free cell: its first word leads to the next one.
struct Free {
    next: *mut Free,
}

/// Full chains of one size.
struct Chains(Vec<NonNull<Free>>);

// SAFETY: a chain is unused memory; it belongs to the thread that takes it out.
unsafe impl Send for Chains {}

static DEPOTS: [StaticMutex<Chains>; SIZES] =
    [const { StaticMutex::new(Chains(Vec::new())) }; SIZES];

thread_local! {
    static CACHE: ThreadCache = const { ThreadCache([const { SizeCache::new() }; SIZES]) };
}

/// What one thread keeps of one size.
struct SizeCache {
    current: Cell<*mut Free>,
    count: Cell<u32>,
    /// A full chain, or null.
    reserve: Cell<*mut Free>,
}

/// All that one thread keeps.
struct ThreadCache([SizeCache; SIZES]);

/// Memory for a value of this layout, uninitialised.
#[inline]
pub(crate) fn allocate(layout: Layout) -> NonNull<u8> {
    match class_of(layout) {
        Some(class) => allocate_kept(class),
        None => fresh(layout),
    }
}

/// Takes memory back.
///
/// # Safety
///
/// `memory` comes from [`allocate`] with this layout, and it is not used any more.
#[inline]
pub(crate) unsafe fn release(memory: NonNull<u8>, layout: Layout) {
    if cfg!(all(test, any(liten_loom, liten_shuttle))) {
        // SAFETY: the caller promises that it is not used any more. A use all the same finds locks that are
        // held, or words and cells that loom does not know.
        unsafe { memory.write_bytes(POISON, layout.size()) };
    }
    match class_of(layout) {
        // SAFETY: the caller's promise, handed on.
        Some(class) => unsafe { release_kept(memory.cast(), class) },
        // SAFETY: not kept, so it comes from `fresh` with this layout.
        None => unsafe { alloc::dealloc(memory.as_ptr(), layout) },
    }
}

/// Gives back what the calling thread keeps, which will not need it for some time.
pub(crate) fn empty() {
    // A thread whose locals are gone has nothing left.
    let _ = CACHE.try_with(ThreadCache::empty);
}

/// The list for this layout: `class * STEP + 8` bytes are enough for it.
#[inline]
const fn class_of(layout: Layout) -> Option<usize> {
    let kept = !OFF && layout.align() <= ALIGN && layout.size() > ALIGN && layout.size() <= LARGEST;
    if kept { Some((layout.size() + ALIGN - 1) / STEP) } else { None }
}

const fn layout_of(class: usize) -> Layout {
    match Layout::from_size_align(class * STEP + ALIGN, ALIGN) {
        Ok(layout) => layout,
        Err(_) => panic!("a small size and a power of two"),
    }
}

/// How many full chains of this size the depot keeps.
const fn chains_kept(class: usize) -> usize {
    DEPOT / (layout_of(class).size() * CHAIN as usize)
}

fn fresh(layout: Layout) -> NonNull<u8> {
    // SAFETY: every layout that comes here has a size above zero: a cell begins with a header or a word.
    let memory = unsafe { alloc::alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| alloc::handle_alloc_error(layout))
}

fn allocate_kept(class: usize) -> NonNull<u8> {
    // A thread whose locals are gone has nothing left to keep.
    let kept = CACHE.try_with(|cache| cache.0[class].pop(class));
    match kept {
        Ok(Some(cell)) => cell.cast(),
        _ => fresh(layout_of(class)),
    }
}

/// # Safety
///
/// As [`release`]; the memory is of this class.
unsafe fn release_kept(memory: NonNull<Free>, class: usize) {
    let kept = CACHE.try_with(|cache| {
        // SAFETY: the caller's promise, handed on.
        unsafe { cache.0[class].push(memory, class) }
    });
    if kept.is_err() {
        // SAFETY: it was allocated with the layout of its class.
        unsafe { alloc::dealloc(memory.as_ptr().cast(), layout_of(class)) };
    }
}

impl SizeCache {
    const fn new() -> Self {
        Self {
            current: Cell::new(ptr::null_mut()),
            count: Cell::new(0),
            reserve: Cell::new(ptr::null_mut()),
        }
    }

    fn pop(&self, class: usize) -> Option<NonNull<Free>> {
        let cell = match NonNull::new(self.current.get()) {
            Some(cell) => cell,
            None => self.refill(class)?,
        };
        // SAFETY: a cell in our list is free memory whose first word is the link.
        self.current.set(unsafe { cell.as_ref() }.next);
        self.count.set(self.count.get() - 1);
        Some(cell)
    }

    /// Makes the reserve, or a chain of the depot, the current list, which is empty.
    #[cold]
    fn refill(&self, class: usize) -> Option<NonNull<Free>> {
        let reserve = NonNull::new(self.reserve.replace(ptr::null_mut()));
        let chain = reserve.or_else(|| DEPOTS[class].try_lock()?.0.pop())?;
        self.current.set(chain.as_ptr());
        self.count.set(CHAIN);
        Some(chain)
    }

    /// # Safety
    ///
    /// `cell` is unused memory of this class.
    unsafe fn push(&self, cell: NonNull<Free>, class: usize) {
        if self.count.get() == CHAIN {
            self.put_away(class);
        }
        // SAFETY: the memory is ours, large enough and aligned for a link.
        unsafe { cell.write(Free { next: self.current.get() }) };
        self.current.set(cell.as_ptr());
        self.count.set(self.count.get() + 1);
    }

    /// Makes the current list, which is full, the reserve, and the reserve a chain of the depot.
    #[cold]
    fn put_away(&self, class: usize) {
        let full = self.current.replace(ptr::null_mut());
        self.count.set(0);
        if let Some(chain) = NonNull::new(self.reserve.replace(full)) {
            give_back(chain, class);
        }
    }
}

/// Puts a full chain into the depot, or, if that is full too or taken, back to the allocator.
fn give_back(chain: NonNull<Free>, class: usize) {
    if let Some(mut depot) = DEPOTS[class].try_lock() {
        if depot.0.len() < chains_kept(class) {
            return depot.0.push(chain);
        }
    }
    free_all(chain.as_ptr(), class);
}

fn free_all(mut cell: *mut Free, class: usize) {
    while let Some(free) = NonNull::new(cell) {
        // SAFETY: the list is ours: free memory of this class, each linked to the next.
        unsafe {
            cell = free.as_ref().next;
            alloc::dealloc(free.as_ptr().cast(), layout_of(class));
        }
    }
}

impl ThreadCache {
    fn empty(&self) {
        for (class, cache) in self.0.iter().enumerate() {
            if let Some(chain) = NonNull::new(cache.reserve.replace(ptr::null_mut())) {
                give_back(chain, class);
            }
            cache.count.set(0);
            free_all(cache.current.replace(ptr::null_mut()), class);
        }
    }
}

impl Drop for ThreadCache {
    fn drop(&mut self) {
        self.empty();
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle, miri, liten_plain_memory))))]
mod tests;
