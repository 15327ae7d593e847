//! What the page's answers have in common: their bounds, and the order of their rows.
//!
//! A dump has as many rows as the program has workers, places, jobs and tasks (of these 10,000 at most). An
//! answer has so many, and says how many it leaves out.

use super::dump::Dump;
use super::finding::Finding;
use super::task_info::TaskInfo;
use super::task_state::TaskState;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

pub(super) const MOST_FINDINGS: usize = 50;
pub(super) const MOST_WORKERS: usize = 256;
pub(super) const MOST_GROUPS: usize = 100;
pub(super) const MOST_JOBS: usize = 100;
pub(super) const MOST_TASKS: usize = 500;
pub(super) const MOST_SOCKETS: usize = 200;
pub(super) const MOST_QUEUES: usize = 100;
/// The most characters of a sentence. It has several names, each of which is cut before.
pub(super) const LONGEST_SENTENCE: usize = 10_000;
/// The rows of the table of tasks: first those that something happens to.
pub(super) fn tasks(dump: &Dump) -> impl Iterator<Item = &TaskInfo> {
    TaskState::ALL
        .into_iter()
        .flat_map(|state| dump.tasks().iter().filter(move |task| task.state() == state))
}

/// How many listed tasks are not among the first `rows` of the table.
pub(super) fn tasks_left_out(dump: &Dump, rows: usize) -> usize {
    dump.listed_tasks().saturating_sub(dump.tasks().len().min(rows))
}

/// In microseconds, with a point.
pub(super) fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1_000.0
}

/// The name of the program's file.
pub(super) fn program() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let path = std::env::current_exe().unwrap_or_default();
        path.file_name().map(Path::new).map_or_else(String::new, |name| name.display().to_string())
    })
}

impl Finding {
    /// All kinds there are.
    pub(super) const KINDS: [&str; 24] = [
        "all_workers_blocked",
        "blocked_worker",
        "pool_full",
        "old_job",
        "many_tasks",
        "large_future",
        "stuck_tasks",
        "growing_tasks",
        "busy_task",
        "deadlock",
        "silent_peer",
        "suspected_deadlock",
        "long_wait",
        "blocked_thread",
        "unpolled_tasks",
        "panicked_tasks",
        "descriptors_used_up",
        "growing_queue",
        "growing_memory",
        "closed_peers",
        "full_connection",
        "failed_connects",
        "ended_reads",
        "unaccepted_connections",
    ];

    pub(super) fn kind(&self) -> &'static str {
        Self::KINDS[match self {
            Self::AllWorkersBlocked { .. } => 0,
            Self::BlockedWorker { .. } => 1,
            Self::PoolFull { .. } => 2,
            Self::OldJob { .. } => 3,
            Self::ManyTasks { .. } => 4,
            Self::LargeFuture { .. } => 5,
            Self::StuckTasks { .. } => 6,
            Self::GrowingTasks { .. } => 7,
            Self::BusyTask { .. } => 8,
            Self::Deadlock { .. } => 9,
            Self::SilentPeer { .. } => 10,
            Self::SuspectedDeadlock { .. } => 11,
            Self::LongWait(_) => 12,
            Self::BlockedThread(_) => 13,
            Self::UnpolledTasks { .. } => 14,
            Self::PanickedTasks { .. } => 15,
            Self::DescriptorsUsedUp(_) => 16,
            Self::GrowingQueue(_) => 17,
            Self::GrowingMemory { .. } => 18,
            Self::ClosedPeers { .. } => 19,
            Self::FullConnection { .. } => 20,
            Self::FailedConnects { .. } => 21,
            Self::EndedReads { .. } => 22,
            Self::UnacceptedConnections { .. } => 23,
        }]
    }
}
