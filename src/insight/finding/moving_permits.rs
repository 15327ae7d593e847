//! Semaphores whose permits come back, full channels from which something is taken, and locks that pass from
//! task to task: seen by several looks.
//!
//! Where many tasks share few permits, each waits for long although nothing is wrong. If a task that waited
//! at one look has ended or waits for something else at the next one, it has mostly got its permit. So has
//! one that has begun to wait for it anew, as a task that sends again and again. One that has a timer, too,
//! may have given up, and says nothing. Nothing is said of a semaphore that has lost permits, nor if not all
//! tasks are listed. It is the same with room in a channel. A lock has moved if another task has it.

use crate::engine::task::TaskId;
use crate::insight::dump::Dump;
use crate::insight::task_state::TaskState;
use crate::insight::wait::Wait;
use crate::primitive_kind::PrimitiveKind::{Mutex, RwLock, RwLockWrite, Semaphore, Sender};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// One moves until no task has got a permit, room or the lock for so long, and for [`GAPS`] times the longest
/// time before that, but for no longer than [`MOST_STILL`].
const STILL: Duration = Duration::from_secs(10);
const GAPS: u32 = 2;
const MOST_STILL: Duration = Duration::from_secs(60);

struct Waiting {
    is_lock: bool,
    tasks: HashSet<TaskId>,
    /// The tasks that have the lock, as those that wait have seen it.
    holders: HashSet<TaskId>,
    /// When a task has got a permit or the lock last, or the first look.
    moved: Instant,
    /// The longest time from one task to the next. `None`: none has got it since the first look.
    longest_gap: Option<Duration>,
}

/// The numbers of what moves.
#[derive(Debug, Default)]
pub(in crate::insight) struct Moving {
    /// Semaphores and channels. Those that are new count as well.
    pub(in crate::insight) permits: HashSet<u32>,
    /// Tasks were seen to get them.
    pub(in crate::insight) locks: HashSet<u32>,
    /// Semaphores and channels of which no task has got anything for so long, while tasks waited.
    pub(in crate::insight) still: HashMap<u32, Duration>,
}

/// The looks at one runtime.
#[derive(Default)]
pub(in crate::insight) struct MovingPermits {
    things: HashMap<u32, Waiting>,
}

impl MovingPermits {
    /// Takes a look; returns what moves.
    pub(in crate::insight) fn look(&mut self, now: Instant, dump: &Dump) -> Moving {
        // Tasks that have never waited are not listed, and wait for nothing.
        if dump.listed_tasks() > dump.tasks().len() {
            return Moving::default();
        }
        let mut before = std::mem::take(&mut self.things);
        let mut seen: HashMap<(u32, bool), HashSet<TaskId>> = HashMap::new();
        let mut holders: HashMap<u32, HashSet<TaskId>> = HashMap::new();
        let (mut awake, mut anew) = (HashSet::new(), HashSet::new());
        for task in dump.tasks() {
            // Each look leaves a mark, which goes when the task goes on.
            if task.state() == TaskState::Waiting
                && task.cold_for().is_none_or(|time| time.is_zero())
            {
                anew.insert(task.id());
            }
            match task.waits_only_for() {
                Some(&Wait::Primitive {
                    kind: Semaphore | Sender, number, forgotten: 0, ..
                }) => _ = seen.entry((number, false)).or_default().insert(task.id()),
                Some(&Wait::Primitive {
                    kind: Mutex | RwLock | RwLockWrite,
                    number,
                    holder,
                    ..
                }) => {
                    seen.entry((number, true)).or_default().insert(task.id());
                    holders.entry(number).or_default().extend(holder);
                }
                // It may have been polled for another reason.
                _ if task.state() != TaskState::Waiting => _ = awake.insert(task.id()),
                _ => {}
            }
        }
        for ((number, is_lock), mut tasks) in seen {
            let holders = holders.remove(&number).unwrap_or_default();
            let (mut moved, mut longest_gap) = (now, None);
            if let Some(before) = before.remove(&number) {
                tasks.extend(before.tasks.intersection(&awake));
                // Those that are gone may have been aborted. Of a lock more is known.
                let has_moved = match is_lock {
                    true => !before.holders.is_empty() && !holders.is_subset(&before.holders),
                    false => !before.tasks.is_subset(&tasks) || !before.tasks.is_disjoint(&anew),
                };
                (moved, longest_gap) = (before.moved, before.longest_gap);
                if has_moved {
                    longest_gap = longest_gap.max(Some(now.saturating_duration_since(moved)));
                    moved = now;
                }
            }
            self.things.insert(number, Waiting { is_lock, tasks, holders, moved, longest_gap });
        }
        let moves = |(_, waiting): &(&u32, &Waiting)| {
            let patience = waiting.longest_gap.unwrap_or_default() * GAPS;
            let patience = patience.clamp(STILL, MOST_STILL);
            now.saturating_duration_since(waiting.moved) < patience
                && (waiting.longest_gap.is_some() || !waiting.is_lock)
        };
        let (moving, others): (Vec<_>, Vec<_>) = self.things.iter().partition(moves);
        let still = others.into_iter().filter(|(_, waiting)| !waiting.is_lock);
        let still = still
            .map(|(number, waiting)| (*number, now.saturating_duration_since(waiting.moved)))
            .collect();
        let (locks, permits): (Vec<_>, Vec<_>) =
            moving.into_iter().partition(|(_, waiting)| waiting.is_lock);
        let numbers =
            |of: Vec<(&u32, &Waiting)>| of.into_iter().map(|(number, _)| *number).collect();
        Moving { permits: numbers(permits), locks: numbers(locks), still }
    }
}
