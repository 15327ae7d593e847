//! A picture of a runtime at one moment.

use super::finding::{self, Finding};
use super::pool_info::PoolInfo;
use super::task_group::{Groups, TaskGroup};
use super::task_info::{TaskInfo, TaskState};
use super::worker_info::WorkerInfo;
use crate::engine::task::RunningTask;
use crate::runtime::facts::Facts;
use crate::runtime::{Handle, RuntimeFlavor};
use std::fmt;
use std::time::Duration;

/// How many tasks a dump has one by one; the groups have all of them.
const KEPT_TASKS: usize = 10_000;

/// How many of these the text shows, and how many groups.
const SHOWN_TASKS: usize = 100;
const SHOWN_GROUPS: usize = 30;

/// A picture of a runtime at one moment: its workers, tasks, blocking work, timers and sources, and what is
/// wrong with them. From [`Handle::dump`].
///
/// Its `Display` is a text for people. It begins with sentences that say what is wrong.
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
    pub(super) tasks: Vec<TaskInfo>,
    pub(super) groups: Vec<TaskGroup>,
    pub(super) pool: PoolInfo,
    pub(super) timers: usize,
    pub(super) sources: usize,
    pub(super) slow_polls: u64,
    pub(super) blocked_polls: u64,
    pub(super) findings: Vec<Finding>,
}

impl Handle {
    /// Returns a picture of the runtime, for people or to look into.
    ///
    /// It can be asked for on any thread. It stops nothing, and it needs no worker: it says which tasks block
    /// them if all are blocked. Much of its time goes into the tasks, some 100 ns each.
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
        let facts = self.facts();
        let (mut tasks, mut groups) = (Vec::new(), Groups::default());
        for task in self.tasks() {
            groups.add(&task);
            if tasks.len() < KEPT_TASKS {
                tasks.push(task);
            }
        }
        Dump::new(facts, tasks, groups.into_sorted())
    }
}

impl Dump {
    fn new(facts: Facts, tasks: Vec<TaskInfo>, groups: Vec<TaskGroup>) -> Self {
        let mut dump = Self {
            name: facts.name,
            flavor: facts.flavor,
            workers: facts.workers.into_iter().map(WorkerInfo::of).collect(),
            polled_elsewhere: facts.others,
            slow_after: facts.slow_after,
            alive_tasks: facts.alive_tasks,
            tasks,
            groups,
            pool: PoolInfo::of(facts.pool),
            timers: facts.timers,
            sources: facts.sources,
            slow_polls: facts.slow_polls,
            blocked_polls: facts.blocked_polls,
            findings: Vec::new(),
        };
        dump.findings = finding::find(&dump);
        dump
    }

    /// Returns what is wrong, the worst first.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
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

    /// How many live tasks are in a queue and have never waited: those that are not listed.
    pub(super) fn new_tasks(&self) -> usize {
        self.alive_tasks.saturating_sub(self.groups.iter().map(TaskGroup::len).sum())
    }

    /// How many of the listed tasks are in that state.
    pub(super) fn count(&self, state: TaskState) -> usize {
        self.groups.iter().map(|group| group.count(state)).sum()
    }
}

impl fmt::Display for Dump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "! {finding}")?;
        }
        if self.findings.is_empty() {
            writeln!(f, "nothing is wrong that a dump shows")?;
        }
        f.write_str("\nruntime")?;
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        let flavor = match self.flavor {
            RuntimeFlavor::CurrentThread => "without workers",
            RuntimeFlavor::MultiThread => "with workers",
        };
        writeln!(f, " {flavor}, {} timers, {} sources", self.timers, self.sources)?;
        let (slow, blocked) = (self.slow_polls, self.blocked_polls);
        writeln!(f, "slow polls: {slow}; polls that have blocked the last free worker: {blocked}")?;
        self.workers.iter().try_for_each(|worker| writeln!(f, "  {worker}"))?;
        self.polled_elsewhere
            .iter()
            .try_for_each(|task| writeln!(f, "  polled elsewhere: {task}"))?;
        self.fmt_tasks(f)?;
        self.fmt_pool(f)
    }
}

impl Dump {
    fn fmt_tasks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [running, ready, waiting] = [TaskState::Running, TaskState::Ready, TaskState::Waiting]
            .map(|state| self.count(state));
        let listed = running + ready + waiting;
        let new = self.new_tasks();
        writeln!(
            f,
            "\n{} tasks alive: {running} running, {ready} ready, {waiting} waiting, {new} in a queue that \
             have never waited",
            self.alive_tasks
        )?;
        for group in self.groups.iter().take(SHOWN_GROUPS) {
            writeln!(f, "  {group}")?;
        }
        write_left(f, self.groups.len(), SHOWN_GROUPS, "places")?;
        for task in self.tasks.iter().take(SHOWN_TASKS) {
            writeln!(f, "  {task}")?;
        }
        write_left(f, listed, SHOWN_TASKS, "tasks")
    }

    fn fmt_pool(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PoolInfo { max_threads, threads, idle_threads, queued, .. } = self.pool;
        writeln!(
            f,
            "\nblocking pool: {threads} threads of {max_threads}, {idle_threads} of them idle; {queued} \
             jobs wait"
        )?;
        for job in self.pool.jobs.iter().take(SHOWN_TASKS) {
            writeln!(f, "  {job}")?;
        }
        write_left(f, self.pool.jobs.len(), SHOWN_TASKS, "jobs")
    }
}

/// Says how many are not shown.
fn write_left(f: &mut fmt::Formatter<'_>, all: usize, shown: usize, what: &str) -> fmt::Result {
    match all.saturating_sub(shown) {
        0 => Ok(()),
        left => writeln!(f, "  and {left} {what} more"),
    }
}
