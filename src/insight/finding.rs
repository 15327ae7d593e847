//! What is wrong, in sentences: each follows by a rule that is a pure function from a dump alone, or from
//! several looks, which only the page takes.
//!
//! | rule | finds |
//! |---|---|
//! | `all_blocked` | each worker is in a slow poll, or blocks in place, and a task waits for one |
//! | `blocked_workers` | workers are in a slow poll: one is named of those that are blocked alike |
//! | `full_pool` | all threads of the pool are busy, and a job has waited for [`LONG_WAIT`] |
//! | `old_jobs` | a job is [`OLD_JOB`] old, and keeps others out, or is blocked and a task waits for it |
//! | `stuck_tasks` | tasks of one place wait, and have no waker: proven, see `State::cold_wakers` |
//! | `deadlocks` | tasks that wait for each other in a circle: proven, with a condition, see `deadlocks.rs` |
//! | `suspected_deadlocks` | the same where a guard or a receiver may have been given away |
//! | `many_tasks` | [`MANY_TASKS`] tasks and more of one place, which are more than half of all |
//! | `large_futures` | a future of [`LARGE_FUTURE`] and more |
//! | `long_waits.rs` | tasks that have waited for long, and what they wait for in the end |
//! | `blocked_threads.rs` | a thread that is no worker is in a slow poll, or a worker blocks in place |
//! | `panicked_tasks` | tasks of one place have panicked |
//! | `lack_of_descriptors.rs` | the process has no descriptor left |
//! | `growth.rs` | tasks of one place become more and more: suspected |
//! | `growing_memory.rs` | tasks of one place have allocated more and more that is kept: suspected |
//! | `growing_queues.rs` | channels and sets of tasks in which more and more lies: suspected |
//! | `in_vain.rs` | tasks of one place try to connect again and again, and fail |
//! | `ended_reads.rs` | a task reads at the end of a stream again and again: suspected |
//! | `unaccepted.rs` | connections lie at a listener, and the task that accepts waits for something else |
//! | `storms.rs` | a task is polled all the time and never waits: suspected |
//! | `full_connections.rs` | a task waits to write to a peer, and what came from there lies unread |
//! | `closed_peers.rs` | connections that their peers have closed are still open: suspected |
//! | `silences.rs` | a task waits for nothing but a connection on which nothing happens: suspected |
//!
//! A finding says what was seen, and what it may mean only if that follows. So many tasks of one place are
//! no leak: one dump does not say whether the number grows.

use super::blocked_call::BlockedCall;
use super::deadlocked_task::DeadlockedTask;
use super::deadlocks::Circle;
use super::dump::Dump;
use super::pool_info::JobInfo;
use super::slow_poll_info::{self, is_same};
use super::task_info::TaskInfo;
use super::wait::Wait;
use super::worker_info::{WorkerInfo, WorkerState};
use crate::engine::task::RunningTask;
use crate::runtime::ThreadActivity;
use blocked_threads::BlockedThread;
use descriptors::Descriptors;
use growing_queue::GrowingQueue;
use long_wait::LongWait;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// A job that waits for a thread of the pool for this long is late.
const LONG_WAIT: Duration = Duration::from_millis(100);

/// A job that lasts this long keeps a thread of the pool, perhaps for ever.
const OLD_JOB: Duration = Duration::from_secs(10);

/// A poll of which no more is known than that its thread can run is told from here on.
const SURELY: Duration = Duration::from_secs(1);
/// The same of what is no task: the runtime's own work takes no such time, but a function of the program may.
const SURELY_OUTSIDE: Duration = Duration::from_secs(10);

/// From this many tasks of one place on, a finding names the place.
const MANY_TASKS: usize = 10_000;

/// The part of the workers' time, in percent, from which on it is said of many tasks that they take it.
const BUSY_PERCENT: u32 = 10;

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
        /// The function of the program in which it does so, if that is known.
        call: Option<BlockedCall>,
        /// How many other workers, with tasks of the same place, are blocked in the same way, and for less
        /// long. They have no finding of their own.
        others: usize,
        /// How many workers wait for such a lock, if this one, which has been in its poll for longer than the
        /// others, does not: perhaps its task holds it.
        lock_waiters: usize,
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
    /// Blocking work has been under way for long, and a task waits for its end, or other work for a thread.
    #[non_exhaustive]
    OldJob {
        /// The oldest of them.
        oldest: JobInfo,
        /// How many there are.
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
    /// Tasks have waited for ten seconds and more for a lock, a permit or room in a channel, with the chain
    /// of what they wait for. Seen by several looks, and therefore only on the page.
    LongWait(LongWait),
    /// A thread that is no worker has been in one poll for longer than
    /// [`Builder::slow_poll_threshold`](crate::runtime::Builder::slow_poll_threshold), or a worker's task has
    /// blocked in place for ten seconds. Seen by several looks, and therefore only on the page.
    BlockedThread(BlockedThread),
    /// Tasks of a [`LocalSet`](crate::task::LocalSet) or a [`LocalExecutor`](crate::task::LocalExecutor) have
    /// been ready for ten seconds, and nothing has polled it. Seen by several looks, and therefore only on
    /// the page.
    #[non_exhaustive]
    UnpolledTasks {
        /// One of them.
        task: RunningTask,
        /// How many there are.
        tasks: usize,
        /// For how long, at least.
        duration: Duration,
    },
    /// Tasks have panicked, counted from the first page, recording or
    /// [`FlightRecorder`](super::FlightRecorder) on.
    #[non_exhaustive]
    PanickedTasks {
        /// The last one.
        task: RunningTask,
        /// How many tasks from that place have panicked.
        tasks: u64,
        /// How long ago the last one has.
        ago: Duration,
    },
    /// The process has no descriptor left. Found by the page, on Linux.
    DescriptorsUsedUp(Descriptors),
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
        /// What more than half of them wait for, if that is known: "a timer", or "a Notify awaited at
        /// src/main.rs:7:9".
        wait_for: Option<String>,
    },
    /// More and more messages lie in channels without a bound, or more and more tasks that are not alive in
    /// [`JoinSet`](crate::task::JoinSet)s. Seen by many looks over half a minute at least, and therefore only
    /// on the page, of what the program has made since there is one.
    GrowingQueue(GrowingQueue),
    /// Connections that the program has accepted, and that their peers have closed, are still open after
    /// twenty seconds: perhaps what owns them waits for something else. Found by the page, on Linux.
    #[non_exhaustive]
    ClosedPeers {
        /// Their address in this program.
        local: String,
        /// How many there are.
        sockets: usize,
        /// For how long the first of them has been closed, at least.
        duration: Duration,
    },
    /// The tasks of one place have allocated more and more memory that is not given back: perhaps something
    /// keeps it. Seen by many looks over a minute at least, and therefore only on the page, if the program's
    /// allocator is a [`TrackingAllocator`](super::TrackingAllocator). Said of the first runtime, of tasks of
    /// all.
    #[non_exhaustive]
    GrowingMemory {
        /// The place from which they were spawned. Those that have allocated it may have ended.
        spawned_at: &'static Location<'static>,
        /// How many bytes it was at the first of these looks, about.
        before: usize,
        /// How many bytes it is, about.
        bytes: usize,
        /// The time in which it became so much more.
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
    /// The tasks of one place have tried to connect again and again, over TCP or a Unix socket, and none has
    /// succeeded: perhaps they do not pause in between. Seen by several looks over ten seconds at least, and
    /// therefore only on the page.
    #[non_exhaustive]
    FailedConnects {
        /// The place from which they were spawned.
        spawned_at: &'static Location<'static>,
        /// How often they have failed.
        failed: u64,
        /// The time in which they have.
        duration: Duration,
        /// What was said of the last one.
        error: String,
    },
    /// A task reads from a socket again and again, by `AsyncRead`, although the stream has ended, as if it
    /// did not look at how many bytes a read brings. Seen by several looks, and therefore only on the page.
    #[non_exhaustive]
    EndedReads {
        /// The task.
        task: RunningTask,
        /// How many such reads there are in a second, with those of other tasks of its place, about.
        reads_per_second: u64,
    },
    /// Connections have lain at a TCP listener for ten seconds and more, because the task that accepts them
    /// waits for something else. Seen by several looks, and therefore only on the page; on Linux only.
    #[non_exhaustive]
    UnacceptedConnections {
        /// The address of the listener.
        local: String,
        /// How many there are.
        connections: u64,
        /// For how long, at least.
        duration: Duration,
        /// The task that has waited for connections there before.
        task: RunningTask,
        /// Its name, if it has one.
        name: Option<Arc<str>>,
        /// What it does, as after "the task".
        does: String,
    },
    /// A task has waited for ten seconds and more to read from a TCP connection that the program has opened,
    /// and for nothing else, such as a timer. Seen by several looks, and therefore only on the page; on Linux
    /// only.
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
    /// A task has waited for ten seconds and more to write to a TCP connection, no task waits to read it, and
    /// bytes that have come lie unread: perhaps the other end waits for them to be read. Seen by several
    /// looks, and therefore only on the page; on Linux only.
    #[non_exhaustive]
    FullConnection {
        /// The task; of several the one on whose connection nothing has happened for the longest time.
        task: RunningTask,
        /// Its name, if it has one.
        name: Option<Arc<str>>,
        /// The address of the other end.
        peer: String,
        /// How many bytes have come and have not been read.
        unread: u64,
        /// For how long there has been no event, at least.
        duration: Duration,
        /// How many connections are like this.
        connections: usize,
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
        /// What part of the workers' time their polls take, in percent, about. Seen by many looks, and
        /// therefore only on the page.
        busy_percent: Option<u32>,
        /// Whether more than half of them wait for timers.
        wait_for_timers: bool,
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
        let (first, later): (Vec<_>, Vec<_>) =
            self.over_time.iter().cloned().partition(Finding::is_first);
        let mut found = first;
        found.extend(all_blocked(self));
        found.extend(blocked_workers(self));
        found.extend(full_pool(self));
        found.extend(old_jobs(self));
        found.extend(deadlocks(self));
        found.extend(panicked_tasks(self));
        found.extend(stuck_tasks(self));
        found.extend(suspected_deadlocks(self));
        found.extend(later);
        // It is no news if looks have shown that they become no more.
        if !self.is_followed {
            found.extend(many_tasks(self));
        }
        found.extend(large_futures(self));
        found
    }
}

fn all_blocked(dump: &Dump) -> Option<Finding> {
    let mut present = dump.workers.iter().filter(|worker| worker.state.is_present()).peekable();
    present.peek()?;
    let ready_tasks = dump.ready_for_workers;
    let workers = present.clone().count();
    let blocked = present
        .all(|worker| worker.state == WorkerState::BlockedInPlace || is_held_up(dump, worker));
    let spares_used_up = dump.spares_used_up;
    (blocked && ready_tasks > 0).then_some(Finding::AllWorkersBlocked {
        workers,
        ready_tasks,
        spares_used_up,
    })
}

/// Workers whose tasks are of one place, and that are blocked in the same way.
struct AlikeWorkers<'a> {
    first: &'a WorkerInfo,
    call: Option<BlockedCall>,
    /// How many there are beside the first.
    others: usize,
}

/// Of workers that are blocked alike, one is named. One lock often holds up all that wait for it, whatever
/// the call, so those that wait for a lock are alike if their tasks are of one place.
fn blocked_workers(dump: &Dump) -> Vec<Finding> {
    let slow = dump.workers.iter().filter(|worker| is_held_up(dump, worker));
    let (mut waiting, mut others): (Vec<_>, Vec<_>) =
        slow.partition(|worker| waits_for_lock(worker));
    let lock_waiters = waiting.len();
    // The longest one has perhaps what the others wait for.
    for workers in [&mut waiting, &mut others] {
        workers.sort_by_key(|worker| Reverse(worker.poll_duration));
    }
    let mut found: Vec<_> = alike(others).into_iter().map(blocked_worker).collect();
    if let Some(Finding::BlockedWorker { lock_waiters: of_longest, .. }) = found.first_mut() {
        *of_longest = lock_waiters;
    }
    found.extend(alike(waiting).into_iter().map(blocked_worker));
    found
}

/// Whether its poll lasts long, and not only because the system has no processor for it.
fn is_held_up(dump: &Dump, worker: &WorkerInfo) -> bool {
    worker.poll_duration >= dump.slow_after && !perhaps_waits_for_processor(worker)
}

/// Whether the system is perhaps all that holds the worker up.
fn perhaps_waits_for_processor(worker: &WorkerInfo) -> bool {
    let surely = if worker.task.is_some() { SURELY } else { SURELY_OUTSIDE };
    worker.poll_duration < surely
        && worker.activity.as_ref().is_some_and(ThreadActivity::may_lack_processor)
}

/// Puts those together that are blocked alike. The first of each is the first in `workers`.
fn alike(workers: Vec<&WorkerInfo>) -> Vec<AlikeWorkers<'_>> {
    let mut all: Vec<AlikeWorkers<'_>> = Vec::new();
    for worker in workers {
        let of_place = |it: &&mut AlikeWorkers<'_>| {
            let place = |worker: &WorkerInfo| worker.task.map(|task| task.spawned_at());
            place(worker).is_some() && place(worker) == place(it.first)
        };
        if waits_for_lock(worker) {
            if let Some(same) = all.iter_mut().find(of_place) {
                same.others += 1;
                continue;
            }
        }
        let call = worker.call();
        // One that computes may be seen in another function at another moment.
        let is_call = matches!(worker.activity, Some(ThreadActivity::Calls(_)));
        let does_same = |other: &WorkerInfo| match (&worker.activity, &other.activity) {
            (Some(one), Some(other)) => is_same(one, other),
            (one, other) => one == other,
        };
        let is_same = |it: &&mut AlikeWorkers<'_>| {
            of_place(it) && does_same(it.first) && (!is_call || it.call == call)
        };
        match all.iter_mut().find(is_same) {
            Some(same) => same.others += 1,
            None => all.push(AlikeWorkers { first: worker, call, others: 0 }),
        }
    }
    all
}

fn waits_for_lock(worker: &WorkerInfo) -> bool {
    worker.activity.as_ref().is_some_and(slow_poll_info::waits_for_lock)
}

fn blocked_worker(workers: AlikeWorkers<'_>) -> Finding {
    let AlikeWorkers { first, call, others } = workers;
    Finding::BlockedWorker {
        worker: first.index,
        task: first.task,
        name: first.task_name.clone(),
        duration: first.poll_duration,
        activity: first.activity.clone().unwrap_or(ThreadActivity::Unknown),
        call,
        others,
        lock_waiters: 0,
    }
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

/// Jobs of which a task waits for the end, or another job for the thread. Others may last as long as the
/// program, such as one that writes what a channel brings.
pub(super) fn old_jobs(dump: &Dump) -> Option<Finding> {
    let old: Vec<_> = dump.pool.jobs.iter().filter(|job| job.age >= OLD_JOB).collect();
    if old.is_empty() {
        return None;
    }
    let end = |wait: &Wait| match wait {
        Wait::BlockingWork { id } => Some(*id),
        _ => None,
    };
    let awaited: HashSet<_> = dump.tasks.iter().flat_map(TaskInfo::waits).filter_map(end).collect();
    let is_thread_missed = dump.pool.counts.first.is_some_and(|wait| wait >= LONG_WAIT);
    let is_missed =
        |job: &&JobInfo| is_thread_missed || awaited.contains(&job.task().id()) && is_blocked(job);
    let missed: Vec<_> = old.into_iter().filter(is_missed).collect();
    let oldest = (*missed.first()?).clone();
    Some(Finding::OldJob { oldest, jobs: missed.len() })
}

/// Whether its thread is in a system call, and not only to sleep or to wait for its next message. One that
/// computes gets on, and a task that has it done waits for as long as it takes.
fn is_blocked(job: &JobInfo) -> bool {
    const WAITS: [&str; 5] = ["sleep", "mpsc", "channel", "Condvar", "park"];
    let Some(ThreadActivity::Calls(call)) = job.activity() else { return false };
    let called = job.call().and_then(|call| call.callee().map(str::to_owned));
    let names = [call.name().map(str::to_owned), called];
    !names.into_iter().flatten().any(|name| WAITS.iter().any(|word| name.contains(word)))
}

fn deadlocks(dump: &Dump) -> impl Iterator<Item = Finding> {
    let circles = dump.deadlocks.circles.iter().cloned();
    circles.map(|Circle { tasks, others }| Finding::Deadlock { tasks, others })
}

fn suspected_deadlocks(dump: &Dump) -> impl Iterator<Item = Finding> {
    let circles = dump.deadlocks.suspected.iter().cloned();
    circles.map(|Circle { tasks, others }| Finding::SuspectedDeadlock { tasks, others })
}

fn panicked_tasks(dump: &Dump) -> impl Iterator<Item = Finding> {
    let panics = dump.panics.iter();
    panics.map(|&(task, tasks, ago)| Finding::PanickedTasks { task, tasks, ago })
}

fn stuck_tasks(dump: &Dump) -> impl Iterator<Item = Finding> {
    dump.groups.iter().filter(|group| group.stuck() > 0).filter_map(|group| {
        let (spawned_at, type_name) = (group.spawned_at(), group.type_name()?);
        Some(Finding::StuckTasks { spawned_at, type_name, tasks: group.stuck() })
    })
}

pub(super) fn many_tasks(dump: &Dump) -> Option<Finding> {
    let total = dump.listed_tasks();
    let group = dump.groups.first()?;
    if group.tasks() < MANY_TASKS || 2 * group.tasks() <= total {
        return None;
    }
    let spawned_at = group.spawned_at();
    let busy = dump.busy_places.iter().find(|(place, _)| *place == spawned_at);
    let timers = 2 * dump.timers > total;
    Some(Finding::ManyTasks {
        spawned_at,
        tasks: group.tasks(),
        busy_percent: busy.map(|(_, percent)| *percent).filter(|&percent| percent >= BUSY_PERCENT),
        wait_for_timers: timers,
    })
}

fn large_futures(dump: &Dump) -> impl Iterator<Item = Finding> {
    dump.groups.iter().filter_map(|group| {
        let size = group.future_size().filter(|&size| size >= LARGE_FUTURE)?;
        let (spawned_at, type_name) = (group.spawned_at(), group.type_name()?);
        Some(Finding::LargeFuture { spawned_at, type_name, size, tasks: group.tasks() })
    })
}

impl Finding {
    /// Whether it names what others may follow from.
    fn is_first(&self) -> bool {
        matches!(self, Self::LongWait(_) | Self::DescriptorsUsedUp(_))
    }
}

pub(super) mod blocked_threads;
pub(super) mod closed_peers;
pub(super) mod descriptors;
pub(super) mod ended_reads;
pub(super) mod full_connections;
pub(super) mod growing_memory;
pub(super) mod growing_queue;
pub(super) mod growing_queues;
pub(super) mod growth;
pub(super) mod in_vain;
pub(super) mod lack_of_descriptors;
pub(super) mod long_wait;
pub(super) mod long_waits;
pub(super) mod lost_values;
pub(super) mod moving_permits;
pub(super) mod rates;
mod sentences;
pub(super) mod silences;
pub(super) mod storms;
pub(super) mod unaccepted;

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(test)]
pub(super) mod tests;
