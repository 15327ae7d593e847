//! The blocks that were noted, and which allocation is noted next.
//!
//! The bytes that a thread allocates are a line on which points lie, at random distances of [`INTERVAL`] in
//! the mean. An allocation that covers a point is noted. The distances are exponential, so that no pattern in
//! the sizes is met more often than another one. A block of `size` bytes is noted with this probability, and
//! stands for `size` divided by it: `1 - exp(-size / INTERVAL)`.
//!
//! All of this runs inside the program's allocator. Its own allocations enter it again on the same thread,
//! and are passed through: [`INSIDE`]. It takes one lock at a time, and calls nothing under it but the
//! allocator behind. The locks are std's, which allocate nothing and have no hooks.
//!
//! A process that was forked while a thread held a lock has it held for ever. So a lock is waited for for
//! some time only, and then no longer: [`Shard::is_lost`].

use crate::engine::scoped::replaced;
use crate::engine::sync_shim::thread_local;
use crate::engine::task::waker::polled_task;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

/// One allocation is noted in so many bytes, in the mean.
pub(super) const INTERVAL: f64 = (128 << 10) as f64;

/// So that threads seldom wait for each other.
const SHARDS: usize = 16;

/// Whether a thread-local without a destructor is part of the thread's own memory. Elsewhere it is allocated,
/// which would lead here again.
const HAS_THREAD_LOCALS: bool =
    !cfg!(any(target_os = "android", target_os = "openbsd", all(windows, target_env = "gnu")));

/// What was noted of a block: the place of the spawn of the task that has allocated it, and how many bytes it
/// stands for.
pub(super) type Sample = (Option<&'static Location<'static>>, u64);

/// Blocks that were noted, by their addresses.
pub(super) struct Samples([Shard; SHARDS]);

#[repr(align(64))]
struct Shard {
    blocks: Mutex<BTreeMap<usize, Sample>>,
    /// A thread has waited in vain for the lock, and none has got it since: it is tried once, and not waited
    /// for.
    is_lost: AtomicBool,
}

pub(super) static SMALL_BLOCKS: Samples = Samples::new();
pub(super) static LARGE_BLOCKS: Samples = Samples::new();

/// The state of the random number generator.
static DRAWN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// How many bytes this thread has to allocate until the next point. 0: it has not begun.
    static LEFT: Cell<usize> = const { Cell::new(0) };
    /// Whether this thread is in this file.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Counts an allocation. If it is to be noted, returns how many bytes it stands for.
#[inline]
pub(super) fn count(size: usize) -> Option<u64> {
    if !HAS_THREAD_LOCALS {
        return None;
    }
    LEFT.with(|left| {
        if size < left.get() {
            left.set(left.get() - size);
            return None;
        }
        count_slowly(left, size)
    })
}

#[cold]
fn count_slowly(left: &Cell<usize>, size: usize) -> Option<u64> {
    if INSIDE.get() {
        return None;
    }
    if left.get() == 0 {
        left.set(distance());
        if size < left.get() {
            left.set(left.get() - size);
            return None;
        }
    }
    left.set(distance());
    let size = size as f64;
    Some((size / -(-size / INTERVAL).exp_m1()) as u64)
}

/// A distance between two points: one byte at least.
fn distance() -> usize {
    // splitmix64. Ordering: Relaxed, because only the number counts.
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut z = DRAWN.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let uniform = ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
    (-(1.0 - uniform).ln() * INTERVAL) as usize + 1
}

/// What is noted of a block that this thread allocates.
pub(super) fn of_this_thread(bytes: u64) -> Sample {
    (polled_task().map(|task| task.spawned_at()), bytes)
}

impl Samples {
    const fn new() -> Self {
        Self(
            [const { Shard { blocks: Mutex::new(BTreeMap::new()), is_lost: AtomicBool::new(false) } };
                SHARDS],
        )
    }

    /// Blocks of all alignments are in all shards.
    fn shard_of(&self, block: usize) -> &Shard {
        let hash = (block >> 10).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as usize);
        &self.0[hash >> (usize::BITS - SHARDS.ilog2())]
    }

    /// Notes a block. `false`: it could not.
    pub(super) fn note(&self, block: usize, sample: Sample) -> bool {
        self.shard_of(block).with(|blocks| blocks.insert(block, sample)).is_some()
    }

    /// Returns what was noted of a block, and forgets it. `None` if that cannot be known.
    #[inline]
    pub(super) fn forget(&self, block: usize) -> Option<Option<Sample>> {
        // What is freed in here was allocated in here.
        if !HAS_THREAD_LOCALS || INSIDE.get() {
            return Some(None);
        }
        self.shard_of(block).with(|blocks| blocks.remove(&block))
    }
}

impl Shard {
    /// `None` if the lock is lost.
    fn with<R>(&self, f: impl FnOnce(&mut BTreeMap<usize, Sample>) -> R) -> Option<R> {
        let _outer = replaced(|inside| INSIDE.with(|it| it.replace(inside)), true);
        self.lock().map(|mut blocks| f(&mut blocks))
    }

    fn lock(&self) -> Option<MutexGuard<'_, BTreeMap<usize, Sample>>> {
        /// A holder that has lost its core has it back after fewer, unless its process stands still: then the
        /// other threads of it do, too.
        const MOST_TRIES: u32 = 1_000;
        // Ordering: Relaxed: it says how long to wait, and no data.
        let most = if self.is_lost.load(Ordering::Relaxed) { 1 } else { MOST_TRIES };
        for tries in 0..most {
            match self.blocks.try_lock() {
                Ok(blocks) => {
                    self.set_lost(false);
                    return Some(blocks);
                }
                // Nothing panics under it.
                Err(TryLockError::Poisoned(blocks)) => return Some(blocks.into_inner()),
                Err(TryLockError::WouldBlock) if tries < 64 => thread::yield_now(),
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_micros(100)),
            }
        }
        self.set_lost(true);
        None
    }

    fn set_lost(&self, is_lost: bool) {
        // Ordering: Relaxed: it says how long to wait. Read first, so that the line stays in each cache.
        if self.is_lost.load(Ordering::Relaxed) != is_lost {
            self.is_lost.store(is_lost, Ordering::Relaxed);
        }
    }
}

/// What was noted of the blocks that are alive.
pub(super) fn live() -> Vec<Sample> {
    let mut all = Vec::new();
    for shard in SMALL_BLOCKS.0.iter().chain(&LARGE_BLOCKS.0) {
        // What a vector needs is mostly there before the lock is taken.
        let count = shard.with(|blocks| blocks.len()).unwrap_or(0);
        all.reserve(count);
        shard.with(|blocks| all.extend(blocks.values().copied()));
    }
    all
}
