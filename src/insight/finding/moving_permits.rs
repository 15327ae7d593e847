//! Semaphores whose permits come back: seen by several looks.
//!
//! Where many tasks share few permits, each waits for long although nothing is wrong. If a task that waited
//! at one look has ended or waits for something else at the next one, it has mostly got its permit. One that
//! has a timer, too, may have given up, and says nothing. Nothing is said of a semaphore that has lost
//! permits, nor if not all tasks are listed.

use crate::engine::task::TaskId;
use crate::insight::dump::Dump;
use crate::insight::task_state::TaskState;
use crate::insight::wait::Wait;
use crate::primitive_kind::PrimitiveKind::Semaphore;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// A semaphore moves until no task has got a permit for so long.
const STILL: Duration = Duration::from_secs(10);

struct Waiting {
    tasks: HashSet<TaskId>,
    /// When a task has got a permit last, or the first look.
    moved: Instant,
}

/// The looks at one runtime.
#[derive(Default)]
pub(in crate::insight) struct MovingPermits {
    semaphores: HashMap<u32, Waiting>,
}

impl MovingPermits {
    /// Takes a look; returns the numbers of the semaphores that move.
    pub(in crate::insight) fn look(&mut self, now: Instant, dump: &Dump) -> HashSet<u32> {
        let mut before = std::mem::take(&mut self.semaphores);
        if dump.alive_tasks > dump.tasks().len() {
            return HashSet::new();
        }
        let mut seen: HashMap<u32, HashSet<TaskId>> = HashMap::new();
        let mut awake = HashSet::new();
        for task in dump.tasks() {
            match task.waits_only_for() {
                Some(&Wait::Primitive { kind: Semaphore, number, forgotten: 0, .. }) => {
                    seen.entry(number).or_default().insert(task.id());
                }
                // It may have been polled for another reason.
                _ if task.state() != TaskState::Waiting => _ = awake.insert(task.id()),
                _ => {}
            }
        }
        for (number, mut tasks) in seen {
            let moved = match before.remove(&number) {
                Some(waiting) => {
                    tasks.extend(waiting.tasks.intersection(&awake));
                    if waiting.tasks.is_subset(&tasks) { waiting.moved } else { now }
                }
                None => now,
            };
            self.semaphores.insert(number, Waiting { tasks, moved });
        }
        let moves = |waiting: &Waiting| now.saturating_duration_since(waiting.moved) < STILL;
        self.semaphores.iter().filter(|(_, waiting)| moves(waiting)).map(|(n, _)| *n).collect()
    }
}
