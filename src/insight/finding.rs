//! What is wrong, in sentences: each follows by a rule that is a pure function from a dump alone, or from
//! several looks, which only the page takes.
//!
//! | rule | finds |
//! |---|---|
//! | `all_blocked` | each worker is in a slow poll, or blocks in place, and a task waits for one |
//! | `blocked_workers` | a worker is in a slow poll |
//! | `full_pool` | all threads of the pool are busy, and a job has waited for [`LONG_WAIT`] |
//! | `old_jobs` | a job has been done for [`OLD_JOB`], of which the oldest is named |
//! | `stuck_tasks` | tasks of one place wait, and no waker of theirs exists: proven, see `State::is_stuck` |
//! | `deadlocks` | tasks that wait for each other in a circle: proven, with a condition, see `deadlocks.rs` |
//! | `suspected_deadlocks` | the same where a guard or a receiver may have been given away |
//! | `many_tasks` | [`MANY_TASKS`] tasks and more of one place, which are more than half of all |
//! | `large_futures` | a future of [`LARGE_FUTURE`] and more |
//! | `growth.rs` | tasks of one place become more and more: suspected |
//! | `storms.rs` | a task is polled all the time and never waits: suspected |
//! | `silences.rs` | a task waits for nothing but a connection on which nothing happens: suspected |
//!
//! A finding says what was seen, and what it may mean only if that follows. So many tasks of one place are
//! no leak: one dump does not say whether the number grows.

use super::deadlocked_task::DeadlockedTask;
use super::deadlocks::Circle;
use super::dump::Dump;
use super::pool_info::JobInfo;
use super::slow_poll_info::advice;
use super::task_group::TaskGroup;
use super::wait::Wait;
use super::worker_info::WorkerState;
use crate::engine::scheduler::SPARES_VARIABLE;
use crate::engine::task::RunningTask;
use crate::engine::task::running::NamedTask;
use crate::runtime::ThreadActivity;
use crate::short::{Place, short};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// A job that waits for a thread of the pool for this long is late.
const LONG_WAIT: Duration = Duration::from_millis(100);

/// A job that lasts this long keeps a thread of the pool, perhaps for ever.
const OLD_JOB: Duration = Duration::from_secs(10);

/// From this many tasks of one place on, a finding names the place.
const MANY_TASKS: usize = 10_000;

/// A future is moved when it is spawned, and lies in memory for as long as its task.
const LARGE_FUTURE: usize = 16 * 1024;

/// Something that is wrong, or may be. Its `Display` is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// No worker is free, and tasks wait for one.
    #[non_exhaustive]
    AllWorkersBlocked {
        /// How many workers there are, with the spare ones.
        workers: usize,
        /// How many tasks are ready and wait for a worker.
        ready_tasks: usize,
        /// How many spare workers there may be, if there are as many: see
        /// [`Builder::max_spare_workers`](crate::runtime::Builder::max_spare_workers).
        spares_used_up: Option<usize>,
    },
    /// A worker has been in one poll for longer than
    /// [`Builder::slow_poll_threshold`](crate::runtime::Builder::slow_poll_threshold).
    #[non_exhaustive]
    BlockedWorker {
        /// The worker's index.
        worker: usize,
        /// Whose poll it is; `None` if the worker is in something else, such as a waker.
        task: Option<RunningTask>,
        /// The task's name, if it has one and has waited before.
        name: Option<Arc<str>>,
        /// For how long, at least.
        duration: Duration,
        /// What the worker's thread does.
        activity: ThreadActivity,
    },
    /// All threads of the blocking pool are busy, and jobs wait.
    #[non_exhaustive]
    PoolFull {
        /// How many threads there are.
        threads: usize,
        /// How many jobs wait.
        queued: usize,
        /// For how long the first of them has waited.
        longest_wait: Duration,
        /// The oldest job that a thread is doing.
        oldest: Option<JobInfo>,
    },
    /// Blocking work has been under way for long.
    #[non_exhaustive]
    OldJob {
        /// The oldest of them.
        task: RunningTask,
        /// Its name, if it has one.
        name: Option<Arc<str>>,
        /// For how long it has been under way.
        age: Duration,
        /// How many there are that are as old as that.
        jobs: usize,
    },
    /// Tasks wait, and it is proven that nothing wakes them: see
    /// [`TaskInfo::is_stuck`](super::TaskInfo::is_stuck).
    #[non_exhaustive]
    StuckTasks {
        /// The place from which they were spawned.
        spawned_at: &'static Location<'static>,
        /// The name of their futures' type.
        type_name: &'static str,
        /// How many there are.
        tasks: usize,
    },
    /// The tasks of one place that wait become more and more: perhaps nothing ends them. Seen by several
    /// looks over ten seconds at least, and therefore only on the page.
    #[non_exhaustive]
    GrowingTasks {
        /// The place from which they were spawned.
        spawned_at: &'static Location<'static>,
        /// The name of their futures' type.
        type_name: &'static str,
        /// How many there were at the first of these looks.
        before: usize,
        /// How many there are.
        tasks: usize,
        /// The time in which they became so many more.
        duration: Duration,
    },
    /// A task is polled again and again and has not been seen to wait: perhaps it wakes itself in each poll
    /// instead of waiting for something. Seen by many looks, and therefore only on the page.
    #[non_exhaustive]
    BusyTask {
        /// The task.
        task: RunningTask,
        /// Its name, if it has one and has waited before.
        name: Option<Arc<str>>,
        /// How often it has been polled per second, about.
        polls_per_second: u64,
    },
    /// A task has waited for ten seconds and more to read from a TCP connection, and for nothing else, such
    /// as a timer. Seen by several looks, and therefore only on the page; on Linux only.
    #[non_exhaustive]
    SilentPeer {
        /// The task; of those from one place the one that has waited longest.
        task: RunningTask,
        /// Its name, if it has one.
        name: Option<Arc<str>>,
        /// The address of the other end.
        peer: String,
        /// For how long there has been no event, at least.
        duration: Duration,
        /// How many tasks from that place wait like this.
        tasks: usize,
    },
    /// Tasks wait for each other, and nothing else can wake any of them: it is proven that they never go on,
    /// with locks unless a guard was given to another task. They can be aborted.
    ///
    /// It is found if each of them waits for the end of the next one, or for a [`Mutex`](crate::sync::Mutex)
    /// or a [`RwLock`](crate::sync::RwLock) that the next one has locked, and for nothing else, such as a
    /// timer, and no [`AbortHandle`](crate::task::AbortHandle) of them exists. Whether a task has given a
    /// lock's guard to another one cannot be seen, so that with locks the proof is for guards that have
    /// stayed where they came to be. By the guards of [`lock_owned`](crate::sync::Mutex::lock_owned) nothing
    /// is proven: see [`SuspectedDeadlock`](Self::SuspectedDeadlock).
    #[non_exhaustive]
    Deadlock {
        /// The tasks, each of which waits for the next one, and the last one for the first.
        tasks: Vec<DeadlockedTask>,
        /// How many other tasks wait for them, and never go on, either.
        others: usize,
    },
    /// Tasks wait for each other, but what one of them waits for may come from another task: so this is not
    /// proven. All of them have waited at the same moment, for nothing else.
    ///
    /// A guard that owns its lock, as of [`lock_owned`](crate::sync::Mutex::lock_owned), may have been given
    /// to another task, which may release it. A task that waits for room in an [`mpsc`](crate::sync::mpsc)
    /// channel waits for the one that has last waited for a message there, but that one may have given the
    /// receiver away, or another sender may give room back. Tasks that wait for messages of each other are
    /// not found: which task has a sender is not known.
    ///
    /// It is no longer found once one of the tasks goes on. It is not found of one task that waits for
    /// itself, because one that locks, gives the guard to a task that it spawns, and locks again looks like
    /// that.
    #[non_exhaustive]
    SuspectedDeadlock {
        /// The tasks, each of which waits for what the next one has locked, for its end, or for room in a
        /// channel from which it receives, and the last one for the first.
        tasks: Vec<DeadlockedTask>,
        /// How many other tasks wait for them.
        others: usize,
    },
    /// Most of very many tasks come from one place.
    #[non_exhaustive]
    ManyTasks {
        /// The place from which they were spawned.
        spawned_at: &'static Location<'static>,
        /// How many there are.
        tasks: usize,
    },
    /// A future is so large that moving and keeping it costs.
    #[non_exhaustive]
    LargeFuture {
        /// The place from which it was spawned.
        spawned_at: &'static Location<'static>,
        /// The name of its type.
        type_name: &'static str,
        /// How many bytes it takes.
        size: usize,
        /// How many there are.
        tasks: usize,
    },
}

impl Dump {
    /// Returns what is wrong, the worst first. It follows from what the dump shows, and asks the runtime for
    /// nothing.
    pub fn findings(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        found.extend(all_blocked(self));
        found.extend(blocked_workers(self));
        found.extend(full_pool(self));
        found.extend(old_jobs(self));
        found.extend(deadlocks(self));
        found.extend(stuck_tasks(self));
        found.extend(suspected_deadlocks(self));
        found.extend_from_slice(&self.over_time);
        found.extend(many_tasks(self));
        found.extend(large_futures(self));
        found
    }
}

fn all_blocked(dump: &Dump) -> Option<Finding> {
    let mut present = dump.workers.iter().filter(|worker| worker.state.is_present()).peekable();
    present.peek()?;
    let ready_tasks = dump.ready_for_workers;
    let workers = present.clone().count();
    let blocked = present.all(|worker| {
        let slow = worker.poll_duration >= dump.slow_after;
        worker.state == WorkerState::BlockedInPlace || slow
    });
    let spares_used_up = dump.spares_used_up;
    (blocked && ready_tasks > 0).then_some(Finding::AllWorkersBlocked {
        workers,
        ready_tasks,
        spares_used_up,
    })
}

fn blocked_workers(dump: &Dump) -> impl Iterator<Item = Finding> {
    let slow = dump.workers.iter().filter(|worker| worker.poll_duration >= dump.slow_after);
    slow.map(|worker| Finding::BlockedWorker {
        worker: worker.index,
        task: worker.task,
        name: worker.task_name.clone(),
        duration: worker.poll_duration,
        activity: worker.activity.clone().unwrap_or(ThreadActivity::Unknown),
    })
}

fn full_pool(dump: &Dump) -> Option<Finding> {
    let pool = &dump.pool.counts;
    let longest_wait = pool.first.filter(|&wait| wait >= LONG_WAIT)?;
    (pool.threads >= pool.max_threads && pool.idle_threads == 0).then_some(Finding::PoolFull {
        threads: pool.threads,
        queued: pool.queued,
        longest_wait,
        oldest: dump.pool.jobs.first().cloned(),
    })
}

fn old_jobs(dump: &Dump) -> Option<Finding> {
    let mut old = dump.pool.jobs.iter().filter(|job| job.age >= OLD_JOB);
    let jobs = old.clone().count();
    let oldest = old.next()?;
    let JobInfo { task, ref name, age } = *oldest;
    Some(Finding::OldJob { task, name: name.clone(), age, jobs })
}

fn deadlocks(dump: &Dump) -> impl Iterator<Item = Finding> {
    let circles = dump.deadlocks.circles.iter().cloned();
    circles.map(|Circle { tasks, others }| Finding::Deadlock { tasks, others })
}

fn suspected_deadlocks(dump: &Dump) -> impl Iterator<Item = Finding> {
    let circles = dump.deadlocks.suspected.iter().cloned();
    circles.map(|Circle { tasks, others }| Finding::SuspectedDeadlock { tasks, others })
}

fn stuck_tasks(dump: &Dump) -> impl Iterator<Item = Finding> {
    dump.groups.iter().filter(|group| group.stuck() > 0).filter_map(|group| {
        let (spawned_at, type_name) = (group.spawned_at(), group.type_name()?);
        Some(Finding::StuckTasks { spawned_at, type_name, tasks: group.stuck() })
    })
}

fn many_tasks(dump: &Dump) -> Option<Finding> {
    let total: usize = dump.groups.iter().map(TaskGroup::tasks).sum();
    let group = dump.groups.first()?;
    (group.tasks() >= MANY_TASKS && 2 * group.tasks() > total)
        .then_some(Finding::ManyTasks { spawned_at: group.spawned_at(), tasks: group.tasks() })
}

fn large_futures(dump: &Dump) -> impl Iterator<Item = Finding> {
    dump.groups.iter().filter_map(|group| {
        let size = group.future_size().filter(|&size| size >= LARGE_FUTURE)?;
        let (spawned_at, type_name) = (group.spawned_at(), group.type_name()?);
        Some(Finding::LargeFuture { spawned_at, type_name, size, tasks: group.tasks() })
    })
}

impl Finding {
    /// Writes the findings that follow from several looks.
    fn fmt_suspicion(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GrowingTasks { spawned_at, type_name, before, tasks, duration } => write!(
                f,
                "the waiting tasks spawned at {} become more and more, from {before} to {tasks} in {} s: \
                 suspected leak, as if nothing ended them ({})",
                Place(spawned_at),
                duration.as_secs(),
                short(type_name)
            ),
            Self::BusyTask { task, name, polls_per_second } => write!(
                f,
                "{}, is polled some {polls_per_second} times a second and never waits: suspected storm of \
                 wakes by itself; let it wait for an event or a timer",
                NamedTask(*task, name.as_deref())
            ),
            Self::SilentPeer { task, name, peer, duration, tasks } => write!(
                f,
                "{}, has waited for {} s at least for {peer} to send something, and for nothing else: \
                 suspected silent peer, set a timeout; {tasks} tasks from there wait like this",
                NamedTask(*task, name.as_deref()),
                duration.as_secs()
            ),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllWorkersBlocked { workers, ready_tasks, spares_used_up } => {
                let limit = spares_used_up.map_or_else(String::new, |most| {
                    format!(
                        "; at most {most} spare workers may run: see max_spare_workers and \
                         {SPARES_VARIABLE}"
                    )
                });
                write!(
                    f,
                    "none of {workers} workers is free, and {ready_tasks} tasks wait for one{limit}"
                )
            }
            Self::BlockedWorker { worker, task: Some(task), name, duration, activity } => write!(
                f,
                "worker {worker} has been in one poll for {} ms: {}, {activity}; {}",
                duration.as_millis(),
                NamedTask(*task, name.as_deref()),
                advice(activity)
            ),
            Self::BlockedWorker { worker, task: None, duration, activity, .. } => write!(
                f,
                "worker {worker} has been in something other than a task for {} ms: {activity}",
                duration.as_millis()
            ),
            Self::PoolFull { threads, queued, longest_wait, oldest } => {
                write!(
                    f,
                    "all {threads} threads of the blocking pool are busy, and {queued} jobs wait, the first \
                     for {} ms",
                    longest_wait.as_millis()
                )?;
                match oldest {
                    Some(oldest) => write!(f, "; the oldest of what they do: {oldest}"),
                    None => Ok(()),
                }
            }
            Self::OldJob { task, name, age, jobs } => write!(
                f,
                "blocking work has been under way for {} s: {}; {jobs} jobs are that old, and this is the \
                 oldest",
                age.as_secs(),
                NamedTask(*task, name.as_deref())
            ),
            Self::StuckTasks { spawned_at, type_name, tasks } => write!(
                f,
                "{tasks} tasks spawned at {} are stuck, proven: no waker of theirs exists, so only an abort \
                 can end them ({})",
                Place(spawned_at),
                short(type_name)
            ),
            Self::Deadlock { tasks, others } => deadlock(tasks, *others, true, f),
            Self::SuspectedDeadlock { tasks, others } => deadlock(tasks, *others, false, f),
            Self::GrowingTasks { .. } | Self::BusyTask { .. } | Self::SilentPeer { .. } => {
                self.fmt_suspicion(f)
            }
            Self::ManyTasks { spawned_at, tasks } => write!(
                f,
                "{tasks} tasks have been spawned at {} and are alive: if the number grows, they leak",
                Place(spawned_at)
            ),
            Self::LargeFuture { spawned_at, type_name, size, tasks } => write!(
                f,
                "{tasks} tasks spawned at {} take {size} bytes each ({}): box what is large in them",
                Place(spawned_at),
                short(type_name)
            ),
        }
    }
}

pub(super) mod growth;
pub(super) mod silences;
pub(super) mod storms;
/// The most tasks of one circle that are named.
const NAMED: usize = 8;

fn deadlock(
    tasks: &[DeadlockedTask],
    others: usize,
    is_proven: bool,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match tasks.len() {
        1 => f.write_str("a task waits for itself")?,
        count => write!(f, "{count} tasks wait for each other")?,
    }
    let has_room = tasks.iter().any(|task| task.waits_for.is_for_room());
    let has_lock = tasks.iter().any(|task| {
        matches!(task.waits_for, Wait::Primitive { .. }) && !task.waits_for.is_for_room()
    });
    f.write_str(match (is_proven, has_room, has_lock) {
        (true, _, false) => ": deadlock, proven",
        (true, _, true) => ": deadlock, proven unless a guard was given to another task",
        (false, false, _) => {
            ": suspected deadlock, not proven because a guard that owns its lock may have been given to \
             another task"
        }
        (false, true, false) => {
            ": suspected deadlock, not proven because a receiver may have been given to another task, or \
             another sender may give room back"
        }
        (false, true, true) => {
            ": suspected deadlock, not proven because a receiver or a guard may have been given to \
             another task, or another sender may give room back"
        }
    })?;
    for (index, task) in tasks.iter().take(NAMED).enumerate() {
        write!(f, "{} {task}", if index == 0 { ":" } else { ";" })?;
    }
    if tasks.len() > NAMED {
        write!(f, "; and {} more", tasks.len() - NAMED)?;
    }
    match others {
        0 => Ok(()),
        1 => f.write_str("; 1 other task waits for them"),
        others => write!(f, "; {others} other tasks wait for them"),
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(test)]
pub(super) mod tests;
