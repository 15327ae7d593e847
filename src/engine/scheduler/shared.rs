//! The state that the workers share.

use super::awake_threads::Quiescence;
use super::idle::Idle;
use super::lengths::LongTypes;
use super::probe::{Probe, TaskEvent};
use super::slots::{ForeignTasks, Slot, Slots};
use super::threads::{Shutdown, ThreadSetup, Threads, WorkerCount};
use crate::engine::driver::Driver;
use crate::engine::park::{Parker, Unpark, Unparker};
use crate::engine::queue::local::Injector;
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::engine::sync_shim::{Arc, Mutex};
use crate::engine::task::current::Running;
use crate::engine::task::header::{Completer, Hot, RegistryKey, TaskHooks};
use crate::engine::task::home::Home;
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
    /// Tasks of a class have been spawned: see worker/classes.rs.
    has_classes: AtomicBool,
    /// Set before the first task is spawned, or never.
    pub(super) task_hooks: OnceLock<Box<dyn TaskHooks>>,
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
            has_classes: AtomicBool::new(false),
            task_hooks: OnceLock::new(),
            quiescence: OnceLock::new(),
            foreign: ForeignTasks::new(),
            quiet: QuietWaiters { threads: Mutex::new(Vec::new()), count: AtomicUsize::new(0) },
            probe: OnceLock::new(),
            shutdown: Shutdown::new(),
        })
    }

    /// Says what is called for each task. Before the first is spawned.
    pub(crate) fn set_task_hooks(&self, hooks: Box<dyn TaskHooks>) {
        assert!(self.task_hooks.set(hooks).is_ok(), "set once");
    }

    /// Whether tasks of a class have been spawned.
    pub(super) fn has_classes(&self) -> bool {
        // Ordering: Relaxed, a late answer puts a task into the wrong queue, and no task is lost.
        self.has_classes.load(Ordering::Relaxed)
    }

    pub(super) fn note_classes(&self) {
        // Ordering: Relaxed, see `has_classes`. Mostly it is set, and a store would take the line from the
        // workers that read it.
        if !self.has_classes() {
            self.has_classes.store(true, Ordering::Relaxed);
        }
    }

    /// The most workers there may be, with spares.
    pub(super) fn most_workers(&self, setup: &ThreadSetup) -> usize {
        let replaced = if setup.replaces_blocked { self.size.blocked_in_place() } else { 0 };
        (self.size.regular() + setup.max_spares + replaced).min(self.slots.workers())
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

    pub(super) fn used_slots(&self) -> impl Iterator<Item = &Slot> {
        (0..self.slots.high()).map(|index| self.slots.get(index))
    }

    /// Whether the runtime has begun to end.
    pub(crate) fn is_closed(&self) -> bool {
        self.shutdown.is_closed()
    }

    /// Attaches `probe`. Before the first thread starts, and once.
    pub(crate) fn set_probe(&self, probe: std::sync::Arc<dyn Probe>) {
        assert!(self.probe.set(probe).is_ok(), "set once");
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
        // Ordering: Relaxed; the fence below makes it the waiter's half of a Dekker pair: announce, fence,
        // count tasks and look at what each worker runs. The other half is a worker that parks: complete, say
        // that no task runs here, fence, look for waiters and at what the other workers run. The last worker
        // to do so sees that it is the last.
        self.quiet.count.fetch_add(1, Ordering::Relaxed);
        loop {
            self.quiet.threads.lock().push(parker.unparker());
            fence(Ordering::SeqCst);
            if self.is_quiet() {
                break;
            }
            parker.park();
        }
        let mut threads = self.quiet.threads.lock();
        // Ordering: Relaxed, under the lock; a worker that still sees the old count only looks in vain.
        if self.quiet.count.fetch_sub(1, Ordering::Relaxed) == 1 {
            threads.clear();
        }
    }

    /// After a worker ran out of work, or a task ended elsewhere: wakes the threads that wait for the last
    /// task, if there are some and it has ended.
    pub(super) fn check_quiet(&self) {
        // Ordering: Relaxed after the caller's SeqCst fence, see `wait_until_quiet`.
        if self.quiet.count.load(Ordering::Relaxed) == 0 || !self.is_quiet() {
            return;
        }
        for unparker in self.quiet.threads.lock().drain(..) {
            let Unpark::Done = unparker.unpark() else {
                unreachable!("a thread in block_until_completion never sits in the poller");
            };
        }
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
        task.cancel(self, None);
        // Only now, as a foreign thread says nowhere what it runs: see `is_quiet`.
        // Ordering: Release pairs with the Acquire of `alive_tasks`.
        self.foreign.completed.fetch_add(1, Ordering::Release);
        if let Some(running) = running {
            running.end();
        }
        // Ordering: complete, fence, look for waiters: see `wait_until_quiet`.
        fence(Ordering::SeqCst);
        self.check_quiet();
    }
}

/// For tasks that any thread cancels: those that were spawned too late, and those that it finds at shutdown.
impl Completer for Shared {
    #[inline]
    fn unregister(&self, key: RegistryKey) {
        self.slots.get(usize::from(key.shard)).registry.remove(key.index);
    }

    /// Not yet: `cancel_noted` counts it as foreign when the JoinHandle knows.
    fn completed(&self) {}
}

// The index of each worker fits into the home of a task, and so into the 16 bits of the registry's shard.
const _: () = assert!(super::slots::MAX_SLOTS < Home::NO_WORKER as usize);

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

    /// A worker has found nothing here.
    pub(super) fn lower_flag(&self) {
        if !self.is_flag_raised() {
            return;
        }
        // Ordering: lower, fence, look; the pusher: push, fence, look at the flag. One of the two sees
        // the other.
        self.flag.store(false, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.len() != 0 {
            self.flag.store(true, Ordering::Relaxed);
        }
    }
}

/// The threads that wait until the runtime is quiet, which is when no task is alive.
struct QuietWaiters {
    threads: Mutex<Vec<Unparker>>,
    count: AtomicUsize,
}

/// What the workers know of the watchdog.
#[derive(Default)]
pub(super) struct WatchdogFlags {
    /// The thread sleeps without a limit, or has not been started.
    asleep: AtomicBool,
    unparker: OnceLock<Unparker>,
    /// One worker that moves is to take what is queued at those that do not.
    rescue: AtomicBool,
    /// All regular workers have been stuck for long: spares run tasks that have yielded, too.
    spares_take_all: AtomicBool,
    /// Workers time polls.
    polls_are_long: AtomicBool,
}

impl WatchdogFlags {
    pub(super) fn new() -> Self {
        // As good as asleep: it is not there yet.
        Self { asleep: AtomicBool::new(true), ..Self::default() }
    }

    /// The calling thread becomes the watchdog, which `unparker` wakes.
    pub(super) fn set_unparker(&self, unparker: Unparker) {
        assert!(self.unparker.set(unparker).is_ok(), "a scheduler has one watchdog");
    }

    /// Whether the thread has started, so that it will look.
    pub(super) fn is_there(&self) -> bool {
        self.unparker.get().is_some()
    }

    /// Says that the thread sleeps from now on, unless its last look, which follows a fence, keeps it awake.
    /// Or that it could not be started: the next caller of `take_asleep` tries again.
    pub(super) fn fall_asleep(&self) {
        // Ordering: Release pairs with the Acquire in `take_asleep`.
        self.asleep.store(true, Ordering::Release);
    }

    /// Says that the thread is awake.
    pub(super) fn end_sleep(&self) {
        // Ordering: Relaxed; while the thread lives, only the thread itself stores `true`.
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Whether no worker has roused the thread since it said that it sleeps. To be asked by the thread.
    pub(super) fn is_asleep(&self) -> bool {
        // Ordering: Relaxed, a hint that `take_asleep` writes: the thread does something that can wait.
        self.asleep.load(Ordering::Relaxed)
    }

    /// Whether the thread sleeps, or has not been started. Says so to one caller, which wakes or starts it.
    ///
    /// The caller has executed a SeqCst fence after what it wants the thread to see.
    #[inline]
    pub(super) fn take_asleep(&self) -> bool {
        // Ordering: Relaxed, after the caller's fence; the swap picks one caller. Acquire pairs with the
        // Release in `fall_asleep`: the unparker is seen.
        self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Acquire)
    }

    /// Wakes the thread, on its own or in the seat; if it is awake its next sleep ends at once.
    pub(super) fn wake(&self, driver: &Driver) {
        let unpark = self.unparker.get().map(Unparker::unpark);
        if unpark == Some(Unpark::Poller) {
            driver.wake();
        }
    }

    /// Tells one worker to take what is queued at stalled workers.
    pub(super) fn order_rescue(&self) {
        // Ordering: Relaxed, see `take_rescue`.
        self.rescue.store(true, Ordering::Relaxed);
    }

    /// Asked by a worker that looks for shared work: whether it is to take what is queued at stalled workers.
    /// Said to one worker.
    pub(super) fn take_rescue(&self) -> bool {
        // Ordering: Relaxed, a hint that `order_rescue` writes; the queues order what is taken. Read
        // first: mostly it is false.
        self.rescue.load(Ordering::Relaxed) && self.rescue.swap(false, Ordering::Relaxed)
    }

    /// Says at each look whether spares run tasks that have yielded, too.
    pub(super) fn set_spares_take_all(&self, all: bool) {
        // Ordering: Relaxed: the wakes that follow order it for the spares that they wake.
        self.spares_take_all.store(all, Ordering::Relaxed);
    }

    /// Says at each look whether workers time polls.
    pub(super) fn set_polls_are_long(&self, are_long: bool) {
        // Ordering: Relaxed, see `polls_are_long`.
        self.polls_are_long.store(are_long, Ordering::Relaxed);
    }

    /// Asked by a worker at each fair turn: whether it times polls until the next one.
    pub(super) fn polls_are_long(&self) -> bool {
        // Ordering: Relaxed, stored by `set_polls_are_long`: it decides about the order of tasks alone.
        self.polls_are_long.load(Ordering::Relaxed)
    }

    /// Whether spares run tasks that have yielded, too.
    pub(super) fn spares_take_all(&self) -> bool {
        // Ordering: Relaxed: it is stored at each look. A spare that reads an old value is right after the
        // next one.
        self.spares_take_all.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
