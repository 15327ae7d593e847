//! What a finding says.

use super::in_vain::fmt_failed;
use super::{Finding, blocked_threads, unaccepted};
use crate::engine::scheduler::SPARES_VARIABLE;
use crate::insight::blocked_call::Doing;
use crate::insight::deadlocked_task::DeadlockedTask;
use crate::insight::description::DescribedTask;
use crate::insight::slow_poll_info::advice;
use crate::insight::wait::Wait;
use crate::short::{Place, counted, short};
use std::fmt;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LongWait(wait) => wait.fmt(f),
            Self::BlockedThread(blocked) => blocked.fmt(f),
            Self::GrowingQueue(queue) => queue.fmt(f),
            Self::DescriptorsUsedUp(descriptors) => descriptors.fmt(f),
            Self::FailedConnects { spawned_at, failed, duration, error } => {
                fmt_failed(spawned_at, *failed, *duration, error, f)?;
                f.write_str(
                    ": suspected to try again without a pause, unless they look for many peers; let them \
                     wait longer after each failure",
                )
            }
            Self::Deadlock { tasks, others } => deadlock(tasks, *others, true, f),
            Self::SuspectedDeadlock { tasks, others } => deadlock(tasks, *others, false, f),
            Self::GrowingTasks { .. }
            | Self::GrowingMemory { .. }
            | Self::ClosedPeers { .. }
            | Self::BusyTask { .. }
            | Self::EndedReads { .. } => self.fmt_suspicion(f),
            Self::UnacceptedConnections { .. }
            | Self::SilentPeer { .. }
            | Self::FullConnection { .. } => self.fmt_connections(f),
            Self::AllWorkersBlocked { .. }
            | Self::BlockedWorker { .. }
            | Self::PoolFull { .. }
            | Self::OldJob { .. } => self.fmt_threads(f),
            Self::StuckTasks { .. }
            | Self::PanickedTasks { .. }
            | Self::UnpolledTasks { .. }
            | Self::ManyTasks { .. }
            | Self::LargeFuture { .. } => self.fmt_tasks(f),
        }
    }
}

impl Finding {
    /// Writes what is said of workers and of the blocking pool.
    fn fmt_threads(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
            Self::BlockedWorker {
                worker,
                task: Some(task),
                name,
                duration,
                activity,
                call,
                others,
                lock_waiters,
            } => {
                write!(
                    f,
                    "worker {worker} has been in one poll for {} ms: {}, {}; {}",
                    duration.as_millis(),
                    DescribedTask::running(*task, name.as_deref()),
                    Doing(activity, call.as_ref()),
                    advice(activity, call.as_ref())
                )?;
                fmt_other_workers(*others, *lock_waiters, f)
            }
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
            Self::OldJob { oldest, jobs } => {
                write!(
                    f,
                    "blocking work has been under way for {} s: {}",
                    oldest.age().as_secs(),
                    DescribedTask::running(oldest.task(), oldest.name())
                )?;
                f.write_str(&oldest.does())?;
                match jobs {
                    1 => Ok(()),
                    _ => write!(f, "; {jobs} jobs are that old, and this is the oldest"),
                }
            }
            _ => Ok(()),
        }
    }

    /// Writes what is said of the tasks of one place.
    fn fmt_tasks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StuckTasks { spawned_at, type_name, tasks } => write!(
                f,
                "{} spawned at {} {}, proven: no waker of theirs exists, so only an abort can end them ({})",
                counted(*tasks, "task"),
                Place(spawned_at),
                if *tasks == 1 { "is stuck" } else { "are stuck" },
                short(type_name)
            ),
            Self::PanickedTasks { task, tasks, ago } => write!(
                f,
                "{} spawned at {} panicked, the last one, task {}, {:.0} s ago: the message is on standard \
                 error",
                counted(*tasks as usize, "task"),
                Place(task.spawned_at()),
                task.id(),
                ago.as_secs_f64()
            ),
            Self::UnpolledTasks { task, tasks, duration } => {
                blocked_threads::fmt_unpolled(task, *tasks, *duration, f)
            }
            Self::ManyTasks { spawned_at, tasks, busy_percent, wait_for_timers } => {
                write!(
                    f,
                    "{tasks} tasks have been spawned at {} and are alive",
                    Place(spawned_at)
                )?;
                if *wait_for_timers {
                    f.write_str(", most of them with a timer")?;
                }
                match busy_percent {
                    Some(percent) => write!(
                        f,
                        ": their polls take some {percent} % of the workers' time; let fewer tasks do the \
                         same, or less often"
                    ),
                    None => f.write_str(": if the number grows, they leak"),
                }
            }
            Self::LargeFuture { spawned_at, type_name, size, tasks } => write!(
                f,
                "{} spawned at {} {} {size} bytes each ({}): box what is large in them",
                counted(*tasks, "task"),
                Place(spawned_at),
                if *tasks == 1 { "takes" } else { "take" },
                short(type_name)
            ),
            _ => Ok(()),
        }
    }
}

impl Finding {
    /// Writes the findings that follow from several looks.
    fn fmt_suspicion(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GrowingTasks { spawned_at, type_name, before, tasks, duration, wait_for } => {
                write!(
                    f,
                    "the waiting tasks spawned at {} become more and more, from {before} to {tasks} in {} s: \
                     suspected leak, as if nothing ended them ({})",
                    Place(spawned_at),
                    duration.as_secs(),
                    short(type_name)
                )?;
                match wait_for {
                    Some(what) => write!(f, "; they wait for {what}"),
                    None => Ok(()),
                }
            }
            Self::ClosedPeers { local, sockets, duration } => write!(
                f,
                "{sockets} connections at {local} were closed by their peers, the first one {} s ago at \
                 least, and are still open: suspected that what owns them waits for something else; close \
                 a connection when a read returns 0 bytes",
                duration.as_secs()
            ),
            Self::GrowingMemory { spawned_at, before, bytes, duration } => write!(
                f,
                "what the tasks spawned at {} have allocated becomes more and more, from {} MB to {} MB in \
                 {} s: suspected leak, or a cache that is still being filled",
                Place(spawned_at),
                before / 1_000_000,
                bytes / 1_000_000,
                duration.as_secs()
            ),
            Self::BusyTask { task, name, polls_per_second } => write!(
                f,
                "{}, is polled some {polls_per_second} times a second and never waits: suspected to wake \
                 itself, or always to find more to do; let it wait for an event or a timer",
                DescribedTask::waiting(*task, name.as_deref())
            ),
            Self::EndedReads { task, reads_per_second } => write!(
                f,
                "{}, reads at the end of a stream some {reads_per_second} times a second, and never waits \
                 for that: end the loop when a read brings 0 bytes",
                DescribedTask::running(*task, None)
            ),
            _ => Ok(()),
        }
    }

    /// Writes those that are about connections.
    fn fmt_connections(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnacceptedConnections { local, connections, duration, task, name, does } => {
                write!(
                    f,
                    "{}, because {}, which accepts there, {does}: let it give each connection to a task of \
                     its own",
                    unaccepted::lie(*connections, local, *duration),
                    DescribedTask::waiting(*task, name.as_deref())
                )
            }
            Self::FullConnection { task, name, peer, unread, duration, connections } => {
                write!(
                    f,
                    "{}, has waited for {} s at least to write to {peer}, and what came from there, {}, lies \
                     unread: suspected deadlock, as if both ends wrote and neither read; read while you \
                     write",
                    DescribedTask::waiting(*task, name.as_deref()),
                    duration.as_secs(),
                    counted(*unread as usize, "byte"),
                )?;
                match connections {
                    1 => Ok(()),
                    all => write!(f, "; {all} connections are like this"),
                }
            }
            Self::SilentPeer { task, name, peer, duration, tasks } => write!(
                f,
                "{}, has waited for {} s at least for {peer} to send something, and for nothing else: \
                 suspected silent peer, set a timeout; {} from there {} like this",
                DescribedTask::waiting(*task, name.as_deref()),
                duration.as_secs(),
                counted(*tasks, "task"),
                if *tasks == 1 { "waits" } else { "wait" }
            ),
            _ => Ok(()),
        }
    }
}

fn fmt_other_workers(
    others: usize,
    lock_waiters: usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match others {
        0 => {}
        1 => f.write_str("; so does 1 other worker with a task from there")?,
        _ => write!(f, "; so do {others} other workers with tasks from there")?,
    }
    match lock_waiters {
        0 => Ok(()),
        1 => f.write_str("; 1 other worker waits for a lock, perhaps one that it holds"),
        _ => write!(f, "; {lock_waiters} other workers wait for a lock, perhaps one that it holds"),
    }
}

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
