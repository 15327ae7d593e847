//! One slot per possible worker: what others need to see of it.
//!
//! The array is as long as the largest number of workers allowed, so that a thief can walk it without a
//! lock while workers come and go. A slot is made when it is first looked at, mostly for a worker, and
//! its queues on first activation; both stay. (Some 50 slots made at the start were more than a third of the
//! instructions of `start_stop` in `benches/`.)
//!
//! # Counts that many threads read
//!
//! This is how a number of a worker gets to the page and to `/metrics`. The worker changes a [`Count`] of its
//! slot ([`Stats`]). `Shared::worker_counts` reads it into [`WorkerCounts`], and
//! `RuntimeMetrics::counts` (runtime/metrics.rs) passes that on: to the public getters beside it, and to the
//! picture that insight makes once for all its readers (insight/server/picture.rs). From there it is written
//! for programs (insight/prometheus.rs, insight/json.rs) and for people (insight/page/page.js).
//!
//! The clock is read twice per sleep, beside the system call that the sleep is, and at a worker's fair turns,
//! which read it anyway. Rejected: to read it around each poll. What a reading costs is in policy.rs.

use crate::engine::nanos::nanos;
use crate::engine::park::Unparker;
use crate::engine::queue::local::{Local, NextSlot, Stealer};
use crate::engine::queue::wake_channel::WakeChannel;
use crate::engine::sync_shim::atomic::{
    AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};
use crate::engine::sync_shim::{Arc, Mutex, clock, made_later};
use crate::engine::task::current::Running;
use crate::engine::task::header::Hot;
use crate::engine::task::registry::Registry;
use crate::engine::wakers;
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The most workers a runtime can have, and the most spares: larger than any machine we know, small enough
/// for 16-bit indices.
pub(crate) const MAX_WORKERS: usize = 4096;
/// The most threads that run tasks at the same time, with spares and those that replace workers. Each index
/// fits into the home of a task, beside the class and the record.
pub(crate) const MAX_SLOTS: usize = 8190;

pub(super) struct Slots {
    /// Each in an allocation of its own, so that its owner can keep a direct pointer to it. A slot is made
    /// before anything is done in it: a thread that goes through all slots, and has to see what was done,
    /// sees the slot, too.
    slots: Box<[OnceLock<Arc<CachePadded<Slot>>>]>,
    /// One above the highest slot that was ever active.
    high: AtomicUsize,
    /// One above the highest slot with a thread that works: where thieves stop. It falls under the lock of
    /// the threads, when the thread there rests and its queues are empty. Many threads may have worked at a
    /// time, each in the place of one that blocks, and those that come later are not to look at all slots.
    occupied: AtomicUsize,
}

pub(super) struct Slot {
    /// Wakes from outside the workers; on a line of its own, because others write it.
    pub(super) channel: CachePadded<WakeChannel<Hot>>,
    /// The task that the worker runs next.
    ///
    /// Only the owner fills it: with a task that is woken on its thread (`OwnQueues::put_next`). It has room
    /// for one. The task in it does not outlast `NEXT_CAP` polls from the slot in a row (policy.rs): then it
    /// goes to the deque, so that ready tasks behind it are not starved.
    ///
    /// The owner empties it:
    /// * to run the task, or to put it behind the others in the deque (`Worker::take_next`);
    /// * for a task that displaces it (`OwnQueues::put_next`);
    /// * when it turns out to be one of several that are woken together (`Worker::woken_together`);
    /// * when the worker leaves, or blocks in place (`Worker::hand_over`).
    ///
    /// Other threads empty it:
    /// * a thief, while the owner is stuck in a poll (`Worker::steal_ready`);
    /// * the worker that the watchdog sends, while the owner is stuck or blocks in place (`Worker::rescue`);
    /// * the thread that drops the tasks of a closed runtime (lifecycle.rs).
    pub(super) next: NextSlot<Hot>,
    /// Thieves' ends of the owner's two deques. Set once, before the slot can be found by a thief: std's lock
    /// and not the models', which have none, because there is nothing to explore.
    stealers: OnceLock<Stealers>,
    /// The owner's ends of the deques while no thread is active here.
    deques: Mutex<Option<Deques>>,
    unparker: Mutex<Option<Unparker>>,
    /// A worker empties the channel.
    active: AtomicBool,
    /// The worker blocks in place: see here.rs.
    blocked_in_place: AtomicBool,
    /// How long the worker has been in one poll, as the watchdog saw it: a [`Stall`].
    stall: AtomicU8,
    /// The worker leaves tasks that have yielded to others: it is a helper, or the brake is on. Set by the
    /// worker when it finds out, and by the watchdog when it puts the brake on. The worker finds out again
    /// where it reads `true` at a yield.
    leaves_yielded: AtomicBool,
    /// The id that the system has given to the thread that works here, or `NO_THREAD`, `UNKNOWN_THREAD` or
    /// `RESTING_THREAD`.
    thread: AtomicU32,
    pub(super) registry: Registry,
    /// The task that the worker runs, and how many it has run.
    pub(super) running: Running,
    pub(super) stats: Stats,
    pub(super) sleeps: Sleeps,
}

/// The owner's ends of a worker's deques.
pub(super) struct Deques {
    /// Tasks that have been woken or spawned.
    pub(super) ready: Local<Hot>,
    /// Tasks that have yielded: they run when no other task is ready, or after a bounded number of others.
    pub(super) yielded: Local<Hot>,
}

struct Stealers {
    ready: Stealer<Hot>,
    yielded: Stealer<Hot>,
}

/// How long a worker has been in one poll, in the steps that matter to thieves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Stall {
    /// It moves, or sleeps.
    None,
    /// Since the watchdog's last look: thieves may empty its next slot too.
    Short,
    /// For so long that the tasks which have yielded behind this poll need help as well.
    Long,
}

/// Counts that only the slot's owner changes.
#[derive(Default)]
pub(super) struct Stats {
    pub(super) spawned: Count,
    pub(super) completed: Count,
    /// Tasks that the owner has taken from the injector.
    pub(super) from_injector: Count,
    /// Tasks that the owner has stolen.
    pub(super) stolen: Count,
}

impl Slots {
    pub(super) fn new(workers: usize) -> Self {
        assert!(workers <= MAX_SLOTS, "the builder checks this");
        let slots = (0..workers).map(|_| made_later(Slot::new_arc)).collect();
        Self { slots, high: AtomicUsize::new(0), occupied: AtomicUsize::new(0) }
    }

    /// How many slots there are.
    pub(super) fn workers(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> &Slot {
        self.slots[index].get_or_init(Slot::new_arc)
    }

    /// The slot for its owner to keep.
    pub(super) fn share(&self, index: usize) -> Arc<CachePadded<Slot>> {
        self.slots[index].get_or_init(Slot::new_arc).clone()
    }

    /// The slot, if it has been looked at.
    pub(super) fn made(&self, index: usize) -> Option<&Slot> {
        self.slots.get(index)?.get().map(|slot| &***slot)
    }

    /// The slots that have been looked at: there is nothing in the others.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter_map(OnceLock::get).map(|slot| &***slot)
    }

    /// How many slots have had a worker.
    pub(super) fn high(&self) -> usize {
        // Ordering: Acquire pairs with `raise`: below this index the stealers are set.
        self.high.load(Ordering::Acquire)
    }

    /// How many slots a thief has to look at.
    ///
    /// A thief that parks executes a SeqCst fence before it asks, and a worker that relies on it executes one
    /// between its push and its look at the parked ones. It has raised the number before. So if the thief
    /// does not see the slot, the worker sees the thief.
    #[inline]
    pub(super) fn occupied(&self) -> usize {
        // Ordering: Acquire, as in `high`.
        self.occupied.load(Ordering::Acquire)
    }

    /// A worker is active in slot `index`.
    pub(super) fn raise(&self, index: usize) {
        // Ordering: Release, see `high`.
        self.high.fetch_max(index + 1, Ordering::Release);
        self.occupied.fetch_max(index + 1, Ordering::Release);
    }

    /// No thread works in the slots from `occupied` on, or is about to. Under the lock of the threads, so
    /// that none is called back meanwhile: it raises the number again afterwards.
    pub(super) fn lower(&self, occupied: usize) {
        // Ordering: Release, see `high`.
        self.occupied.store(occupied, Ordering::Release);
    }
}

impl Slot {
    fn new_arc() -> Arc<CachePadded<Self>> {
        Arc::new(CachePadded::new(Self::new()))
    }

    fn new() -> Self {
        Self {
            channel: CachePadded::new(WakeChannel::new()),
            next: NextSlot::new(),
            stealers: OnceLock::new(),
            deques: Mutex::new(None),
            unparker: Mutex::new(None),
            active: AtomicBool::new(false),
            blocked_in_place: AtomicBool::new(false),
            stall: AtomicU8::new(Stall::None as u8),
            leaves_yielded: AtomicBool::new(false),
            thread: AtomicU32::new(NO_THREAD),
            registry: Registry::new(),
            running: Running::new(),
            stats: Stats::default(),
            sleeps: Sleeps::default(),
        }
    }

    /// The owner's ends of the slot's deques; made on first use.
    pub(super) fn take_deques(&self) -> Deques {
        let new = || Deques { ready: Local::new(), yielded: Local::new() };
        let deques = self.deques.lock().take().unwrap_or_else(new);
        self.stealers.get_or_init(|| Stealers {
            ready: deques.ready.stealer(),
            yielded: deques.yielded.stealer(),
        });
        deques
    }

    /// The owner leaves: the deques wait for the next one.
    pub(super) fn give_back(&self, deques: Deques) {
        *self.deques.lock() = Some(deques);
    }

    /// Whether the owner has left without giving the deques back.
    #[cfg(all(test, liten_shuttle))]
    pub(super) fn has_lost_deques(&self) -> bool {
        self.stealers.get().is_some() && self.deques.lock().is_none()
    }

    /// Takes the oldest task of one of the deques, whichever worker owns them.
    pub(super) fn steal_one(&self) -> Option<Hot> {
        let stealers = self.stealers.get()?;
        // No steal from an empty deque: it would first register the thread with crossbeam's collector of
        // memory.
        let steal = |deque: &Stealer<Hot>| if deque.is_empty() { None } else { deque.steal() };
        steal(&stealers.ready).or_else(|| steal(&stealers.yielded))
    }

    /// The thieves' end of the deque of tasks that have been woken or spawned.
    pub(super) fn ready(&self) -> Option<&Stealer<Hot>> {
        self.stealers.get().map(|stealers| &stealers.ready)
    }

    /// The thieves' end of the deque of tasks that have yielded.
    pub(super) fn yielded(&self) -> Option<&Stealer<Hot>> {
        self.stealers.get().map(|stealers| &stealers.yielded)
    }

    pub(super) fn activate(&self, unparker: Unparker) {
        *self.unparker.lock() = Some(unparker);
        // Ordering: Relaxed: `is_active` reads it. A thread that still reads `false` empties the channel
        // itself.
        self.active.store(true, Ordering::Relaxed);
    }

    /// The worker that has left without giving up its slot is back.
    pub(super) fn reactivate(&self) {
        // Ordering: Relaxed, as in `activate`.
        self.active.store(true, Ordering::Relaxed);
    }

    /// The worker is about to leave. The caller executes a SeqCst fence, then empties the channel.
    pub(super) fn deactivate(&self) {
        // Ordering: Relaxed, before the caller's SeqCst fence: a pusher pushes, fences, and reads `active`.
        // Either it sees `false` and empties the channel itself, or the leaving worker sees its push.
        self.active.store(false, Ordering::Relaxed);
    }

    pub(super) fn is_active(&self) -> bool {
        // Ordering: Relaxed after the caller's fence, see `deactivate`.
        self.active.load(Ordering::Relaxed)
    }

    pub(super) fn set_blocked_in_place(&self, blocked: bool) {
        // Ordering: Relaxed: `Shared::replace_blocked_worker` counts the marks under the lock of the threads,
        // and each worker has set its own before it took that lock. The watchdog's look may read an old mark,
        // and reads the new one the next time.
        self.blocked_in_place.store(blocked, Ordering::Relaxed);
    }

    /// Whether its worker blocks in place.
    pub(super) fn is_blocked_in_place(&self) -> bool {
        // Ordering: Relaxed, see `set_blocked_in_place`.
        self.blocked_in_place.load(Ordering::Relaxed)
    }

    pub(super) fn unparker(&self) -> Option<Unparker> {
        self.unparker.lock().clone()
    }

    /// Whether a task that has been woken or spawned waits here where a thief could take it (in the next
    /// slot: only if the worker is stuck).
    pub(super) fn has_ready(&self) -> bool {
        self.ready().is_some_and(|ready| !ready.is_empty())
            || !self.channel.is_empty()
            || (self.stall() != Stall::None && !self.next.is_empty())
    }

    /// Whether a task that has yielded waits here.
    pub(super) fn has_yielded(&self) -> bool {
        self.yielded().is_some_and(|yielded| !yielded.is_empty())
    }

    /// A number that moves whenever the worker does.
    pub(super) fn progress(&self) -> u64 {
        self.running.polls() + self.sleeps.count()
    }

    /// A number that grows when a poll begins, when it ends, and when the worker goes to sleep. It is even
    /// during a poll. A reader loads three words, one after the other. Beside the start of a poll, the reader
    /// may get the number of the previous poll once more. The next look corrects that.
    pub(super) fn position(&self) -> u64 {
        2 * self.progress() + u64::from(self.running.is_between_polls())
    }

    /// Whether the worker leaves tasks that have yielded to others, as it was last found out.
    #[inline]
    pub(super) fn leaves_yielded(&self) -> bool {
        // Ordering: Relaxed, a copy of what `WorkerCount::leaves_yielded` answers. A worker that reads an old
        // `false` keeps a task until its next fair turn.
        self.leaves_yielded.load(Ordering::Relaxed)
    }

    pub(super) fn set_leaves_yielded(&self, leaves: bool) {
        // Ordering: Relaxed, see `leaves_yielded`.
        self.leaves_yielded.store(leaves, Ordering::Relaxed);
    }

    pub(super) fn stall(&self) -> Stall {
        // Ordering: Relaxed, see `set_stall`.
        match self.stall.load(Ordering::Relaxed) {
            0 => Stall::None,
            1 => Stall::Short,
            _ => Stall::Long,
        }
    }

    /// For the watchdog.
    pub(super) fn set_stall(&self, stall: Stall) {
        // Ordering: Relaxed: `stall` reads it; the wake that follows orders it for the worker that it wakes.
        // Others may read an old value until they look again.
        self.stall.store(stall as u8, Ordering::Relaxed);
    }

    /// Says which thread works here from now on, or that none does.
    pub(super) fn set_thread(&self, number: u32) {
        // Ordering: Relaxed, a number for people: nothing else is read because of it.
        self.thread.store(number, Ordering::Relaxed);
    }

    /// The system's number of the thread that works here, or what stands in its place.
    pub(super) fn thread(&self) -> u32 {
        // Ordering: Relaxed, see `set_thread`.
        self.thread.load(Ordering::Relaxed)
    }
}

/// In the place of the system's number of a thread, by which other threads can ask the system what that one
/// does: there is no thread. None has this number.
pub(super) const NO_THREAD: u32 = 0;

/// In the place of a number that the system does not tell. No thread has it either.
pub(super) const UNKNOWN_THREAD: u32 = u32::MAX;

/// In the place of the number of a thread that rests. No thread has this number either.
pub(super) const RESTING_THREAD: u32 = u32::MAX - 1;

/// The system's number of the calling thread: one system call, once per worker.
#[cfg(all(target_os = "linux", not(any(miri, all(test, any(liten_loom, liten_shuttle))))))]
pub(crate) fn thread_number() -> u32 {
    u32::try_from(nix::unistd::gettid().as_raw()).unwrap_or(UNKNOWN_THREAD)
}

/// Other systems tell nothing about a thread by its number.
#[cfg(not(all(target_os = "linux", not(any(miri, all(test, any(liten_loom, liten_shuttle)))))))]
pub(crate) fn thread_number() -> u32 {
    UNKNOWN_THREAD
}

/// A number that one thread changes and others read.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, n: u64) -> u64 {
        // Ordering: Release pairs with `get`'s Acquire: a thread that sees the number sees what was done
        // before it was counted. A load and a store and no RMW: there is one writer at a time. Writers hand
        // over through a lock or a thread's start.
        let number = self.0.load(Ordering::Relaxed) + n;
        self.0.store(number, Ordering::Release);
        number
    }

    pub(crate) fn get(&self) -> u64 {
        // Ordering: Acquire, see `add`.
        self.0.load(Ordering::Acquire)
    }
}

/// Counts of a worker since the runtime began.
#[derive(Debug, Default)]
pub(crate) struct WorkerCounts {
    pub(crate) polls: u64,
    /// Tasks, not attempts: a batch counts as many as there were in it.
    pub(crate) stolen: u64,
    /// Tasks taken from the injector.
    pub(crate) injected: u64,
    /// How many sleeps have begun.
    pub(crate) parks: u64,
    /// Odd while the worker sleeps.
    pub(crate) parks_unparks: u64,
    pub(crate) busy: Duration,
}

/// Tasks spawned on threads without a slot of their own, and tasks that any thread has ended by
/// `Shared::cancel_noted`: it may be a worker.
pub(super) struct ForeignTasks {
    pub(super) spawned: CachePadded<AtomicU64>,
    /// The spawn with this number, and all later ones, are reported.
    pub(super) next_reported: AtomicU64,
    pub(super) completed: CachePadded<AtomicU64>,
}

impl ForeignTasks {
    pub(super) fn new() -> Self {
        let count = || CachePadded::new(AtomicU64::new(0));
        Self { spawned: count(), next_reported: AtomicU64::new(1), completed: count() }
    }
}

/// Counts that only the thread itself changes.
#[derive(Default)]
pub(crate) struct Sleeps {
    /// Each sleep counts twice, when it begins and when it ends: an odd number says that the thread sleeps.
    parks_unparks: Count,
    /// In nanoseconds.
    busy: Count,
}

impl Sleeps {
    /// The thread has been busy since the first moment. Returns for how many nanoseconds.
    #[inline]
    pub(crate) fn was_busy(&self, since: Instant, now: Instant) -> u64 {
        let busy = nanos(now.saturating_duration_since(since));
        self.busy.add(busy);
        busy
    }

    /// As [`Sleeps::was_busy`], and the thread goes to sleep.
    pub(crate) fn begin(&self, busy_since: Instant, now: Instant) -> u64 {
        // In this order: a reader that sees that the thread sleeps sees how long it was busy before, too.
        let busy = self.was_busy(busy_since, now);
        self.parks_unparks.add(1);
        busy
    }

    /// The thread has slept; returns when that ended.
    pub(crate) fn end(&self) -> Instant {
        self.parks_unparks.add(1);
        clock::now()
    }

    /// How many sleeps have begun.
    pub(crate) fn count(&self) -> u64 {
        self.parks_unparks.get().div_ceil(2)
    }

    /// The sleeps, and the time in between.
    pub(crate) fn counts(&self) -> WorkerCounts {
        let parks_unparks = self.parks_unparks.get();
        WorkerCounts {
            parks: parks_unparks.div_ceil(2),
            parks_unparks,
            busy: Duration::from_nanos(self.busy.get()),
            ..WorkerCounts::default()
        }
    }
}

/// The user's functions to be called around each sleep.
#[derive(Clone, Default)]
pub(crate) struct SleepHooks {
    pub(crate) park: Option<Arc<dyn Fn() + Send + Sync>>,
    pub(crate) unpark: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl SleepHooks {
    pub(crate) fn are_none(&self) -> bool {
        self.park.is_none() && self.unpark.is_none()
    }

    pub(crate) fn before(&self) {
        self.park.iter().for_each(|park| wakers::guard(|| park()));
    }

    pub(crate) fn after(&self) {
        self.unpark.iter().for_each(|unpark| wakers::guard(|| unpark()));
    }
}
