//! The walk through all live tasks.

use super::task_info::TaskInfo;
use super::task_list::TaskList;
use crate::engine::task::RunningTask;
use crate::engine::task::registry::ListEntry;
use crate::impls::impl_debug;
use crate::runtime::Handle;
use std::vec;

impl Handle {
    /// Returns the live tasks of the runtime.
    ///
    /// Those are the tasks that wait, those that have waited and are in a queue, and those that are being
    /// polled, also those of a [`LocalSet`](crate::task::LocalSet) or a
    /// [`LocalExecutor`](crate::task::LocalExecutor) that the program has made in the runtime, or has begun
    /// to run in it, since there is a [page](super::serve). Two kinds are
    /// left out. Tasks in a queue that have never waited are only counted: see
    /// [`num_alive_tasks`](crate::runtime::RuntimeMetrics::num_alive_tasks). Blocking work is in the
    /// [dump](Handle::dump).
    ///
    /// The tasks are read while they are asked for, some at a time, and the workers go on meanwhile. A task
    /// that is alive and has waited before the call is returned once, if it does not end. One that comes or
    /// goes in between may be returned or not.
    ///
    /// # Examples
    ///
    /// ```
    /// use liten::insight::TaskState;
    /// use liten::runtime::Handle;
    ///
    /// # liten::block_on(async {
    /// let task = liten::task::Builder::new().name("idle").spawn(std::future::pending::<()>()).unwrap();
    /// # while liten::runtime::Handle::current().metrics().num_cold_tasks() == 0 {
    /// #     liten::time::sleep(std::time::Duration::from_millis(1)).await;
    /// # }
    /// let seen = Handle::current().tasks().find(|seen| seen.id() == task.id()).unwrap();
    /// assert_eq!((seen.name(), seen.state()), (Some("idle"), TaskState::Waiting));
    /// # });
    /// ```
    pub fn tasks(&self) -> Tasks {
        Tasks::new(TaskList::new(self))
    }
}

/// The live tasks of a runtime; from [`Handle::tasks`].
pub struct Tasks {
    list: TaskList,
    /// What has been read and not been returned.
    chunk: vec::IntoIter<ListEntry>,
    /// Whether workers run them.
    is_of_workers: bool,
    /// The tasks that were being polled when `chunk` was read, with whether a worker did it.
    polled: Vec<(RunningTask, bool)>,
    /// The tasks that were being polled at the beginning and have not been met. At the end, those that have
    /// never waited are left.
    unmet: Vec<(RunningTask, bool)>,
}

impl Tasks {
    pub(super) fn new(list: TaskList) -> Self {
        let unmet = list.polled();
        let chunk = Vec::new().into_iter();
        Self { list, chunk, is_of_workers: false, polled: Vec::new(), unmet }
    }

    fn fill(&mut self) {
        let mut chunk = Vec::new();
        if let Some(is_of_workers) = self.list.next_chunk(&mut chunk) {
            self.is_of_workers = is_of_workers;
            self.polled = self.list.polled();
        }
        self.chunk = chunk.into_iter();
    }
}

impl Iterator for Tasks {
    type Item = TaskInfo;

    fn next(&mut self) -> Option<TaskInfo> {
        if self.chunk.len() == 0 {
            self.fill();
        }
        let Some(entry) = self.chunk.next() else {
            return self.unmet.pop().map(|(task, by_worker)| TaskInfo::noted(task, by_worker));
        };
        self.unmet.retain(|(task, _)| *task != entry.task);
        let is_polled = self.polled.iter().any(|(task, _)| *task == entry.task);
        Some(TaskInfo::listed(entry, is_polled, self.is_of_workers))
    }
}

impl_debug!([] Tasks, "Tasks");
