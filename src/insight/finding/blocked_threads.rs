//! Threads that are in one poll for long and are no workers, and those that block in place, seen by several
//! looks: the futures in `block_on`, and the tasks of local executors. And executors with tasks that are
//! ready, which nothing polls.
//!
//! The watchdog looks at workers only. Here the thread that looks compares what each other thread is in with
//! what it was in before.

use super::{Finding, OLD_JOB};
use crate::engine::sync_shim::Arc;
use crate::engine::task::RunningTask;
use crate::insight::blocked_call::{BlockedCall, Doing};
use crate::insight::description::DescribedTask;
use crate::insight::slow_poll_info::advice;
use crate::insight::thread_stack::ThreadStacks;
use crate::observe::thread_activity::{self, ThreadUse};
use crate::runtime::local::LocalShared;
use crate::runtime::watched::{Root, roots_of, thread_of};
use crate::runtime::{Handle, ThreadActivity};
use crate::short::{Place, counted};
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

/// What a thread is in. Addresses are compared, and never followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Root(u64),
    Executor(usize),
    Unpolled(usize),
    InPlace(usize),
}

/// Something that has not moved since a look.
struct Stay {
    position: u64,
    since: Instant,
    thread: Option<u32>,
    /// What the thread has used of the processor until then.
    used: Option<ThreadUse>,
}

/// What is known of a thread that is in something for long.
#[derive(Default)]
struct Seen {
    task: Option<RunningTask>,
    called_at: Option<&'static Location<'static>>,
    worker: Option<usize>,
}

/// The looks at one runtime.
#[derive(Default)]
pub(in crate::insight) struct BlockedThreads {
    stays: HashMap<Key, Stay>,
}

/// A thread that is in one poll for long, and is no worker, or that blocks in place; from
/// [`Finding::BlockedThread`]. Its `Display` is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedThread {
    task: Option<RunningTask>,
    name: Option<std::sync::Arc<str>>,
    called_at: Option<&'static Location<'static>>,
    worker: Option<usize>,
    duration: Duration,
    activity: ThreadActivity,
    call: Option<BlockedCall>,
}

impl BlockedThread {
    /// Returns the task that the thread polls. `None` if it is the future of a `block_on`.
    pub fn task(&self) -> Option<RunningTask> {
        self.task
    }

    /// Returns where the thread has called `block_on`, if that is known.
    pub fn called_at(&self) -> Option<&'static Location<'static>> {
        self.called_at
    }

    /// Returns the index of the worker whose task blocks in place.
    pub fn worker(&self) -> Option<usize> {
        self.worker
    }

    /// Returns for how long, at least.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Returns what the thread does.
    pub fn activity(&self) -> &ThreadActivity {
        &self.activity
    }

    /// Returns the function of the program in which it does so, if that is known.
    pub fn call(&self) -> Option<&BlockedCall> {
        self.call.as_ref()
    }
}

impl fmt::Display for BlockedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, duration, .. } = self;
        let time = duration.as_secs_f64();
        let activity = Doing(&self.activity, self.call());
        let advice = advice(&self.activity, self.call());
        let task = self.task.map(|task| DescribedTask::running(task, name.as_deref()));
        match (task, self.worker, self.called_at) {
            (Some(task), Some(worker), Some(place)) => write!(
                f,
                "{task}, has blocked worker {worker} in place for {time:.1} s, in block_on at {}: {activity}",
                Place(place)
            ),
            (Some(task), Some(worker), None) => {
                write!(
                    f,
                    "{task}, has blocked worker {worker} in place for {time:.1} s: {activity}"
                )
            }
            (Some(task), None, _) => write!(
                f,
                "{task}, has kept the thread of its executor in one poll for {time:.1} s: {activity}; \
                 {advice}"
            ),
            (None, _, Some(place)) => write!(
                f,
                "the future of block_on at {} has been in one poll for {time:.1} s: {activity}; \
                 {advice}",
                Place(place)
            ),
            (None, _, None) => {
                write!(f, "a thread has been in one poll for {time:.1} s: {activity}")
            }
        }
    }
}

/// Writes what is said of an executor that nothing polls.
pub(super) fn fmt_unpolled(
    task: &RunningTask,
    tasks: usize,
    duration: Duration,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let are = if tasks == 1 { "is" } else { "are" };
    write!(
        f,
        "{} of a LocalSet or LocalExecutor {are} ready, and nothing has polled it for {:.1} s: {task}; run \
         it until its tasks have ended",
        counted(tasks, "task"),
        duration.as_secs_f64()
    )
}

impl BlockedThreads {
    /// Takes a look at all threads of the runtime that are not its workers.
    pub(in crate::insight) fn look(&mut self, now: Instant, handle: &Handle) {
        let mut before = std::mem::take(&mut self.stays);
        let half = handle.slow_after() / 2;
        let mut stays = |key, position, thread: Option<u32>| {
            let new = || Stay { position, since: now, thread, used: None };
            let same = |stay: &Stay| stay.position == position;
            let mut stay = before.remove(&key).filter(same).unwrap_or_else(new);
            if stay.used.is_none() && now.saturating_duration_since(stay.since) >= half {
                stay.used = thread.and_then(thread_activity::used);
            }
            self.stays.insert(key, stay);
        };
        let roots = roots_of(handle.id());
        // A runtime without workers runs its own executor on the thread that is in `block_on`.
        let only = if handle.scheduler().is_none() { only_thread(&roots) } else { None };
        for root in &roots {
            if let Some(poll) = root.poll {
                stays(Key::Root(root.number), poll, Some(root.thread));
            }
        }
        for executor in handle.executors() {
            let address = Arc::as_ptr(&executor).addr();
            match executor.running_task() {
                Some(_) => {
                    let thread = thread_of(&executor).or(only);
                    stays(Key::Executor(address), executor.polls(), thread);
                }
                None if executor.queued_tasks() != [0, 0] => {
                    stays(Key::Unpolled(address), executor.polls(), None);
                }
                None => {}
            }
        }
        let workers = handle.scheduler().into_iter().flat_map(|it| it.worker_entries());
        for (worker, entry) in workers.filter(|(_, entry)| entry.is_blocked_in_place) {
            stays(Key::InPlace(worker), entry.polls, entry.thread);
        }
    }

    /// Whether a thread was in a poll at the last look that is not told yet, because it has not been seen
    /// for as long as `slow`.
    pub(in crate::insight) fn is_in_young_poll(&self, now: Instant, slow: Duration) -> bool {
        let is_young = |stay: &Stay| now.saturating_duration_since(stay.since) < slow;
        let is_poll = |key: &Key| matches!(key, Key::Root(_) | Key::Executor(_));
        self.stays.iter().any(|(key, stay)| is_poll(key) && is_young(stay))
    }

    /// What the last look has shown, the longest first.
    pub(in crate::insight) fn findings(&self, now: Instant, handle: &Handle) -> Vec<Finding> {
        let slow = handle.slow_after();
        let roots = roots_of(handle.id());
        let mut found: Vec<(Duration, Finding)> = Vec::new();
        let mut stacks = ThreadStacks::default();
        for executor in handle.executors() {
            found.extend(self.executor(now, slow, &executor, &mut stacks));
        }
        // Only those of executors are there yet, which name tasks or say that nothing polls them.
        let blames_task = |found: &Finding| matches!(found, Finding::BlockedThread(_));
        let is_explained = found.iter().any(|(_, found)| blames_task(found));
        let root = |root: &Root| {
            let stay = self.stay(Key::Root(root.number), root.poll?)?;
            let seen = Seen { called_at: Some(root.called_at), ..Seen::default() };
            let is_same = |now: &Root| (now.number, now.poll) == (root.number, root.poll);
            let is_there = || roots_of(handle.id()).iter().any(is_same);
            self.told(now, slow, stay, seen, is_there, &mut stacks)
        };
        found.extend(roots.iter().filter(|_| !is_explained).filter_map(root));
        let workers = handle.scheduler().into_iter().flat_map(|it| it.worker_entries());
        for (worker, entry) in workers.filter(|(_, entry)| entry.is_blocked_in_place) {
            let stay = self.stay(Key::InPlace(worker), entry.polls);
            let inner = roots.iter().rev().find(|root| Some(root.thread) == entry.thread);
            let called_at = inner.map(|root| root.called_at);
            let seen = Seen { task: entry.task, called_at, worker: Some(worker) };
            let is_there = || {
                let mut workers = handle.scheduler().into_iter().flat_map(|it| it.worker_entries());
                let now = workers.find(|(index, _)| *index == worker);
                now.is_some_and(|(_, now)| now.is_blocked_in_place && now.polls == entry.polls)
            };
            found.extend(
                stay.and_then(|stay| self.told(now, OLD_JOB, stay, seen, is_there, &mut stacks)),
            );
        }
        found.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        found.into_iter().map(|(_, found)| found).collect()
    }

    fn executor(
        &self,
        now: Instant,
        slow: Duration,
        executor: &Arc<LocalShared>,
        stacks: &mut ThreadStacks,
    ) -> Option<(Duration, Finding)> {
        let address = Arc::as_ptr(executor).addr();
        let polls = executor.polls();
        if let Some(task) = executor.running_task() {
            let stay = self.stay(Key::Executor(address), polls)?;
            let seen = Seen { task: Some(task), ..Seen::default() };
            let is_there = || executor.polls() == polls && executor.running_task() == Some(task);
            return self.told(now, slow, stay, seen, is_there, stacks);
        }
        let tasks: usize = executor.queued_tasks().iter().sum();
        let stay = self.stay(Key::Unpolled(address), polls).filter(|_| tasks > 0)?;
        let duration = now.saturating_duration_since(stay.since);
        let (mut listed, mut from) = (Vec::new(), Some(0));
        while let Some(place) = from.filter(|_| duration >= OLD_JOB) {
            from = executor.list_tasks(place, false, &mut listed);
        }
        let task = listed.into_iter().find(|entry| entry.wakers.is_none())?.task;
        Some((duration, Finding::UnpolledTasks { task, tasks, duration }))
    }

    fn stay(&self, key: Key, position: u64) -> Option<&Stay> {
        self.stays.get(&key).filter(|stay| stay.position == position)
    }

    fn told(
        &self,
        now: Instant,
        from: Duration,
        stay: &Stay,
        seen: Seen,
        is_there: impl Fn() -> bool,
        stacks: &mut ThreadStacks,
    ) -> Option<(Duration, Finding)> {
        let duration = now.saturating_duration_since(stay.since);
        if duration < from {
            return None;
        }
        let look = |thread| thread_activity::look(thread, stay.used);
        let activity = stay.thread.map_or(ThreadActivity::Unknown, look);
        let stack = stay.thread.map(|thread| stacks.of(thread, &activity)).unwrap_or_default();
        // What was seen of the thread may be of something else, into which it has gone on.
        if !is_there() {
            return None;
        }
        let call = BlockedCall::named(&stack);
        let (name, Seen { task, called_at, worker }) = (None, seen);
        let blocked = BlockedThread { task, name, called_at, worker, duration, activity, call };
        Some((duration, Finding::BlockedThread(blocked)))
    }
}

/// The thread that polls all tasks of a runtime without workers, if only one is in `block_on`.
fn only_thread(roots: &[Root]) -> Option<u32> {
    match roots {
        [root] => Some(root.thread),
        _ => None,
    }
}
