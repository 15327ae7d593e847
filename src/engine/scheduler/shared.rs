//! What the workers share: the slots, the injector, the idle word; and how a task enters the queues from
//! outside.
#![allow(unsafe_code)]

use super::idle::Idle;
use super::lifecycle::Crew;
use super::quiescence::AwakeThreads;
use super::role::{self, Role};
use super::slots::{GUESTS, Slot, Slots};
use super::watchdog::Watchdog;
use crate::engine::driver::Driver;
use crate::engine::park::{Unpark, Unparker};
use crate::engine::queue::injector::Injector;
use crate::engine::queue::wake_channel::Chain;
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
use crate::engine::sync_shim::{Arc, Condvar, Mutex};
use crate::engine::task::cell::{Ender, Hot, Place, Schedule, new_send_task};
use crate::engine::task::running::Running;
use crate::engine::task::{JoinHandle, RunningTask};
use crossbeam_utils::CachePadded;
use std::future::Future;
use std::panic::Location;
use std::sync::OnceLock;
use std::time::Duration;

pub(crate) struct Shared {
    pub(super) slots: Slots,
    pub(super) injector: Injector<Hot>,
    /// Tasks that have given way on a worker that did not keep them: a helper, or one that left.
    pub(super) yielded: Injector<Hot>,
    pub(super) idle: Idle,
    pub(super) driver: Arc<Driver>,
    /// Set before the first thread starts, or never.
    pub(super) awake_threads: OnceLock<AwakeThreads>,
    pub(super) watchdog: Watchdog,
    /// Something was pushed to the injector or a guest's deque and may still be there. A hint for workers
    /// that have work of their own; a worker without work looks at the queues.
    outside: CachePadded<AtomicBool>,
    /// The worker that holds the driver's seat, or `usize::MAX`. Only a hint: whom to wake last.
    pub(super) seated: CachePadded<AtomicUsize>,
    pub(super) closed: AtomicBool,
    /// How many workers there should be. Written under `threads`.
    target: AtomicUsize,
    /// Workers with an index below this one stay: as `target`, more if there are spares, and 0 once the
    /// runtime is closed. Each worker reads it at each step, so it shares no line with what others write.
    pub(super) staying: CachePadded<AtomicUsize>,
    /// Worker threads that have not ended.
    pub(super) alive: AtomicUsize,
    /// Workers that block in place.
    pub(super) away: AtomicUsize,
    /// Tasks spawned, and ended, on threads that have no slot.
    pub(super) foreign_spawned: CachePadded<AtomicU64>,
    pub(super) foreign_completed: CachePadded<AtomicU64>,
    /// Serialises starting, retiring and joining of threads.
    pub(super) threads: Mutex<super::lifecycle::Threads>,
    /// What it takes to start a spare worker; none before the driver thread is there.
    pub(super) crew: OnceLock<Crew>,
    /// At the end: held by a thread that moves tasks to the injector; whether one has done so.
    pub(super) laid_out: Mutex<bool>,
    /// Whose destructor runs on the thread that drains the runtime in the place of the workers.
    pub(super) drainer: Running,
    /// The threads that wait for the last task to complete.
    quiet: Mutex<Vec<Unparker>>,
    waiting: AtomicUsize,
    /// The last worker has drained everything. Set under `working`.
    pub(super) drained: AtomicBool,
    /// Threads, the driver thread among them, that are not through with all that is to be done on them.
    pub(super) working: Mutex<usize>,
    /// `working` or `drained` has changed.
    pub(super) working_changed: Condvar,
}

impl Shared {
    pub(crate) fn new(max_workers: usize, driver: Arc<Driver>) -> Arc<Self> {
        Arc::new(Self {
            slots: Slots::new(max_workers),
            injector: Injector::new(),
            yielded: Injector::new(),
            idle: Idle::new(max_workers),
            driver,
            awake_threads: OnceLock::new(),
            watchdog: Watchdog::new(),
            outside: CachePadded::new(AtomicBool::new(false)),
            seated: CachePadded::new(AtomicUsize::new(usize::MAX)),
            closed: AtomicBool::new(false),
            target: AtomicUsize::new(0),
            staying: CachePadded::new(AtomicUsize::new(0)),
            alive: AtomicUsize::new(0),
            away: AtomicUsize::new(0),
            foreign_spawned: CachePadded::new(AtomicU64::new(0)),
            foreign_completed: CachePadded::new(AtomicU64::new(0)),
            threads: Mutex::new(super::lifecycle::Threads::default()),
            crew: OnceLock::new(),
            laid_out: Mutex::new(false),
            drainer: Running::new(),
            quiet: Mutex::new(Vec::new()),
            waiting: AtomicUsize::new(0),
            drained: AtomicBool::new(false),
            working: Mutex::new(0),
            working_changed: Condvar::new(),
        })
    }

    /// Starts a task. On a worker it goes to that worker's queue, in `block_on` to that thread's,
    /// elsewhere to the injector.
    pub(crate) fn spawn<F>(
        self: &Arc<Self>,
        future: F,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (hot, join) = new_send_task(future, self, spawned_at);
        role::with(|role| match role {
            Some(role) if role.spawns_into(self) => role.spawned(hot),
            _ => {
                // Ordering: Relaxed, the fence in `may_spawn` publishes it.
                self.foreign_spawned.fetch_add(1, Ordering::Relaxed);
                if self.may_spawn() { self.inject(hot) } else { self.cancel(hot) }
            }
        });
        join
    }

    /// Asked by a thread that is no worker after it has counted a task and before it queues it. `false`:
    /// the runtime is closed, and the caller cancels the task, which is its own.
    pub(super) fn may_spawn(&self) -> bool {
        // Ordering: Dekker with the end of the runtime: count, fence, look at `closed`; close, fence,
        // look at the counts. A caller that sees `false` here is seen by the last worker, which does not
        // end before it has found the task.
        fence(Ordering::SeqCst);
        !self.is_closed()
    }

    /// Queues a task that no worker owns.
    pub(super) fn inject(&self, task: Hot) {
        self.injector.push(task);
        self.pushed_from_outside();
    }

    /// As [`Shared::inject`], announced once for all of them.
    pub(super) fn inject_all(&self, tasks: impl Iterator<Item = Hot>) {
        let mut moved = false;
        for task in tasks {
            self.injector.push(task);
            moved = true;
        }
        if moved {
            self.pushed_from_outside();
        }
    }

    /// A helper does not keep a task that has given way: one of the workers that there should be takes it.
    #[cold]
    pub(super) fn leave_to_workers(&self, task: Hot) {
        self.yielded.push(task);
        self.announce_outside();
        self.wake_regular(0);
    }

    /// After a push by a thread that will not run what it pushed: a worker must see it.
    pub(super) fn pushed_from_outside(&self) {
        self.announce_outside();
        self.wake_one(0);
    }

    /// Between a push and the look at the idle word: lets workers that are busy know.
    fn announce_outside(&self) {
        // Ordering: the pusher's half of the Dekker pair of scheduler.rs: push, fence, read the idle
        // word. The other half is in Worker::park.
        fence(Ordering::SeqCst);
        self.call_outside();
    }

    /// Lets workers that are busy look outside.
    pub(super) fn call_outside(&self) {
        // Ordering: Relaxed, after the fence of a pusher; the other half is in `withdraw_outside`. Read
        // first: many pushes need one write.
        if !self.outside.load(Ordering::Relaxed) {
            self.outside.store(true, Ordering::Relaxed);
        }
    }

    /// How many workers there are, or are about to be.
    pub(crate) fn worker_count(&self) -> usize {
        // Ordering: Relaxed, a number for people, and written under `threads`.
        self.target.load(Ordering::Relaxed)
    }

    /// Says how many workers there should be; the caller holds `threads`, and the runtime is not closed.
    pub(super) fn set_worker_count(&self, count: usize) {
        // Ordering: Relaxed, published by the lock and by the unparks that follow.
        self.target.store(count, Ordering::Relaxed);
        self.set_staying_workers(count);
    }

    /// How many workers there are with the spares; 0 once the runtime is closed.
    pub(super) fn staying_workers(&self) -> usize {
        // Ordering: Relaxed, the caller holds `threads` or takes it for a hint.
        self.staying.load(Ordering::Relaxed)
    }

    /// Says how many workers there should be with the spares. As for [`Shared::set_worker_count`].
    pub(super) fn set_staying_workers(&self, count: usize) {
        // Ordering: Relaxed, as above.
        self.staying.store(count, Ordering::Relaxed);
    }

    /// Workers that block in place.
    pub(super) fn away_workers(&self) -> usize {
        // Ordering: Relaxed: a worker that parks reads it after its fence, for all others it is a hint.
        self.away.load(Ordering::Relaxed)
    }

    /// Whether worker `index` is there for what waits behind long polls only: neither one of those that there
    /// should be, nor in the place of one that blocks in place.
    pub(super) fn is_helper(&self, index: usize) -> bool {
        index >= self.worker_count() + self.away_workers()
    }

    /// What the workers run at the moment.
    pub(crate) fn running_tasks(&self) -> Vec<RunningTask> {
        let workers = (0..self.slots.high()).map(|index| self.slots.get(index));
        workers.filter_map(|slot| slot.running.read()).chain(self.drainer.read()).collect()
    }

    /// Whether a worker that is busy with itself should look outside.
    pub(super) fn is_outside_announced(&self) -> bool {
        // Ordering: Relaxed, a hint.
        self.outside.load(Ordering::Relaxed)
    }

    /// A worker has found nothing outside.
    pub(super) fn withdraw_outside(&self) {
        if !self.is_outside_announced() {
            return;
        }
        // Ordering: withdraw, fence, look; the pusher: push, fence, look at the flag. One of the two sees
        // the other.
        self.outside.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.has_ready_outside() || !self.yielded.is_empty() {
            self.outside.store(true, Ordering::Relaxed);
        }
    }

    /// Wakes one parked worker unless a worker is searching already. `true`: it did.
    #[inline]
    pub(super) fn wake_one(&self, near: usize) -> bool {
        !self.idle.is_settled() && self.wake_parked(near)
    }

    /// As [`Shared::wake_one`], for a task that helpers leave to the others.
    pub(super) fn wake_regular(&self, near: usize) -> bool {
        !self.idle.is_settled() && self.wake_below(near, self.worker_count() + self.away_workers())
    }

    #[cold]
    fn wake_parked(&self, near: usize) -> bool {
        self.wake_below(near, usize::MAX)
    }

    fn wake_below(&self, near: usize, limit: usize) -> bool {
        // Ordering: Relaxed, a hint.
        let seated = self.seated.load(Ordering::Relaxed);
        let avoid = (seated != usize::MAX).then_some(seated);
        let picked = self.idle.pick(near, avoid, limit);
        if let Some(worker) = picked {
            self.unpark(worker);
        }
        picked.is_some()
    }

    /// Wakes a worker whose bit the caller has cleared, or that has to look at a flag.
    pub(super) fn unpark(&self, worker: usize) {
        if let Some(unparker) = self.slots.get(worker).unparker() {
            if unparker.unpark() == Unpark::Poller {
                self.driver.wake();
            }
        }
    }

    /// Sends one woken task to its home worker's channel.
    fn send_home(&self, task: Hot) {
        match task.home().map(usize::from) {
            Some(home) if home < self.slots.workers() => {
                if self.slots.get(home).channel.push(task) {
                    self.sent(home);
                }
            }
            // It has not run yet, or it ran last on a thread that has no slot.
            _ => self.inject(task),
        }
    }

    /// Sends a batch that one round of the driver made ready to the channel of `home`.
    pub(super) fn send_chain(&self, home: usize, chain: Chain<Hot>) {
        if self.slots.get(home).channel.push_chain(chain) {
            self.sent(home);
        }
    }

    /// After the push that made `home`'s channel non-empty: makes sure that a worker is awake to take it.
    fn sent(&self, home: usize) {
        // Ordering: as in `pushed_from_outside`; also against the slot's retirement, which clears
        // `active`, fences, then empties the channel.
        fence(Ordering::SeqCst);
        if !self.slots.get(home).is_active() {
            self.rescue_channel(home);
        } else if self.idle.claim(home) {
            self.unpark(home);
        } else {
            // The home worker is awake, perhaps for long: an idle one, if any, may take the channel.
            self.wake_one(home);
        }
    }

    /// Moves what is in a channel that no worker empties any more to the injector.
    pub(super) fn rescue_channel(&self, home: usize) {
        self.inject_all(self.slots.get(home).channel.take_all());
    }

    /// Whether something waits in the injector or a guest's deque. As for `has_work`.
    pub(super) fn has_ready_outside(&self) -> bool {
        !self.injector.is_empty() || self.slots.guests(0).any(Slot::has_ready)
    }

    /// Whether a thief would find a task that has been woken or spawned. For the moments when it matters: it
    /// executes fences.
    pub(super) fn has_ready(&self) -> bool {
        self.has_ready_outside() || self.active_slots().any(Slot::has_ready)
    }

    /// Whether a thief would find a task that has given way. As for `has_ready`.
    pub(super) fn has_yielded(&self) -> bool {
        !self.yielded.is_empty() || self.active_slots().any(Slot::has_yielded)
    }

    /// Whether anything is queued.
    pub(super) fn has_work(&self) -> bool {
        self.has_ready() || self.has_yielded()
    }

    fn active_slots(&self) -> impl Iterator<Item = &Slot> {
        (0..self.slots.high()).map(|index| self.slots.get(index))
    }

    pub(super) fn is_closed(&self) -> bool {
        // Ordering: Relaxed. Callers that must not miss it have executed a SeqCst fence (`may_spawn`), hold
        // `threads`, or have seen `staying` at 0.
        self.closed.load(Ordering::Relaxed)
    }

    /// Whether the runtime is closed and no task is alive any more.
    pub(super) fn is_drained(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `drain_to_the_end`.
        self.drained.load(Ordering::Acquire)
    }

    /// How many polls have been reported as blocking the last free worker.
    pub(crate) fn blocked_polls(&self) -> u64 {
        self.watchdog.blocked_polls()
    }

    /// How many tasks have been spawned and are not complete.
    ///
    /// Completions are read first. Each count only grows, so if both sums are equal there was a moment
    /// between the two readings at which no task was alive. Acquire on the completions: a task that a
    /// completed task spawned is counted.
    pub(crate) fn alive_tasks(&self) -> u64 {
        // Ordering: Acquire pairs with the Release increments in `completed`; see above.
        let foreign = self.foreign_completed.load(Ordering::Acquire);
        let completed =
            self.slots.iter().map(|slot| slot.stats.completed.get()).sum::<u64>() + foreign;
        // Ordering: Relaxed, ordered after the loads above by their Acquire.
        let foreign = self.foreign_spawned.load(Ordering::Relaxed);
        let spawned = self.slots.iter().map(|slot| slot.stats.spawned.get()).sum::<u64>() + foreign;
        spawned.saturating_sub(completed)
    }

    /// How many tasks have been cold at least once and are not complete.
    pub(crate) fn cold_tasks(&self) -> usize {
        self.slots.iter().map(|slot| slot.registry.len()).sum()
    }

    pub(crate) fn injected_tasks(&self) -> usize {
        self.injector.len() + self.yielded.len()
    }

    /// What one worker has done since the runtime began. `None`: there is no such worker.
    pub(crate) fn worker_counts(&self, worker: usize) -> Option<WorkerCounts> {
        (worker < self.slots.workers()).then(|| {
            let slot = self.slots.get(worker);
            let stats = &slot.stats;
            WorkerCounts {
                polls: slot.running.polls(),
                stolen: stats.stolen.get(),
                injected: stats.from_injector.get(),
                parks: slot.sleeps.count(),
                turns: slot.sleeps.turns(),
                busy: slot.sleeps.busy(),
            }
        })
    }

    /// Whether no task is alive, and each JoinHandle knows.
    ///
    /// A worker counts a completion before the task's JoinHandle learns of it, so that a caller which has
    /// awaited the handle never counts the task. Its note says when it is through with both. The counts are
    /// read first: an empty note says nothing of a task that begins and is counted after it was read.
    fn is_quiet(&self) -> bool {
        self.alive_tasks() == 0 && self.active_slots().all(|slot| slot.running.is_idle())
    }

    /// Blocks the calling thread until no task is alive, and each JoinHandle knows.
    pub(crate) fn wait_until_quiet(&self, parker: &crate::engine::park::Parker) {
        // Ordering: SeqCst for the count, as the waiter's half of a Dekker pair: announce, fence, count
        // tasks and look at the notes. The other half is a worker that parks: complete, end the note, fence,
        // look for waiters and at the notes of the others, of whom the last one sees that it is.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        loop {
            self.quiet.lock().push(parker.unparker());
            fence(Ordering::SeqCst);
            if self.is_quiet() {
                break;
            }
            parker.park();
        }
        let mut quiet = self.quiet.lock();
        // Ordering: Relaxed, under the lock; a worker that still sees the old count only looks in vain.
        if self.waiting.fetch_sub(1, Ordering::Relaxed) == 1 {
            quiet.clear();
        }
    }

    /// After a worker ran out of work, or a task ended elsewhere: tells the threads that wait for the last
    /// task.
    pub(super) fn check_quiet(&self) {
        // Ordering: Relaxed after the caller's SeqCst fence, see `wait_until_quiet`.
        if self.waiting.load(Ordering::Relaxed) == 0 || !self.is_quiet() {
            return;
        }
        for unparker in self.quiet.lock().drain(..) {
            let Unpark::Done = unparker.unpark() else {
                unreachable!("a thread in block_until_completion never sits in the poller");
            };
        }
    }

    /// Runs `task` as cancelled on the calling thread, which has no slot.
    pub(super) fn cancel(&self, task: Hot) {
        self.cancel_noted(task, None);
    }

    /// As [`Shared::cancel`]. `note`: where the calling thread, if it is a worker, says whose destructor it
    /// runs.
    pub(super) fn cancel_noted(&self, task: Hot, note: Option<&Running>) {
        note.inspect(|note| note.begin(&task));
        task.cancel(&Canceller(self));
        // Only now, as a foreign thread has no note: see `is_quiet`.
        // Ordering: Release pairs with the Acquire of `alive_tasks`.
        self.foreign_completed.fetch_add(1, Ordering::Release);
        note.inspect(|note| note.end());
        // Ordering: complete, fence, look for waiters: see `wait_until_quiet`.
        fence(Ordering::SeqCst);
        self.check_quiet();
    }
}

// SAFETY: the last worker thread, which holds an `Arc<Shared>`, ends only when no task is alive
// (lifecycle.rs, "The end"); a task spawned later is cancelled by its spawner, which holds an `Arc` too,
// before `spawn` returns.
unsafe impl Schedule for Shared {
    fn schedule_here(address: *const Self, task: Hot) -> Result<(), Hot> {
        role::with(|role| match role {
            Some(Role::Worker(worker)) if worker.address() == address => {
                worker.woken(task);
                Ok(())
            }
            Some(Role::Dispatcher(batch)) if batch.address() == address => {
                batch.push(task);
                Ok(())
            }
            _ => Err(task),
        })
    }

    fn schedule(self: Arc<Self>, task: Hot) {
        self.send_home(task);
    }
}

/// See [`Shared::worker_counts`].
pub(crate) struct WorkerCounts {
    pub(crate) polls: u64,
    pub(crate) stolen: u64,
    pub(crate) injected: u64,
    pub(crate) parks: u64,
    /// Odd while the worker sleeps.
    pub(crate) turns: u64,
    pub(crate) busy: Duration,
}

/// Completes tasks on a thread that is not a worker: those that were spawned too late, and those found
/// at shutdown.
struct Canceller<'a>(&'a Shared);

impl Ender for Canceller<'_> {
    fn unregister(&self, place: Place) {
        self.0.slots.get(usize::from(place.shard)).registry.remove(place.index);
    }

    /// Counted by `cancel_noted`.
    fn completed(&self) {}
}

// The home hint of a task and the registry's shard are 16 bits wide.
const _: () = assert!(2 * super::slots::MAX_WORKERS + GUESTS < u16::MAX as usize);

#[cfg(all(test, liten_loom))]
mod loom;
