//! Semaphores whose permits come back, and locks that pass from task to task: seen by several looks.
//!
//! Where many tasks share few permits, each waits for long although nothing is wrong. If a task that waited
//! at one look has ended or waits for something else at the next one, it has mostly got its permit. One that
//! has a timer, too, may have given up, and says nothing. Nothing is said of a semaphore that has lost
//! permits, nor if not all tasks are listed. It is the same with locks.

use crate::engine::task::TaskId;
use crate::insight::dump::Dump;
use crate::insight::task_state::TaskState;
use crate::insight::wait::Wait;
use crate::primitive_kind::PrimitiveKind::{Mutex, RwLock, RwLockWrite, Semaphore};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// One moves until no task has got a permit, or the lock, for so long.
const STILL: Duration = Duration::from_secs(10);

struct Waiting {
    is_lock: bool,
    tasks: HashSet<TaskId>,
    /// When a task has got a permit or the lock last, or the first look.
    moved: Instant,
    /// Whether one has, since the first look.
    has_moved: bool,
}

/// The numbers of what moves.
#[derive(Debug, Default)]
pub(in crate::insight) struct Moving {
    pub(in crate::insight) permits: HashSet<u32>,
    /// Tasks were seen to get them.
    pub(in crate::insight) locks: HashSet<u32>,
}

/// The looks at one runtime.
#[derive(Default)]
pub(in crate::insight) struct MovingPermits {
    things: HashMap<u32, Waiting>,
}

impl MovingPermits {
    /// Takes a look; returns what moves.
    pub(in crate::insight) fn look(&mut self, now: Instant, dump: &Dump) -> Moving {
        let mut before = std::mem::take(&mut self.things);
        if dump.alive_tasks > dump.tasks().len() {
            return Moving::default();
        }
        let mut seen: HashMap<(u32, bool), HashSet<TaskId>> = HashMap::new();
        let mut awake = HashSet::new();
        for task in dump.tasks() {
            match task.waits_only_for() {
                Some(&Wait::Primitive { kind: Semaphore, number, forgotten: 0, .. }) => {
                    seen.entry((number, false)).or_default().insert(task.id());
                }
                Some(&Wait::Primitive { kind: Mutex | RwLock | RwLockWrite, number, .. }) => {
                    seen.entry((number, true)).or_default().insert(task.id());
                }
                // It may have been polled for another reason.
                _ if task.state() != TaskState::Waiting => _ = awake.insert(task.id()),
                _ => {}
            }
        }
        for ((number, is_lock), mut tasks) in seen {
            let (moved, has_moved) = match before.remove(&number) {
                Some(waiting) => {
                    tasks.extend(waiting.tasks.intersection(&awake));
                    match waiting.tasks.is_subset(&tasks) {
                        true => (waiting.moved, waiting.has_moved),
                        false => (now, true),
                    }
                }
                None => (now, false),
            };
            self.things.insert(number, Waiting { is_lock, tasks, moved, has_moved });
        }
        let moves = |(_, waiting): &(&u32, &Waiting)| {
            now.saturating_duration_since(waiting.moved) < STILL
                && (waiting.has_moved || !waiting.is_lock)
        };
        let moving = self.things.iter().filter(moves);
        let (locks, permits): (Vec<_>, Vec<_>) = moving.partition(|(_, waiting)| waiting.is_lock);
        let numbers =
            |of: Vec<(&u32, &Waiting)>| of.into_iter().map(|(number, _)| *number).collect();
        Moving { permits: numbers(permits), locks: numbers(locks) }
    }
}
