//! Memory for tasks and for channels of one value, kept for the next of them.
//!
//! A runtime allocates and frees cells of a few sizes all the time, and often frees them on another
//! thread than it allocated them on: the one that stole the task. That is the slow path of a general
//! allocator. Here each thread keeps a short list per size, and whole lists go from thread to thread through
//! a depot, so that a lock is taken once for a chain of cells.
//!
//! ```text
//!  thread A                     depot (one per size, locked)                thread B
//!  current: a part of a chain   chains                                      current
//!  reserve: a chain       ───►  [chain] [chain] [chain] …            ◄───   reserve
//! ```
//!
//! The reserve keeps a thread that allocates and frees alternately at the edge of a chain away from the
//! depot.
//!
//! What it pays, in nanoseconds of the processors per task, with glibc 2.36 and two workers, medians of five
//! runs in turns on a busy machine; the last row in instructions with one worker:
//!
//! | | no recycler | no depots | with depots |
//! |---|---|---|---|
//! | a task spawns and joins 10,000 | 167 | 140 | 101 |
//! | a root spawns and joins 10,000 | 148 | 117 | 89 |
//! | the same with tasks of 350 bytes | 330 | 206 | 199 |
//! | a `LocalRuntime` spawns and joins 10,000 | 122 | 108 | 67 |
//! | each task spawns the next one, instructions | 631 | 462 | 479 |
//!
//! # What is kept, and for how long
//!
//! A thread keeps two chains per size, of [`CHAIN`] bytes each. A depot keeps [`DEPOT`] bytes, so that a
//! burst of ten thousand small tasks finds its memory again; the remainder goes back to the allocator. Large
//! or over-aligned cells are not kept.
//!
//! The depots would keep this for good after the last burst, and no later moment comes at which it could be
//! given back. So a thread that is about to sleep without a limit gives it back, piece by piece
//! ([`trim_some`]): the driver thread of a runtime with workers, when these have had nothing to do for some
//! twenty milliseconds; and the thread that runs the tasks of a runtime without workers, once in
//! [`TRIM_INTERVAL`] and when its `block_on` ends. Bursts that follow each other sooner find their memory
//! again, unless another runtime of the program has come to rest in between: the depots are those of all. No
//! thread wakes up for this, but for one whose sleep is divided in two, once. What a root, or a task of
//! `spawn_pinned`, leaves beside workers that have slept all the time is given back when that root's
//! `block_on` ends, or a worker has had something to do.
//!
//! The depots are used only while there is a runtime ([`User`]), and the last one that ends empties them. A
//! thread's own lists are freed when the thread ends; threads of the blocking pool, which may be many, free
//! them before they wait.
//!
//! Rejected: a mark in each depot of how little was in it since the last look, so that only what was not
//! used goes. It keeps the memory of the last burst. Rejected: lists of a thread that other threads can
//! reach; each allocation would pay for that.
//!
//! A thread never waits for a depot: while another one has it, the thread uses the allocator. Such a moment
//! is rare and costs one chain. In a forked child it may last for ever: if a thread of the parent held the
//! lock when `fork` was called, no thread of the child releases it.
#![allow(unsafe_code)]
#![cfg_attr(target_family = "wasm", allow(dead_code, reason = "nothing is kept there"))]

use crate::engine::sync_shim::{StaticMutex, thread_local};
use std::alloc::{self, Layout};
use std::cell::Cell;
use std::ptr::{self, NonNull};
// Not those of the shim: the models' cannot be in a static.
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Bytes per chain: few enough that a thread keeps some kilobytes only. Chains of 32 cells whatever their
/// size were no faster, and of all sizes a thread kept half a megabyte.
const CHAIN: usize = 2048;
/// The most cells of a chain.
const MOST_CELLS: usize = 32;

/// Bytes that a depot keeps. Programs have tasks of a few sizes; if they had all, this would be 31 MiB.
const DEPOT: usize = 1 << 20;

/// Chains that are given back in one step: the thread that does it has other things to do, too.
const PIECE: usize = 64;

/// A thread that runs tasks empties the depots not more often than this.
pub(crate) const TRIM_INTERVAL: Duration = Duration::from_millis(25);

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

/// Not in schedules that are explored and replayed: what earlier ones have left would change them.
const AGES: bool = !cfg!(all(test, any(liten_loom, liten_shuttle)));

/// The pattern that the models and shuttle's schedules find in memory that was given back.
const POISON: u8 = 0xa5;

/// A free cell: its first word leads to the next one.
struct Free {
    next: *mut Free,
}

/// Chains of one size.
struct Chains(Vec<NonNull<Free>>);

// SAFETY: a chain is unused memory; it belongs to the thread that takes it out.
unsafe impl Send for Chains {}

static DEPOTS: [StaticMutex<Chains>; SIZES] =
    [const { StaticMutex::new(Chains(Vec::new())) }; SIZES];

/// Whether there may be something in a depot.
static FILLED: AtomicBool = AtomicBool::new(false);

/// How many runtimes there are.
static USERS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static CACHE: ThreadCache = const { ThreadCache([const { SizeCache::new() }; SIZES]) };
}

/// The free memory of one size that one thread keeps.
struct SizeCache {
    current: Cell<*mut Free>,
    /// How many cells the current list lacks to be a chain. At first there is no list, and it lacks none.
    room: Cell<u32>,
    /// A chain, or null.
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

/// How many cells a chain of this size has.
const fn cells(class: usize) -> usize {
    let cells = CHAIN / layout_of(class).size();
    if cells > MOST_CELLS { MOST_CELLS } else { cells }
}

/// How many chains of this size the depot keeps.
const fn chains_kept(class: usize) -> usize {
    DEPOT / (layout_of(class).size() * cells(class))
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
            room: Cell::new(0),
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
        self.room.set(self.room.get() + 1);
        Some(cell)
    }

    /// Makes the reserve, or a chain of the depot, the current list, which is empty.
    #[cold]
    fn refill(&self, class: usize) -> Option<NonNull<Free>> {
        let reserve = NonNull::new(self.reserve.replace(ptr::null_mut()));
        let chain = reserve.or_else(|| DEPOTS[class].try_lock()?.0.pop())?;
        self.current.set(chain.as_ptr());
        self.room.set(0);
        Some(chain)
    }

    /// # Safety
    ///
    /// `cell` is unused memory of this class.
    unsafe fn push(&self, cell: NonNull<Free>, class: usize) {
        if self.room.get() == 0 {
            self.put_away(class);
        }
        // SAFETY: the memory is ours, large enough and aligned for a link.
        unsafe { cell.write(Free { next: self.current.get() }) };
        self.current.set(cell.as_ptr());
        self.room.set(self.room.get() - 1);
    }

    /// Makes the current list, which is a chain or nothing, the reserve, and the reserve a chain of the
    /// depot.
    #[cold]
    fn put_away(&self, class: usize) {
        let full = self.current.replace(ptr::null_mut());
        self.room.set(cells(class) as u32);
        if let Some(chain) = NonNull::new(self.reserve.replace(full)) {
            give_back(chain, class);
        }
    }

    /// Gives both lists back to the allocator.
    fn empty(&self, class: usize) {
        free_all(self.current.replace(ptr::null_mut()), class);
        free_all(self.reserve.replace(ptr::null_mut()), class);
        self.room.set(0);
    }
}

/// Puts a chain into the depot, or, if that is full too or taken, back to the allocator.
fn give_back(chain: NonNull<Free>, class: usize) {
    if let Some(mut depot) = DEPOTS[class].try_lock() {
        // Ordering: Relaxed. The last user stores 0 before it takes the lock: if this comes after that, it
        // sees the 0, and otherwise that finds the chain. It tries again while another thread has the lock.
        if depot.0.len() < chains_kept(class) && USERS.load(Ordering::Relaxed) > 0 {
            depot.0.push(chain);
            drop(depot);
            // Ordering: Relaxed; `trim_some` stores `false` before it takes the lock, so as above.
            if !FILLED.load(Ordering::Relaxed) {
                FILLED.store(true, Ordering::Relaxed);
            }
            return;
        }
    }
    free_all(chain.as_ptr(), class);
}

/// Whether there may be something in a depot that [`trim_some`] should give back.
pub(crate) fn is_filled() -> bool {
    // Ordering: Relaxed, a hint that `give_back` writes.
    AGES && FILLED.load(Ordering::Relaxed)
}

/// Gives back a piece of what is in the depots; some tenth of a millisecond. `false`: there was nothing that
/// could be had without waiting.
#[cold]
pub(crate) fn trim_some() -> bool {
    is_filled() && trim_piece()
}

/// Gives back what is in the depots, if this thread's runtime is the only one. A runtime beside it may be
/// busy and want it, and the thread would free memory for milliseconds.
pub(crate) fn trim_if_alone() {
    // Ordering: Relaxed, a hint that `User` writes.
    if is_filled() && USERS.load(Ordering::Relaxed) == 1 {
        while trim_piece() {}
    }
}

/// Gives back what is in the depots, also in those that other threads use just now.
fn trim_all() {
    // In a forked child there may be locks that no thread will release.
    const TRIES: usize = 100;
    for _ in 0..TRIES {
        while trim_piece() {}
        // Ordering: Relaxed, set again by `trim_piece` where it did not get the lock.
        if !FILLED.load(Ordering::Relaxed) {
            return;
        }
        thread::yield_now();
    }
}

/// Gives back a piece of one depot. `false`: there was nothing, but in depots that other threads use just
/// now.
fn trim_piece() -> bool {
    // Ordering: Relaxed; before the locks, see `give_back`.
    FILLED.store(false, Ordering::Relaxed);
    for (class, depot) in DEPOTS.iter().enumerate() {
        let mut piece = [None; PIECE];
        match depot.try_lock() {
            Some(mut depot) => {
                piece.fill_with(|| depot.0.pop());
                if depot.0.is_empty() {
                    depot.0 = Vec::new();
                }
            }
            // Another thread uses it, or, in a forked child, none ever will. Ordering: Relaxed, read by
            // `is_filled` as a hint.
            None => FILLED.store(true, Ordering::Relaxed),
        }
        if piece[0].is_some() {
            // There may be more. Ordering: Relaxed, read by `is_filled` as a hint.
            FILLED.store(true, Ordering::Relaxed);
            piece.into_iter().flatten().for_each(|chain| free_all(chain.as_ptr(), class));
            return true;
        }
    }
    false
}

/// Whether this thread keeps memory of its own.
pub(crate) fn is_kept_here() -> bool {
    let is_kept = |cache: &ThreadCache| {
        cache.0.iter().any(|cache| !cache.current.get().is_null() || !cache.reserve.get().is_null())
    };
    AGES && CACHE.try_with(is_kept).unwrap_or(false)
}

/// Gives back what this thread keeps.
pub(crate) fn trim_here() {
    let empty = |cache: &ThreadCache| {
        cache.0.iter().enumerate().for_each(|(class, cache)| cache.empty(class));
    };
    // A thread whose locals are gone has nothing.
    let _ = CACHE.try_with(empty);
}

/// A runtime that has not ended: while there is one, the depots keep memory.
pub(crate) struct User {
    has_ended: AtomicBool,
}

impl User {
    pub(crate) fn new() -> Self {
        // Ordering: Relaxed, see `give_back`. A chain that is not kept because of an old value costs nothing.
        USERS.fetch_add(1, Ordering::Relaxed);
        Self { has_ended: AtomicBool::new(false) }
    }

    /// The runtime ends. A second call does nothing.
    pub(crate) fn end(&self) {
        // Ordering: Relaxed, only which call is the first one counts.
        if self.has_ended.swap(true, Ordering::Relaxed) {
            return;
        }
        // Ordering: Relaxed, see `give_back`: the locks follow.
        if USERS.fetch_sub(1, Ordering::Relaxed) == 1 {
            trim_all();
        }
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.end();
    }
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

impl Drop for ThreadCache {
    fn drop(&mut self) {
        for (class, cache) in self.0.iter().enumerate() {
            if let Some(chain) = NonNull::new(cache.reserve.replace(ptr::null_mut())) {
                give_back(chain, class);
            }
            cache.empty(class);
        }
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle, miri, liten_plain_memory))))]
mod tests;
