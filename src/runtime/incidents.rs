//! Finds the runtime of what goes wrong in a task, such as a panic, and of an executor that the program
//! makes.
//!
//! It is the one that the thread has entered: workers, blocking and pinned threads have, and what they run is
//! the runtime's. So no task has a field for it.

use super::local::LocalShared;
use super::local_thread::{ListedBy, list_by};
use super::{Handle, panics, watched};
use crate::engine::scheduler::report_panic;
use crate::engine::sync_shim::Arc;
use crate::engine::task::RunningTask;
use crate::engine::task::waker::polled_task;
use crate::observe::incidents::Incidents;
use std::fmt::Display;
use std::io;
use std::panic::Location;
use std::sync::OnceLock;

impl Handle {
    pub(crate) fn incidents(&self) -> &Arc<Incidents> {
        self.inner.slow_polls.incidents()
    }
}

/// From now on panics of tasks are recorded, and told to those that listen.
pub(crate) fn follow_panics() {
    panics::note_by(panicked);
}

/// From now on the executors that the program makes are those of the runtime that they are made in.
pub(crate) fn follow_executors() {
    list_by(ListedBy { list: list_executor, forget: watched::forget_executor });
}

/// Set once. It is std's, as no model has one that lives in a static.
static ARE_ATTEMPTS_COUNTED: OnceLock<()> = OnceLock::new();
/// The same: a timeout has passed since then, or a tick was late. Until that, no place is counted.
static HAS_ELAPSED: OnceLock<()> = OnceLock::new();
static WAS_LATE: OnceLock<()> = OnceLock::new();

/// From now on the attempts of tasks to connect are counted, calls with a timeout, ticks of intervals, and
/// reads at the end of a stream.
#[allow(dead_code, reason = "only insight counts them")]
pub(crate) fn follow_attempts() {
    ARE_ATTEMPTS_COUNTED.get_or_init(|| ());
}

/// The task that this thread polls has made a connection, or has failed to.
#[doc(hidden)]
pub fn connected<T>(result: &io::Result<T>) {
    count(|task, incidents| {
        let error = result.as_ref().err().map(|error| error as &dyn Display);
        incidents.connected(task, error);
    });
}

/// Counts something of the task that this thread polls, if attempts are counted.
fn count(what: impl FnOnce(RunningTask, &Incidents)) {
    if ARE_ATTEMPTS_COUNTED.get().is_none() {
        return;
    }
    if let (Some(task), Ok(handle)) = (polled_task(), Handle::try_current()) {
        what(task, handle.incidents());
    }
}

/// The task that this thread polls has read 0 bytes from a stream, not for the first time.
#[cold]
pub(crate) fn read_end() {
    count(|task, incidents| incidents.read_end(task));
}

/// What is limited by a timeout at that place was not ready in time. The crate's own timeouts do not count,
/// such as those of a page's connections.
#[cold]
pub(crate) fn elapsed(place: &'static Location<'static>) {
    let own = file!().strip_suffix("runtime/incidents.rs");
    let is_own = own.is_some_and(|own| place.file().starts_with(own));
    if ARE_ATTEMPTS_COUNTED.get().is_some() && !is_own {
        HAS_ELAPSED.get_or_init(|| ());
        timed(place, true);
    }
}

/// What is limited by a timeout at that place was ready in time.
#[inline]
pub(crate) fn met(place: &'static Location<'static>) {
    if HAS_ELAPSED.get().is_some() {
        timed(place, false);
    }
}

/// The task that this thread polls has taken a tick of an interval, more than a period too late or not.
#[inline]
pub(crate) fn ticked(is_late: bool) {
    if is_late || WAS_LATE.get().is_some() {
        count_tick(is_late);
    }
}

#[cold]
fn count_tick(is_late: bool) {
    count(|task, incidents| {
        WAS_LATE.get_or_init(|| ());
        incidents.ticked(task, is_late);
    });
}

#[cold]
fn timed(place: &'static Location<'static>, has_elapsed: bool) {
    if let Ok(handle) = Handle::try_current() {
        handle.incidents().timed(place, has_elapsed);
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
