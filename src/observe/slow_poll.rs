//! What is told of a poll that holds up its worker for long.

use super::named_task::NamedTask;
use super::thread_activity::ThreadActivity;
use crate::engine::task::RunningTask;
use std::fmt;
use std::time::Duration;

/// A poll that has held up its worker for long; given to the function of
/// [`Builder::on_slow_poll`](crate::runtime::Builder::on_slow_poll).
#[derive(Debug, Clone)]
pub struct SlowPoll {
    pub(crate) worker: usize,
    pub(crate) task: Option<RunningTask>,
    pub(crate) name: Option<std::sync::Arc<str>>,
    pub(crate) duration: Duration,
    pub(crate) activity: ThreadActivity,
}

impl SlowPoll {
    /// It has lasted for `time` at least.
    pub(crate) fn extend(&mut self, time: Duration) {
        self.duration = self.duration.max(time);
    }

    /// Returns the worker's index.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// Returns the task whose poll it is. `None` if the worker is in something else, such as a waker that an
    /// event calls.
    pub fn task(&self) -> Option<RunningTask> {
        self.task
    }

    /// Returns the name that [`task::Builder::name`](crate::task::Builder::name) has given to the task, if it
    /// was found. It is not in the poll before the task's first wait, nor among very many tasks: at the time
    /// of writing, 10,000 are looked at.
    pub fn task_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns for how long the poll has lasted until now, at least.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Returns what the worker's thread does. One that runs has been watched since half of the threshold.
    pub fn activity(&self) -> &ThreadActivity {
        &self.activity
    }
}

impl fmt::Display for SlowPoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { worker, duration, activity, .. } = self;
        match self.task {
            Some(task) => write!(f, "{}, ", NamedTask(task, self.task_name()))?,
            None => f.write_str("something other than a task ")?,
        }
        write!(f, "has held up worker {worker} for {} ms: {activity}", duration.as_millis())
    }
}
