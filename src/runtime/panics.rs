//! Finds the runtime of a task that has panicked.
//!
//! It is the one that the thread has entered: workers, blocking and pinned threads have, and what they run is
//! the runtime's. So no task has a field for it.

use super::Handle;
use crate::engine::scheduler::report_panic;
use crate::engine::sync_shim::Arc;
use crate::engine::task::{RunningTask, join_error};
use crate::observe::incidents::Incidents;

impl Handle {
    pub(crate) fn incidents(&self) -> &Arc<Incidents> {
        self.inner.slow_polls.incidents()
    }
}

/// From now on panics of tasks are recorded, and told to those that listen.
pub(crate) fn follow_panics() {
    join_error::note_by(panicked);
}

/// The thread has entered the runtime, so the handle that is dropped here is not the last one.
fn panicked(task: RunningTask) {
    let Ok(handle) = Handle::try_current() else { return };
    if let Some(scheduler) = handle.scheduler() {
        // First, so that one that listens finds the record.
        report_panic(scheduler, task);
    }
    handle.incidents().panicked(task);
}
