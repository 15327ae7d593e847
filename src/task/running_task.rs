//! How a task that a thread was running is shown.

use crate::engine::task::RunningTask;
use crate::short::Place;
use std::fmt;

impl fmt::Display for RunningTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}, spawned at {}", self.id(), Place(self.spawned_at()))
    }
}
