//! A picture of a runtime at one moment.

use super::await_tree::{AwaitTree, trees};
use super::deadlocks::{Deadlocks, Suspects};
use super::finding::Finding;
use super::pool_info::PoolInfo;
use super::queues::QueueGroup;
use super::slow_poll_info::{Lately, SlowPollInfo};
use super::socket_info::SocketInfo;
use super::sockets::Targets;
use super::task_group::{Groups, TaskGroup};
use super::task_info::TaskInfo;
use super::task_state::TaskState;
use super::thread_stack::ThreadStacks;
use super::waits;
use super::worker_info::WorkerInfo;
use crate::engine::sync_shim::Mutex;
use crate::engine::task::RunningTask;
use crate::observe::histogram::HistogramCounts;
use crate::runtime::{CpuLimits, Handle, RuntimeFlavor, watched};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, Location};
use std::sync::Arc;
use std::time::Duration;

/// How many tasks a dump has one by one; the groups have all of them.
const KEPT_TASKS: usize = 10_000;

/// How many await trees a dump has at most.
const MOST_TREES: usize = 100;

/// A picture of a runtime at one moment: its workers, tasks, blocking work, timers and sources, and what is
/// wrong with them. From [`Handle::dump`] and [`Handle::dump_with_trees`].
///
/// Its `Display` is a text for people. It begins with sentences that say what is wrong. Then it says which
/// poll was slow, if slow polls have ended within the last minute. Names and paths that have more than 400
/// characters are cut there.
///
/// Each part is read while the runtime goes on. So a task may be in one part and no longer in another.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Dump {
    pub(super) name: Option<String>,
    pub(super) flavor: RuntimeFlavor,
    pub(super) workers: Vec<WorkerInfo>,
    pub(super) polled_elsewhere: Vec<RunningTask>,
    pub(super) slow_after: Duration,
    pub(super) alive_tasks: usize,
    /// The tasks that are in a queue of the workers.
    pub(super) ready_for_workers: usize,
    pub(super) tasks: Vec<TaskInfo>,
    pub(super) groups: Vec<TaskGroup>,
    pub(super) deadlocks: Deadlocks,
    pub(super) pool: PoolInfo,
    /// The channels and sets of tasks by their places, those with the most values first. Empty unless there
    /// is a page.
    pub(super) queues: Vec<QueueGroup>,
    pub(super) timers: usize,
    pub(super) sources: usize,
    pub(super) sockets: Vec<SocketInfo>,
    /// Why it is not known what some of them lead to.
    pub(super) sockets_trouble: Option<String>,
    /// How many there were in all, and the last of them.
    pub(super) slow_polls: u64,
    pub(super) last_slow_polls: Vec<SlowPollInfo>,
    pub(super) blocked_polls: u64,
    /// How many spare workers there may be, if there are as many.
    pub(super) spares_used_up: Option<usize>,
    /// What limits the process.
    pub(super) limits: CpuLimits,
    pub(super) trees: Vec<AwaitTree>,
    /// The panics of the tasks of each place, the latest first, with the time since the last one.
    pub(super) panics: Vec<(RunningTask, u64, Duration)>,
    /// The places whose tasks the workers polled at most looks, with the part of the looks in percent. Empty
    /// unless the dump is the page's.
    pub(super) busy_places: Vec<(&'static Location<'static>, u32)>,
    /// Sentences of what to look at where there is no finding; of several looks.
    pub(super) notable: Vec<String>,
    /// What several looks have shown. Empty unless the dump is the page's.
    pub(super) over_time: Vec<Finding>,
    /// Whether it is the page's.
    pub(super) is_followed: bool,
    /// How long polls took, and how long tasks were ready before them. `None` without workers.
    pub(super) times: Option<[HistogramCounts; 2]>,
    /// For tasks that are looked at later. A panic leaves it as whole as it was.
    pub(super) targets: Arc<AssertUnwindSafe<Mutex<Targets>>>,
}

impl Handle {
    /// Returns a picture of the runtime, for people or to look into.
    ///
    /// It can be asked for on any thread. It needs no worker: it says which tasks block them if all are
    /// blocked. It stops nothing, but that threads which have computed for long are interrupted for a moment:
    /// see [`insight`](crate::insight). Much of its time goes into the tasks, some 100 ns each, and up to 0.2
    /// s if such threads do not get a processor. Of two threads that go through the tasks for a dump at the
    /// same time, one waits for the other.
    ///
    /// # Examples
    ///
    /// ```
    /// # liten::block_on(async {
    /// let dump = liten::runtime::Handle::current().dump();
    /// for finding in dump.findings() {
    ///     eprintln!("{finding}");
    /// }
    /// println!("{dump}");
    /// # });
    /// ```
    pub fn dump(&self) -> Dump {
        self.look(Some(&mut ThreadStacks::default()))
    }

    /// As [`dump`](Self::dump), but interrupts no thread: what threads do is without their stacks.
    pub(super) fn dump_without_stacks(&self) -> Dump {
        self.look(None)
    }

    fn look(&self, mut stacks: Option<&mut ThreadStacks>) -> Dump {
        let (metrics, workers) = (self.metrics(), self.worker_facts(stacks.as_deref_mut()));
        let mut workers: Vec<_> = workers.into_iter().map(WorkerInfo::of).collect();
        let polled_elsewhere = self.tasks_polled_elsewhere().collect();
        let locals = || -> u64 {
            let executors = watched::executors_of(self.id());
            executors.iter().map(|executor| executor.alive_tasks()).sum()
        };
        let alive = || (metrics.num_alive_tasks() + locals() as usize, self.tasks_of_workers());
        // Before the tasks are counted: so those of the sets that are alive then are among the counted ones.
        let mut queues = QueueGroup::list(self.id());
        let before = alive();
        let (mut tasks, mut walk) = (Vec::new(), Walk::new(self, &workers));
        for mut task in walk.suspects.walk(self) {
            walk.meet(&mut task);
            if tasks.len() < KEPT_TASKS {
                tasks.push(task);
            }
        }
        // At once, because other threads may wait to make a proof.
        let deadlocks = walk.suspects.ask_holders().prove(self);
        let pool = PoolInfo::of(self, stacks);
        let mut targets = Targets::default();
        waits::complete(self, &mut tasks, &pool, &mut targets);
        QueueGroup::fill(&mut queues, self.id(), &tasks);
        let sockets = SocketInfo::list(self, &mut targets);
        let sockets_trouble = targets.trouble().map(str::to_owned);
        mark(&mut tasks, &deadlocks);
        // Tasks that have ended during the walk are not in a queue.
        let (alive_tasks, of_workers) = (before.0.min(alive().0), before.1.min(alive().1));
        for worker in &mut workers {
            let name = worker.task.and_then(|task| walk.names.get(&task));
            worker.task_name = name.cloned().flatten();
        }
        Dump {
            name: self.name().map(str::to_owned),
            flavor: self.runtime_flavor(),
            workers,
            polled_elsewhere,
            slow_after: self.slow_after(),
            alive_tasks,
            ready_for_workers: walk.ready + of_workers.saturating_sub(walk.of_workers),
            tasks,
            groups: walk.groups.into_sorted(),
            deadlocks,
            pool,
            queues,
            timers: self.timers(),
            sources: self.sources(),
            sockets,
            sockets_trouble,
            slow_polls: metrics.slow_poll_count(),
            last_slow_polls: SlowPollInfo::list(self),
            blocked_polls: metrics.blocked_poll_count(),
            spares_used_up: self.spares_used_up(),
            limits: metrics.cpu_limits(),
            trees: Vec::new(),
            panics: self.panics(),
            busy_places: Vec::new(),
            notable: Vec::new(),
            over_time: Vec::new(),
            is_followed: false,
            times: metrics.histograms(),
            targets: Arc::new(AssertUnwindSafe(Mutex::new(targets))),
        }
    }

    /// Returns what [`Handle::dump`] does, and the await trees of the first 100 tasks that wait.
    ///
    /// Each of them is polled once more, and the calling thread waits for that, `limit` at most: all that
    /// is said of [`Handle::await_tree`] holds. The tree of a task that was not polled in time is missing.
    pub fn dump_with_trees(&self, limit: Duration) -> Dump {
        let mut dump = self.dump();
        let waiting = dump.tasks.iter().filter(|task| task.state() == TaskState::Waiting);
        let waiting: Vec<_> = waiting.map(TaskInfo::id).take(MOST_TREES).collect();
        let trees = trees(self, &waiting, limit, || false);
        dump.trees = trees.into_iter().filter_map(|(_, tree)| tree).collect();
        dump
    }
}

impl Dump {
    /// How many tasks have waited before, and so are in the groups, with a row of their own or without.
    pub(super) fn listed_tasks(&self) -> usize {
        self.groups.iter().map(TaskGroup::tasks).sum()
    }

    /// Adds to `tasks`, of the same runtime, what the walk through them has not told.
    pub(super) fn complete(&self, handle: &Handle, tasks: &mut [TaskInfo]) {
        let mut targets = self.targets.lock();
        targets.forget_descriptors();
        waits::complete(handle, tasks, &self.pool, &mut targets);
        mark(tasks, &self.deadlocks);
    }
}

fn mark(tasks: &mut [TaskInfo], deadlocks: &Deadlocks) {
    let marked = tasks.iter_mut().filter(|task| deadlocks.tasks.contains(&task.id()));
    marked.for_each(|task| task.set_deadlocked(deadlocks.unless_given.contains(&task.id())));
}

/// What is noted of the tasks, one after the other.
struct Walk {
    groups: Groups,
    /// How many of them workers run.
    of_workers: usize,
    /// How many of those are ready and have waited before.
    ready: usize,
    /// The names of the tasks that the workers polled before.
    names: HashMap<RunningTask, Option<Arc<str>>>,
    suspects: Suspects,
}

impl Walk {
    fn new(handle: &Handle, workers: &[WorkerInfo]) -> Self {
        let names = workers.iter().filter_map(|worker| Some((worker.task?, None))).collect();
        let (groups, suspects) = (Groups::default(), Suspects::new(handle.id()));
        Self { groups, of_workers: 0, ready: 0, names, suspects }
    }

    fn meet(&mut self, task: &mut TaskInfo) {
        self.groups.add(task);
        self.suspects.meet(task);
        if task.is_of_workers() {
            self.of_workers += 1;
            self.ready += usize::from(task.state() == TaskState::Ready);
        }
        if let (Some(name), Some(shown)) = (task.shared_name(), self.names.get_mut(&task.task())) {
            *shown = Some(name.clone());
        }
    }
}

impl Dump {
    /// Returns the name that [`Builder::name`](crate::runtime::Builder::name) has given to the runtime.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the workers that there have been until now. Empty without workers.
    pub fn workers(&self) -> &[WorkerInfo] {
        &self.workers
    }

    /// Returns the tasks that are polled by threads other than workers: pinned tasks, and those of a runtime
    /// without workers.
    pub fn polled_elsewhere(&self) -> &[RunningTask] {
        &self.polled_elsewhere
    }

    /// Returns how many tasks have been spawned and have not ended.
    pub fn alive_tasks(&self) -> usize {
        self.alive_tasks
    }

    /// Returns live tasks, one by one: those of [`Handle::tasks`], but no more than 10,000.
    pub fn tasks(&self) -> &[TaskInfo] {
        &self.tasks
    }

    /// Returns all tasks of [`Handle::tasks`] by the places of their spawns, the largest group first.
    pub fn groups(&self) -> &[TaskGroup] {
        &self.groups
    }

    /// Returns the last slow polls, 16 at most: first those that are under way, then those that are over,
    /// of which the last one comes first. Empty without workers.
    ///
    /// They are kept from the start of the runtime on, whether or not a page is open. So this says which task
    /// has blocked its worker before, where it was spawned, for how long, and in which system call: the
    /// findings say it only while it blocks.
    /// [`RuntimeMetrics::slow_poll_count`](crate::runtime::RuntimeMetrics::slow_poll_count) counts all.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::insight::SlowPollInfo;
    /// use std::time::Duration;
    ///
    /// let runtime = liten::runtime::Builder::new_multi_thread()
    ///     .slow_poll_threshold(Duration::from_millis(20))
    ///     .build()
    ///     .unwrap();
    /// let blocks = runtime.spawn(async { std::thread::sleep(Duration::from_millis(500)) });
    /// let id = blocks.id();
    /// runtime.block_on(blocks).unwrap();
    /// let dump = runtime.handle().dump();
    /// let is_it = |slow: &&SlowPollInfo| slow.task().is_some_and(|task| task.id() == id);
    /// let slow = dump.slow_polls().iter().find(is_it).unwrap();
    /// assert!(slow.duration() >= Duration::from_millis(20));
    /// // Says for instance: worker 0 was held up for 498 ms until 2 ms ago: task 1, spawned at
    /// // src/main.rs:7:22, in the system call clock_nanosleep
    /// println!("{slow}");
    /// ```
    pub fn slow_polls(&self) -> &[SlowPollInfo] {
        &self.last_slow_polls
    }

    pub(super) fn lately(&self) -> Option<Lately<'_>> {
        let panicked: Vec<_> = self.panics.iter().map(|(task, ..)| *task).collect();
        Lately::of(&self.last_slow_polls, &panicked)
    }

    /// Returns the await trees, if they were asked for: see [`Handle::dump_with_trees`].
    pub fn await_trees(&self) -> &[AwaitTree] {
        &self.trees
    }

    /// Returns the blocking pool.
    pub fn pool(&self) -> &PoolInfo {
        &self.pool
    }

    /// Returns how many timers wait.
    pub fn timers(&self) -> usize {
        self.timers
    }

    /// Returns how many sources, such as sockets, are registered for events.
    pub fn sources(&self) -> usize {
        self.sources
    }

    /// Returns the sources one by one, 10,000 at most: sockets above all.
    pub fn sockets(&self) -> &[SocketInfo] {
        &self.sockets
    }

    /// How many tasks are alive, with those that are blocking work.
    pub(super) fn living(&self) -> usize {
        self.alive_tasks + self.pool.jobs.len() + self.pool.queued()
    }

    /// How many live tasks are in a queue and have never waited: those that are not listed.
    pub(super) fn new_tasks(&self) -> usize {
        self.alive_tasks.saturating_sub(self.listed_tasks())
    }

    /// How long polls took, and how long tasks were ready before them, with their names. Empty without
    /// workers.
    pub(super) fn histograms(&self) -> impl Iterator<Item = (&'static str, &HistogramCounts)> {
        ["poll_times", "schedule_latencies"].into_iter().zip(self.times.iter().flatten())
    }

    /// How many of the listed tasks are in that state.
    pub(super) fn count(&self, state: TaskState) -> usize {
        self.groups.iter().map(|group| group.count(state)).sum()
    }
}
