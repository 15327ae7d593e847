//! The tasks that come from one place.

use super::task_info::TaskInfo;
use super::task_state::TaskState;
use crate::short::{Place, short};
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;

/// The live tasks that were spawned at one place and have futures of one type.
#[derive(Debug, Clone)]
pub struct TaskGroup {
    spawned_at: &'static Location<'static>,
    future: Option<(&'static str, usize)>,
    running: usize,
    ready: usize,
    waiting: usize,
    stuck: usize,
}

impl TaskGroup {
    /// Returns the place in the source from which the tasks were spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// Returns the name of the futures' type. `None` for tasks in the poll before their first wait.
    pub fn type_name(&self) -> Option<&'static str> {
        self.future.map(|(type_name, _)| type_name)
    }

    /// Returns how many bytes each of the futures takes. `None` as for the type.
    pub fn future_size(&self) -> Option<usize> {
        self.future.map(|(_, size)| size)
    }

    /// How many bytes the futures of all of them take.
    pub(super) fn bytes(&self) -> Option<usize> {
        Some(self.future_size()?.saturating_mul(self.tasks()))
    }

    /// Returns how many tasks there are: one at least.
    pub fn tasks(&self) -> usize {
        self.running + self.ready + self.waiting
    }

    /// Returns how many of them are in that state.
    pub fn count(&self, state: TaskState) -> usize {
        match state {
            TaskState::Running => self.running,
            TaskState::Ready => self.ready,
            TaskState::Waiting => self.waiting,
        }
    }

    /// Returns how many of them are proven to be [stuck](TaskInfo::is_stuck). They are waiting, too.
    pub fn stuck(&self) -> usize {
        self.stuck
    }

    pub(super) fn of(task: &TaskInfo) -> Self {
        let future = task.type_name().zip(task.future_size());
        Self { spawned_at: task.spawned_at(), future, running: 0, ready: 0, waiting: 0, stuck: 0 }
    }

    pub(super) fn add(&mut self, task: &TaskInfo) {
        self.stuck += usize::from(task.is_stuck());
        *match task.state() {
            TaskState::Running => &mut self.running,
            TaskState::Ready => &mut self.ready,
            TaskState::Waiting => &mut self.waiting,
        } += 1;
    }
}

impl fmt::Display for TaskGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { spawned_at, running, ready, waiting, .. } = self;
        let (all, place) = (self.tasks(), Place(spawned_at));
        write!(f, "{all} from {place}: {running} running, {ready} ready, {waiting} waiting")?;
        if self.stuck > 0 {
            write!(f, " ({} for ever)", self.stuck)?;
        }
        match self.future {
            Some((type_name, size)) if all > 1 => {
                let bytes = self.bytes().unwrap_or_default();
                write!(f, ", {}, {size} bytes each, {bytes} in all", short(type_name))
            }
            Some((type_name, size)) => write!(f, ", {}, {size} bytes", short(type_name)),
            None => Ok(()),
        }
    }
}

/// Tasks, by where they come from. As large as the program has places, not as it has tasks.
#[derive(Default)]
pub(super) struct Groups(HashMap<(&'static Location<'static>, Option<&'static str>), TaskGroup>);

impl Groups {
    pub(super) fn add(&mut self, task: &TaskInfo) {
        let key = (task.spawned_at(), task.type_name());
        self.0.entry(key).or_insert_with(|| TaskGroup::of(task)).add(task);
    }

    /// The largest first; those of one size in the order of their places.
    pub(super) fn into_sorted(self) -> Vec<TaskGroup> {
        let mut groups: Vec<_> = self.0.into_values().collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(group.tasks()), group.spawned_at));
        groups
    }
}
