//! The live tasks of a runtime, one registry after the other and chunk by chunk.
//!
//! A thread that lists a million tasks must not keep a worker from one of them. So each call looks at a few
//! entries under a worker's lock, and the tasks that come and go in between make no difference to the others.

use crate::engine::sync_shim::Arc;
use crate::engine::task::registry::ListEntry;
use crate::engine::task::{RunningTask, TaskId};
use crate::runtime::Handle;
use crate::runtime::local::LocalShared;
use std::collections::HashSet;

/// A walk through the tasks of a runtime that have waited once at least.
pub(super) struct TaskList {
    handle: Handle,
    /// The executors of a runtime without workers, and of pinned tasks.
    executors: Vec<Arc<LocalShared>>,
    /// The registry that is next: first those of the scheduler, then those of the executors.
    registry: usize,
    from: usize,
    marks: bool,
}

impl TaskList {
    pub(super) fn new(handle: &Handle) -> Self {
        let executors = handle.executors();
        Self { handle: handle.clone(), executors, registry: 0, from: 0, marks: false }
    }

    /// Returns one that marks the tasks which it meets: see `State::mark`.
    pub(super) fn marking(handle: &Handle) -> Self {
        Self { marks: true, ..Self::new(handle) }
    }

    /// Puts the next tasks into `chunk`, which is empty, and returns whether workers run them. `None`: there
    /// are no more.
    pub(super) fn next_chunk(&mut self, chunk: &mut Vec<ListEntry>) -> Option<bool> {
        let scheduler = self.handle.scheduler();
        let of_workers = scheduler.map_or(0, |scheduler| scheduler.task_lists());
        loop {
            let is_of_workers = self.registry < of_workers;
            let next = match (scheduler, self.executors.get(self.registry.wrapping_sub(of_workers)))
            {
                (Some(scheduler), _) if is_of_workers => {
                    scheduler.list_tasks(self.registry, self.from, self.marks, chunk)
                }
                (_, Some(executor)) => executor.list_tasks(self.from, self.marks, chunk),
                (_, None) => return None,
            };
            self.from = next.unwrap_or(0);
            self.registry += usize::from(next.is_none());
            if !chunk.is_empty() {
                return Some(is_of_workers);
            }
        }
    }

    /// Asks the tasks of which `wanted` says so for a traced poll.
    pub(super) fn trace(&self, wanted: &mut impl FnMut(TaskId) -> bool) {
        self.handle.scheduler().into_iter().for_each(|scheduler| scheduler.trace_tasks(wanted));
        self.executors.iter().for_each(|executor| executor.trace_tasks(wanted));
    }

    /// Whether the task is among them.
    pub(super) fn has(&self, task: TaskId) -> bool {
        let mut is_there = false;
        self.trace(&mut |id| {
            is_there |= id == task;
            false
        });
        is_there
    }

    /// The tasks that are being polled, whether or not they have waited before; with whether a worker does
    /// it.
    pub(super) fn polled(&self) -> Vec<(RunningTask, bool)> {
        let by_workers = self.handle.tasks_polled_by_workers().map(|task| (task, true));
        let elsewhere = self.handle.tasks_polled_elsewhere().map(|task| (task, false));
        each_once(by_workers.chain(elsewhere))
    }
}

/// The threads are looked at one after the other, and meanwhile a task may go from one that has been looked
/// at to one that has not.
fn each_once(polled: impl Iterator<Item = (RunningTask, bool)>) -> Vec<(RunningTask, bool)> {
    let mut met = HashSet::new();
    polled.filter(|(task, _)| met.insert(*task)).collect()
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::runtime::Builder;
    use std::panic::Location;

    /// A call that returns tasks has looked at them under one taking of a lock.
    #[test]
    fn of_very_many_tasks_each_is_listed_once_and_few_under_one_lock() {
        const TASKS: usize = 100_000;
        let runtime = Builder::new_multi_thread().worker_threads(2).build().unwrap();
        for _ in 0..TASKS {
            drop(runtime.spawn(std::future::pending::<()>()));
        }
        while runtime.metrics().num_cold_tasks() < TASKS {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        for mut list in [TaskList::new(runtime.handle()), TaskList::marking(runtime.handle())] {
            let (mut met, mut chunk) = (HashSet::new(), Vec::new());
            while list.next_chunk(&mut chunk).is_some() {
                assert!(chunk.len() <= 32, "{} tasks under one lock", chunk.len());
                met.extend(chunk.drain(..).map(|entry| entry.task.id()));
            }
            assert_eq!(met.len(), TASKS);
        }
    }

    #[test]
    fn a_task_that_has_moved_during_the_look_is_listed_once() {
        let task = || RunningTask::new(TaskId::next(), Location::caller());
        let (moved, other) = (task(), task());
        let seen = [(moved, true), (other, false), (moved, true)];
        assert_eq!(each_once(seen.into_iter()), [(moved, true), (other, false)]);
    }
}
