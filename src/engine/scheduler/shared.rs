//! The state that the workers share.

use super::awake_threads::Quiescence;
use super::idle::Idle;
use super::lengths::LongTypes;
use super::probe::{Probe, TaskEvent};
use super::slots::{ForeignTasks, Slot, Slots, WorkerCounts};
use super::threads::{Shutdown, ThreadSetup, Threads, WorkerCount};
use super::watchdog::flags::WatchdogFlags;
use crate::engine::driver::Driver;
use crate::engine::park::{Parker, Unpark, Unparker};
use crate::engine::queue::local::{Injector, Stealer};
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::engine::sync_shim::{Arc, Mutex};
use crate::engine::task::current::Running;
use crate::engine::task::header::{Completer, Hot, RegistryKey};
use crate::engine::task::home::Home;
use crate::engine::task::hooks::TaskHooks;
use crate::engine::task::registry::ListEntry;
use crate::engine::task::{RunningTask, TaskId};
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;

/// What the workers, the watchdog and the handles of one runtime share.
///
/// It is a list of parts, each with its own state, proof and file; a method here combines at least two of
/// them, or shows one of them to the runtime. They are not grouped further, because a group would have no
/// invariant of its own and would only lengthen the paths to its parts. `seated` is the one field without a
/// type: a hint without a protocol.
pub(crate) struct Shared {
    pub(super) slots: Slots,
    pub(super) queues: SharedQueues,
    pub(super) idle: Idle,
    pub(super) driver: Arc<Driver>,
    /// The worker that holds the driver's seat, or `usize::MAX`. Only a hint: which worker to wake last.
    pub(super) seated: CachePadded<AtomicUsize>,
    pub(super) size: WorkerCount,
    pub(super) threads: Threads,
    pub(super) watchdog: WatchdogFlags,
    pub(super) long_types: LongTypes,
    /// Set before the first task is spawned, or never.
    pub(super) task_hooks: OnceLock<TaskHooks>,
    /// Set before the first thread starts, or never.
    pub(super) quiescence: OnceLock<Quiescence>,
    pub(super) foreign: ForeignTasks,
    quiet: QuietWaiters,
    /// Set before the first thread starts, or never.
    pub(super) probe: OnceLock<std::sync::Arc<dyn Probe>>,
    pub(super) shutdown: Shutdown,
}

impl Shared {
    pub(crate) fn new(max_workers: usize, driver: Arc<Driver>) -> Arc<Self> {
        Arc::new(Self {
            slots: Slots::new(max_workers),
            queues: SharedQueues::new(),
            idle: Idle::new(max_workers),
            driver,
            seated: CachePadded::new(AtomicUsize::new(usize::MAX)),
            size: WorkerCount::new(),
            threads: Threads::new(),
            watchdog: WatchdogFlags::new(),
            long_types: LongTypes::new(),
            task_hooks: OnceLock::new(),
            quiescence: OnceLock::new(),
            foreign: ForeignTasks::new(),
            quiet: QuietWaiters::new(),
            probe: OnceLock::new(),
            shutdown: Shutdown::new(),
        })
    }

    /// Says what is called for each task. Before the first is spawned.
    pub(crate) fn set_task_hooks(&self, hooks: TaskHooks) {
        assert!(self.task_hooks.set(hooks).is_ok(), "set once");
    }

    /// How many workers there are without the spares, or are about to be.
    pub(crate) fn worker_count(&self) -> usize {
        self.size.regular()
    }

    /// How many spare workers there are.
    pub(crate) fn spare_workers(&self) -> usize {
        self.size.spares()
    }

    /// The most workers there may be, with spares.
    pub(super) fn most_workers(&self, setup: &ThreadSetup) -> usize {
        let replaced = if setup.replaces_blocked { self.size.blocked_in_place() } else { 0 };
        (self.size.regular() + setup.max_spares + replaced).min(self.slots.workers())
    }

    /// How many there may be, if there are as many.
    pub(crate) fn spares_used_up(&self) -> Option<usize> {
        let setup = self.threads.setup.get()?;
        let most = self.most_workers(setup).saturating_sub(self.size.regular());
        (self.spare_workers() >= most).then_some(most)
    }

    /// How many threads of workers rest.
    pub(crate) fn resting_workers(&self) -> usize {
        self.slots.iter().filter(|slot| slot.rests()).count()
    }

    /// The tasks that the workers run at the moment.
    pub(crate) fn running_tasks(&self) -> Vec<RunningTask> {
        let tasks = self.used_slots().filter_map(|slot| slot.running.read());
        tasks.chain(self.shutdown.drainer.read()).collect()
    }

    /// A worker has found nothing in the queues that all workers share.
    pub(super) fn lower_shared_flag(&self) {
        self.queues.lower_flag(|| self.queues.len() != 0);
    }

    /// Whether a thief would find a task that has been woken or spawned. For the moments when it matters: it
    /// executes fences.
    pub(super) fn has_ready(&self) -> bool {
        !self.queues.injector.is_empty() || self.occupied_slots().any(Slot::has_ready)
    }

    /// Whether a thief would find a task that has yielded. As for `has_ready`.
    pub(super) fn has_yielded(&self) -> bool {
        !self.queues.yielded.is_empty() || self.occupied_slots().any(Slot::has_yielded)
    }

    /// Whether anything is queued.
    pub(super) fn has_work(&self) -> bool {
        self.has_ready() || self.has_yielded()
    }

    /// The slots in which there may be tasks.
    fn occupied_slots(&self) -> impl Iterator<Item = &Slot> {
        (0..self.slots.occupied()).map(|index| self.slots.get(index))
    }

    fn used_slots(&self) -> impl Iterator<Item = &Slot> {
        (0..self.slots.high()).map(|index| self.slots.get(index))
    }

    /// The entry of each slot's worker, by the index of the slot. The regular workers come first,
    /// and the spares follow.
    pub(crate) fn worker_entries(&self) -> impl ExactSizeIterator<Item = (usize, WorkerEntry)> {
        (0..self.slots.high()).map(|index| (index, self.worker_entry(index)))
    }

    /// The entry of `worker`, which must have a slot: what it does at the moment. If the worker moves
    /// meanwhile, what is read may be of different moments, and `position` is the first of them: see
    /// [`Shared::has_moved`].
    pub(crate) fn worker_entry(&self, worker: usize) -> WorkerEntry {
        let slot = self.slots.get(worker);
        WorkerEntry {
            position: slot.position(),
            polls: slot.running.polls(),
            task: slot.running.read(),
            thread: slot.thread(),
            has_thread: slot.has_thread(),
            rests: slot.rests(),
            is_parked: self.idle.is_parked(worker),
            is_blocked_in_place: slot.is_blocked_in_place(),
        }
    }

    /// Whether the runtime has begun to end.
    pub(crate) fn is_closed(&self) -> bool {
        self.shutdown.is_closed()
    }

    /// Attaches `probe`. Before the first thread starts, and once.
    pub(crate) fn set_probe(&self, probe: std::sync::Arc<dyn Probe>) {
        assert!(self.probe.set(probe).is_ok(), "set once");
    }

    /// Calls `begin` with the number of slots that have had a worker. From then on each worker calls its
    /// probe at each step. Returns `None`, and does nothing, if the runtime has been shut down.
    ///
    /// This method holds the lock of the threads, so no thread of a worker is started, called back or retired
    /// meanwhile. A thread that was started before may reach its slot at any time. A worker that reports a
    /// step sees what `begin` has written.
    pub(crate) fn begin_observation<R>(&self, begin: impl FnOnce(usize) -> R) -> Option<R> {
        let _threads = self.threads.lock();
        if self.shutdown.is_closed() {
            return None;
        }
        let begun = begin(self.slots.high().max(self.size.staying()));
        self.size.set_observed(true);
        Some(begun)
    }

    /// Calls `end`. If it returns `true`, workers do not report their steps any more.
    pub(crate) fn end_observation(&self, end: impl FnOnce() -> bool) {
        let _threads = self.threads.lock();
        if end() {
            self.size.set_observed(false);
        }
    }

    /// Reports that a thread that is no worker has woken `task`, if the scheduler is being observed, and
    /// follows the task if a worker is stuck.
    #[inline]
    pub(super) fn report_outside(&self, task: &Hot) {
        if self.size.reports_wakes() {
            self.report_wake(task);
        }
    }

    #[cold]
    #[inline(never)]
    fn report_wake(&self, task: &Hot) {
        if self.size.take_followed_wake() {
            task.follow_queued(1);
        }
        if self.size.is_observed() {
            self.report_event(TaskEvent::Woken(task.identity()));
        }
    }

    /// So many of the next wakes from threads that are no workers are followed to their polls. While a worker
    /// is stuck those may be the longest waits, and too few for a sample.
    pub(crate) fn follow_wakes(&self, count: u32) {
        self.size.follow_wakes(count);
    }

    /// Reports the `number`th spawn on such a thread.
    #[cold]
    #[inline(never)]
    pub(super) fn report_spawn(&self, task: &Hot, number: u64) {
        let Some(probe) = self.probe.get() else {
            return self.report_spawns_from(u64::MAX);
        };
        let (next, stands_for) = probe.spawned_outside(task.identity(), task.future_type(), number);
        self.report_spawns_from(next);
        if let Some(stands_for) = stands_for {
            task.follow_queued(stands_for);
        }
    }

    /// How many tasks such threads have spawned.
    pub(crate) fn spawned_by_others(&self) -> u64 {
        // Ordering: Relaxed, a number on its own.
        self.foreign.spawned.load(Ordering::Relaxed)
    }

    /// Such spawns are reported from that number on. While the scheduler is observed, all are.
    pub(crate) fn report_spawns_from(&self, number: u64) {
        // Ordering: Relaxed, as where it is read.
        self.foreign.next_reported.store(number, Ordering::Relaxed);
    }

    /// Reports what has happened on a thread that is no worker. The scheduler is being observed.
    #[cold]
    pub(super) fn report_event(&self, event: TaskEvent) {
        if let Some(probe) = self.probe.get() {
            probe.happened_outside(event);
        }
    }

    /// The tasks that the workers poll at the moment, with the index of the worker and the number of the
    /// poll.
    pub(crate) fn polls_under_way(&self) -> impl Iterator<Item = (usize, u64, RunningTask)> {
        self.used_slots().enumerate().filter_map(|(index, Slot { running, .. })| {
            let (polls, task) = (running.polls(), running.read()?);
            (running.polls() == polls).then_some((index, polls, task))
        })
    }

    /// Whether `worker` does something else than when `entry` was made.
    pub(crate) fn has_moved(&self, worker: usize, entry: &WorkerEntry) -> bool {
        let slot = self.slots.get(worker);
        slot.is_blocked_in_place() != entry.is_blocked_in_place || slot.position() != entry.position
    }

    /// How many tasks have been spawned and are not complete.
    ///
    /// Completions are read first. Each count only grows, so if both sums are equal there was a moment
    /// between the two readings at which no task was alive. Acquire on the completions: a task that a
    /// completed task spawned is counted.
    pub(crate) fn alive_tasks(&self) -> u64 {
        // Ordering: Acquire pairs with the Release increment in `cancel_noted`, and `Count::get` below has
        // its own pair; see above.
        let foreign = self.foreign.completed.load(Ordering::Acquire);
        let completed =
            self.slots.iter().map(|slot| slot.stats.completed.get()).sum::<u64>() + foreign;
        // Ordering: Relaxed, ordered after the loads above by their Acquire.
        let foreign = self.foreign.spawned.load(Ordering::Relaxed);
        let spawned = self.slots.iter().map(|slot| slot.stats.spawned.get()).sum::<u64>() + foreign;
        spawned.saturating_sub(completed)
    }

    /// How many tasks have been cold at least once and are not complete.
    pub(crate) fn cold_tasks(&self) -> usize {
        self.slots.iter().map(|slot| slot.registry.len()).sum()
    }

    /// How many lists there are for [`Shared::list_tasks`].
    pub(crate) fn task_lists(&self) -> usize {
        self.slots.workers()
    }

    /// Puts tasks of the list `slot` that have been cold into `list`: see
    /// [`Registry::list`](crate::engine::task::registry::Registry::list).
    pub(crate) fn list_tasks(
        &self,
        slot: usize,
        from: usize,
        marks: bool,
        list: &mut Vec<ListEntry>,
    ) -> Option<usize> {
        self.slots.made(slot)?.registry.list(from, marks, list)
    }

    /// Asks tasks that have been cold for a traced poll: see
    /// [`Registry::trace`](crate::engine::task::registry::Registry::trace).
    pub(crate) fn trace_tasks(&self, wanted: &mut impl FnMut(TaskId) -> bool) {
        self.slots.iter().for_each(|slot| slot.registry.trace(wanted));
    }

    /// Tasks in the injector and in the shared queue of those that have yielded.
    pub(crate) fn shared_queue_len(&self) -> usize {
        self.queues.len()
    }

    /// How many tasks are in the deques of one worker, at about this moment. Not those in its next slot.
    pub(crate) fn queued_tasks(&self, worker: usize) -> usize {
        let queues = self.slots.made(worker).map(|slot| [slot.ready(), slot.yielded()]);
        queues.into_iter().flatten().flatten().map(Stealer::len).sum()
    }

    /// The counts of one worker since the runtime began. Zeros if there is no such worker.
    pub(crate) fn worker_counts(&self, worker: usize) -> WorkerCounts {
        let counts = |slot: &Slot| WorkerCounts {
            polls: slot.running.polls(),
            stolen: slot.stats.stolen.get(),
            injected: slot.stats.from_injector.get(),
            ..slot.sleeps.counts()
        };
        self.slots.made(worker).map_or_else(WorkerCounts::default, counts)
    }

    /// How many tasks all workers have taken from the injector.
    pub(crate) fn taken_from_injector(&self) -> u64 {
        self.used_slots().map(|slot| slot.stats.from_injector.get()).sum()
    }

    /// Whether no task is alive, and each JoinHandle knows.
    ///
    /// A worker counts a completion before the task's JoinHandle learns of it, so that a caller which has
    /// awaited the handle never counts the task. Its `running` says when both are over. The counts are
    /// read first: if `running` says that no task runs, this says nothing of a task that begins and
    /// is counted later.
    fn is_quiet(&self) -> bool {
        self.alive_tasks() == 0 && self.used_slots().all(|slot| slot.running.is_between_polls())
    }

    /// Blocks the calling thread until no task is alive, and each JoinHandle knows.
    pub(crate) fn wait_until_quiet(&self, parker: &Parker) {
        self.quiet.wait(parker, || self.is_quiet());
    }

    /// After a worker ran out of work, or a task ended elsewhere: tells the threads that wait for the last
    /// task.
    pub(super) fn check_quiet(&self) {
        self.quiet.check(|| self.is_quiet());
    }

    /// Takes a task that completes out of the registry that it has entered.
    #[inline]
    pub(super) fn unregister(&self, key: RegistryKey) {
        self.slots.get(usize::from(key.shard)).registry.remove(key.index);
    }

    /// Runs `task` as cancelled on the calling thread, which has no slot.
    pub(super) fn cancel(&self, task: Hot) {
        self.cancel_noted(task, None);
    }

    /// As [`Shared::cancel`]. `running`: where the calling thread publishes the task whose destructor it
    /// runs, if other threads read that.
    pub(super) fn cancel_noted(&self, task: Hot, running: Option<&Running>) {
        if let Some(running) = running {
            running.begin(task.identity());
        }
        task.cancel(&Canceller(self));
        // Only now, as a foreign thread says nowhere what it runs: see `is_quiet`.
        // Ordering: Release pairs with the Acquire of `alive_tasks`.
        self.foreign.completed.fetch_add(1, Ordering::Release);
        if let Some(running) = running {
            running.end();
        }
        // Ordering: complete, fence, look for waiters: see `QuietWaiters::wait`.
        fence(Ordering::SeqCst);
        self.check_quiet();
    }
}

/// See [`Shared::worker_entries`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WorkerEntry {
    /// See [`Slot::position`]: even during a poll, and odd otherwise.
    pub(crate) position: u64,
    /// How many polls it has begun.
    pub(crate) polls: u64,
    /// `None`: it is not in a poll.
    pub(crate) task: Option<RunningTask>,
    /// The system's number of its thread, where there is one.
    pub(crate) thread: Option<u32>,
    /// A thread works here.
    pub(crate) has_thread: bool,
    /// The thread that has worked here rests.
    pub(crate) rests: bool,
    pub(crate) is_parked: bool,
    pub(crate) is_blocked_in_place: bool,
}

impl WorkerEntry {
    pub(crate) fn is_in_poll(&self) -> bool {
        self.position % 2 == 0
    }

    /// Whether it is parked, or there is no thread.
    pub(crate) fn is_idle(&self) -> bool {
        (self.is_parked || !self.has_thread) && !self.is_blocked_in_place
    }
}

/// Cancels tasks and counts them as foreign: those that were spawned too late, and those that any thread
/// finds at shutdown.
struct Canceller<'a>(&'a Shared);

impl Completer for Canceller<'_> {
    fn unregister(&self, key: RegistryKey) {
        self.0.unregister(key);
    }

    /// Counted by `cancel_noted`.
    fn completed(&self) {}
}

// The index of each worker fits into the home of a task, and so into the 16 bits of the registry's shard.
const _: () = assert!(2 * super::slots::MAX_WORKERS < Home::NO_WORKER as usize);

/// The queues that all workers share.
pub(super) struct SharedQueues {
    pub(super) injector: Injector<Hot>,
    /// Tasks that have yielded on a worker that did not keep them: a helper, one that the brake keeps from
    /// them, or one that left.
    pub(super) yielded: Injector<Hot>,
    /// Workers that have work of their own should look here: something was pushed to one of the two queues,
    /// or the watchdog has ordered a rescue. A hint; a worker without work looks at the queues.
    pub(super) flag: CachePadded<AtomicBool>,
}

impl SharedQueues {
    pub(super) fn new() -> Self {
        Self {
            injector: Injector::new(),
            yielded: Injector::new(),
            flag: CachePadded::new(AtomicBool::new(false)),
        }
    }

    /// How many tasks wait here.
    pub(super) fn len(&self) -> usize {
        self.injector.len() + self.yielded.len()
    }

    /// Lets workers that are busy look here.
    pub(super) fn raise_flag(&self) {
        // Ordering: Relaxed, after the fence of a pusher; the other half is in `lower_flag`. Read first: many
        // pushes need one write.
        if !self.flag.load(Ordering::Relaxed) {
            self.flag.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a worker that is busy with itself should look here.
    #[inline]
    pub(super) fn is_flag_raised(&self) -> bool {
        // Ordering: Relaxed, a hint that `raise_flag` and `lower_flag` write; the queues order what is taken.
        self.flag.load(Ordering::Relaxed)
    }

    /// A worker has found nothing. `is_left`: whether there is something now.
    pub(super) fn lower_flag(&self, is_left: impl FnOnce() -> bool) {
        if !self.is_flag_raised() {
            return;
        }
        // Ordering: lower, fence, look; the pusher: push, fence, look at the flag. One of the two sees
        // the other.
        self.flag.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if is_left() {
            self.flag.store(true, Ordering::Relaxed);
        }
    }
}

/// The threads that wait until the runtime is quiet, which is when no task is alive.
pub(super) struct QuietWaiters {
    threads: Mutex<Vec<Unparker>>,
    count: AtomicUsize,
}

impl QuietWaiters {
    pub(super) fn new() -> Self {
        Self { threads: Mutex::new(Vec::new()), count: AtomicUsize::new(0) }
    }

    /// Blocks the calling thread until `is_quiet`.
    pub(super) fn wait(&self, parker: &Parker, is_quiet: impl Fn() -> bool) {
        // Ordering: Relaxed; the fence below makes it the waiter's half of a Dekker pair: announce, fence,
        // count tasks and look at what each worker runs. The other half is a worker that parks: complete, say
        // that no task runs here, fence, look for waiters and at what the other workers run. The last worker
        // to do so sees that it is the last.
        self.count.fetch_add(1, Ordering::Relaxed);
        loop {
            self.threads.lock().push(parker.unparker());
            fence(Ordering::SeqCst);
            if is_quiet() {
                break;
            }
            parker.park();
        }
        let mut threads = self.threads.lock();
        // Ordering: Relaxed, under the lock; a worker that still sees the old count only looks in vain.
        if self.count.fetch_sub(1, Ordering::Relaxed) == 1 {
            threads.clear();
        }
    }

    /// Wakes the threads that wait, if there are some and `is_quiet`.
    #[inline]
    pub(super) fn check(&self, is_quiet: impl FnOnce() -> bool) {
        // Ordering: Relaxed after the caller's SeqCst fence, see `wait`.
        if self.count.load(Ordering::Relaxed) == 0 || !is_quiet() {
            return;
        }
        for unparker in self.threads.lock().drain(..) {
            let Unpark::Done = unparker.unpark() else {
                unreachable!("a thread in block_until_completion never sits in the poller");
            };
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::engine::task::TaskId;
    use std::panic::Location;

    #[test]
    fn an_entry_is_of_another_position_in_each_poll_and_after_it() {
        let shared = Shared::new(1, Driver::new(1).unwrap());
        shared.slots.raise(0);
        let slot = shared.slots.get(0);
        let entry = || shared.worker_entries().next().unwrap().1;
        assert!(!entry().has_thread);
        slot.note_thread();
        let task = RunningTask::new(TaskId::next(), Location::caller());
        slot.running.begin(task);
        let during = entry();
        assert!(during.is_in_poll() && during.task == Some(task));
        assert!(!shared.has_moved(0, &during));
        slot.running.end();
        let after = entry();
        assert!(!after.is_in_poll() && after.task.is_none());
        assert!(shared.has_moved(0, &during) && !shared.has_moved(0, &after));
        slot.forget_thread();
        assert!(!entry().has_thread);
    }
}
