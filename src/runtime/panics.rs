//! Finds the runtime of a task that has panicked, and of an executor that the program makes.
//!
//! It is the one that the thread has entered: workers, blocking and pinned threads have, and what they run is
//! the runtime's. So no task has a field for it.

use super::local::LocalShared;
use super::local_thread::{ListedBy, list_by};
use super::{Handle, watched};
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

/// From now on the executors that the program makes are those of the runtime that they are made in.
pub(crate) fn follow_executors() {
    list_by(ListedBy { list: list_executor, forget: watched::forget_executor });
}

fn list_executor(shared: &Arc<LocalShared>) -> bool {
    let current = Handle::try_current();
    current.map(|handle| watched::list_executor(handle.id(), shared)).is_ok()
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
