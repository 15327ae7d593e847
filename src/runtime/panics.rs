//! Finds the runtime of a task that has panicked or has tried to connect, and of an executor that the program
//! makes.
//!
//! It is the one that the thread has entered: workers, blocking and pinned threads have, and what they run is
//! the runtime's. So no task has a field for it.

use super::local::LocalShared;
use super::local_thread::{ListedBy, list_by};
use super::{Handle, watched};
use crate::engine::scheduler::report_panic;
use crate::engine::sync_shim::Arc;
use crate::engine::task::waker::polled_task;
use crate::engine::task::{RunningTask, join_error};
use crate::observe::incidents::Incidents;
use std::io;
use std::sync::OnceLock;

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

/// Set once. It is std's, as no model has one that lives in a static.
static ARE_CONNECTS_COUNTED: OnceLock<()> = OnceLock::new();

/// From now on the attempts of tasks to connect are counted.
#[allow(dead_code, reason = "only insight counts them")]
pub(crate) fn follow_connects() {
    ARE_CONNECTS_COUNTED.get_or_init(|| ());
}

/// The task that this thread polls has made a connection, or has failed to.
#[doc(hidden)]
pub fn connected<T>(result: &io::Result<T>) {
    if ARE_CONNECTS_COUNTED.get().is_none() {
        return;
    }
    if let (Some(task), Ok(handle)) = (polled_task(), Handle::try_current()) {
        handle.incidents().connected(task, result.as_ref().map(|_| ()));
    }
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
