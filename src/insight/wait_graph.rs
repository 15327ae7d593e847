//! Which task waits for which: for its end, for a lock that it holds, or for room where it receives.

use super::dump::Dump;
use super::task_info::TaskInfo;
use super::wait::Wait;
use crate::engine::task::TaskId;
use std::collections::HashSet;

/// How many waits are shown. A person does not read more.
const MOST_WAITS: usize = 200;

/// What one dump shows, within bounds.
pub(super) struct WaitGraph<'a> {
    /// What is known of the tasks below.
    pub(super) tasks: Vec<&'a TaskInfo>,
    /// Each a task, what it waits for, and the task by which that comes.
    pub(super) waits: Vec<(TaskId, &'a Wait, TaskId)>,
    /// How many waits more there are.
    pub(super) left_out: usize,
}

impl<'a> WaitGraph<'a> {
    pub(super) fn of(dump: &'a Dump) -> Self {
        let waits = dump.tasks().iter().flat_map(|task| {
            let others = task.waits().iter().filter_map(|wait| Some((wait, wait.other_task()?)));
            others.map(move |(wait, other)| (task, wait, other))
        });
        let mut waits: Vec<_> = waits.collect();
        // First those that last for ever, which must not be left out; last those for room, of which a healthy
        // program may have many.
        waits.sort_by_key(|(task, wait, other)| {
            (!task.is_deadlocked(), wait.is_for_room(), task.id(), *other)
        });
        let left_out = waits.len().saturating_sub(MOST_WAITS);
        waits.truncate(MOST_WAITS);
        let met = waits.iter().flat_map(|(task, _, other)| [task.id(), *other]);
        let met: HashSet<TaskId> = met.collect();
        let tasks = dump.tasks().iter().filter(|task| met.contains(&task.id())).collect();
        let waits = waits.into_iter().map(|(task, wait, other)| (task.id(), wait, other)).collect();
        Self { tasks, waits, left_out }
    }
}
