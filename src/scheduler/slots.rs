//! One slot per possible worker, and a few for threads in `block_on`: what others need to see of them.
//!
//! The array is as long as the largest number of workers allowed, so that a thief can walk it without a
//! lock while workers come and go. A slot that was never active costs its few words and no queue: queues
//! are made on first activation and stay with the slot. A *guest* is a thread in `block_on`: it does not
//! run tasks, but what its root future spawns goes into a deque that thieves see at once, even if the
//! root then blocks the thread.

use crate::park::Unparker;
use crate::queue::local::{Local, Stealer};
use crate::queue::wake_channel::WakeChannel;
use crate::sync_shim::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync_shim::{Arc, Mutex};
use crate::task::cell::Hot;
use crate::task::registry::Registry;
use crate::task::running::Running;
use crate::task::slot::Slot as NextSlot;
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;

/// The most workers a runtime can have, and the most spares: larger than any machine we know, small enough
/// for 16-bit indices.
pub(crate) const MAX_WORKERS: usize = 4096;

/// How many threads at a time may be in `block_on` with a deque of their own; the others' spawns go to
/// the injector.
pub(super) const GUESTS: usize = 8;

pub(super) struct Slots {
    workers: usize,
    /// Each in an allocation of its own, so that its owner can keep a direct pointer to it.
    slots: Box<[Arc<CachePadded<Slot>>]>,
    /// One above the highest worker slot that was ever active: where thieves stop.
    high: AtomicUsize,
    /// One bit per guest slot that is taken.
    guests: AtomicUsize,
}

pub(super) struct Slot {
    /// Wakes from outside the workers; on a line of its own, because others write it.
    pub(super) channel: CachePadded<WakeChannel<Hot>>,
    /// The next task of the worker.
    pub(super) next: NextSlot,
    stealer: OnceLock<Stealer<Hot>>,
    /// The owner's end of the deque while no thread is active here.
    pub(super) local: Mutex<Option<Local<Hot>>>,
    unparker: Mutex<Option<Unparker>>,
    /// A worker empties the channel.
    active: AtomicBool,
    /// The worker blocks in place: see absence.rs.
    pub(super) away: AtomicBool,
    /// The monitor found that this worker is stuck in a poll: thieves may take its next slot too.
    pub(super) stalled: AtomicBool,
    pub(super) registry: Registry,
    /// The task that the worker runs, and how many it has run.
    pub(super) running: Running,
    pub(super) stats: Stats,
}

/// Counts that only the slot's owner changes.
#[derive(Default)]
pub(super) struct Stats {
    pub(super) spawned: Count,
    pub(super) completed: Count,
    pub(super) from_injector: Count,
    pub(super) stolen: Count,
    pub(super) parks: Count,
}

/// A number that one thread changes and others read.
#[derive(Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(super) fn add(&self, n: u64) {
        // Ordering: Release pairs with `get`'s Acquire: who sees the number sees what was done before it
        // was counted. A load and a store and no RMW: there is one writer at a time, and writers hand
        // over through a lock or a thread's start.
        self.0.store(self.0.load(Ordering::Relaxed) + n, Ordering::Release);
    }

    pub(super) fn get(&self) -> u64 {
        // Ordering: Acquire, see `add`.
        self.0.load(Ordering::Acquire)
    }
}

impl Slots {
    pub(super) fn new(workers: usize) -> Self {
        assert!(workers <= 2 * MAX_WORKERS, "the builder checks this");
        let slots =
            (0..workers + GUESTS).map(|_| Arc::new(CachePadded::new(Slot::new()))).collect();
        Self { workers, slots, high: AtomicUsize::new(0), guests: AtomicUsize::new(0) }
    }

    /// How many worker slots there are; guests have the indices from here on.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    pub(super) fn get(&self, index: usize) -> &Slot {
        &self.slots[index]
    }

    /// The slot for its owner to keep.
    pub(super) fn share(&self, index: usize) -> Arc<CachePadded<Slot>> {
        self.slots[index].clone()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().map(|slot| &***slot)
    }

    /// How many worker slots a thief has to look at.
    pub(super) fn high(&self) -> usize {
        // Ordering: Acquire pairs with `raise`: below this index the stealers are set.
        self.high.load(Ordering::Acquire)
    }

    pub(super) fn raise(&self, high: usize) {
        // Ordering: Release, see `high`.
        self.high.fetch_max(high, Ordering::Release);
    }

    /// Takes a guest slot; returns its index.
    pub(super) fn take_guest(&self) -> Option<usize> {
        // Ordering: Relaxed for the look, the CAS decides.
        let mut taken = self.guests.load(Ordering::Relaxed);
        loop {
            let free = (!taken).trailing_zeros() as usize;
            if free >= GUESTS {
                return None;
            }
            let next = taken | 1 << free;
            // Ordering: AcqRel, a guest continues the counts that the one before it left.
            match self.guests.compare_exchange_weak(
                taken,
                next,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(self.workers + free),
                Err(current) => taken = current,
            }
        }
    }

    pub(super) fn release_guest(&self, index: usize) {
        // Ordering: Release pairs with `take_guest`'s Acquire.
        self.guests.fetch_and(!(1 << (index - self.workers)), Ordering::Release);
    }

    /// The guest slots that are taken, from slot `first` modulo [`GUESTS`] round to the one before it.
    pub(super) fn guests(&self, first: usize) -> impl Iterator<Item = &Slot> {
        // Ordering: Acquire pairs with `take_guest`, so that the stealer is seen; a guest that comes
        // later wakes somebody.
        let taken = self.guests.load(Ordering::Acquire);
        let first = first % GUESTS;
        // The slots before the first one, once more behind the last one.
        let mut left = ((taken | (taken << GUESTS)) >> first) & ((1 << GUESTS) - 1);
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                self.get(self.workers + (first + bit) % GUESTS)
            })
        })
    }
}

impl Slot {
    fn new() -> Self {
        Self {
            channel: CachePadded::new(WakeChannel::new()),
            next: NextSlot::new(),
            stealer: OnceLock::new(),
            local: Mutex::new(None),
            unparker: Mutex::new(None),
            active: AtomicBool::new(false),
            away: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            registry: Registry::new(),
            running: Running::new(),
            stats: Stats::default(),
        }
    }

    /// The owner's end of the slot's deque; made on first use.
    pub(super) fn take_local(&self) -> Local<Hot> {
        let local = self.local.lock().take().unwrap_or_else(Local::new);
        self.stealer.get_or_init(|| local.stealer());
        local
    }

    /// Takes the oldest task of the deque, whoever owns it.
    pub(super) fn steal_one(&self) -> Option<Hot> {
        self.stealer.get()?.steal()
    }

    pub(super) fn stealer(&self) -> Option<&Stealer<Hot>> {
        self.stealer.get()
    }

    pub(super) fn activate(&self, unparker: Unparker) {
        *self.unparker.lock() = Some(unparker);
        // Ordering: SeqCst, the pair of `deactivate`.
        self.active.store(true, Ordering::SeqCst);
    }

    /// The worker that has left without giving up its slot is back.
    pub(super) fn reactivate(&self) {
        // Ordering: SeqCst, the pair of `deactivate`. Who still reads `false` empties the channel itself.
        self.active.store(true, Ordering::SeqCst);
    }

    /// The worker is about to leave. The caller executes a SeqCst fence, then empties the channel.
    pub(super) fn deactivate(&self) {
        // Ordering: SeqCst with the caller's fence: a pusher pushes, fences, and reads `active`. Either
        // it sees `false` and empties the channel itself, or the leaving worker sees its push.
        self.active.store(false, Ordering::SeqCst);
    }

    pub(super) fn is_active(&self) -> bool {
        // Ordering: Relaxed after the caller's fence, see `deactivate`.
        self.active.load(Ordering::Relaxed)
    }

    pub(super) fn unparker(&self) -> Option<Unparker> {
        self.unparker.lock().clone()
    }

    /// Whether there is something that a thief could take (the next slot only if the worker is stuck).
    pub(super) fn has_work(&self) -> bool {
        let deque = self.stealer.get().is_some_and(|stealer| !stealer.is_empty());
        deque || !self.channel.is_empty() || (self.is_stalled() && !self.next.is_empty())
    }

    /// A number that moves whenever the worker does.
    pub(super) fn progress(&self) -> u64 {
        self.running.polls() + self.stats.parks.get()
    }

    pub(super) fn is_stalled(&self) -> bool {
        // Ordering: Relaxed, a hint of the monitor.
        self.stalled.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
