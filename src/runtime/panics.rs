//! What a runtime does about the panic of a task: it prints a hint if a crate missed tokio, records the panic,
//! and tells those that listen.
//!
//! The task's runtime is the one that the thread has entered: workers, blocking and pinned threads have, and what they run is
//! the runtime's. So no task has a field for it.

use super::Handle;
use super::incidents::Incidents;
use super::tokio_words::print_hint;
use crate::engine::scheduler::note_panic;
use crate::engine::sync_shim::Arc;
use crate::engine::task::{RunningTask, panics};
use std::any::Any;

impl Handle {
    pub(crate) fn incidents(&self) -> &Arc<Incidents> {
        self.inner.slow_polls.incidents()
    }
}

/// To be called before the first task is made.
pub(super) fn follow_panics() {
    panics::follow(panicked);
}

/// The thread has entered the runtime, so the handle that is dropped here is not the last one.
fn panicked(task: RunningTask, payload: &(dyn Any + Send)) {
    print_hint(payload);
    let Ok(handle) = Handle::try_current() else { return };
    if let Some(scheduler) = handle.scheduler() {
        // First, so that one that listens finds the record.
        note_panic(scheduler, task);
    }
    handle.incidents().panicked(task);
}
