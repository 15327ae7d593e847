//! A poll that notes where its task waits, as the task sees it.
//!
//! An observer asks for such a poll by a bit in the task's word (TRACED in state.rs). The poll is given a
//! waker with another table, which says when it is cloned or called (waker.rs). What becomes of that, only
//! the observer knows: it gives its functions before it sets the bit, and so before anything here is called.
//!
//! The first call sets the functions. They are in std's `OnceLock`, as those of `join_error` are. If no
//! observer has given any, the poll is as every other one.

use super::origin::TaskId;
use super::state::Polled;
use std::sync::OnceLock;

static TRACES: OnceLock<Traces> = OnceLock::new();

/// An observer's functions for traced polls.
pub(crate) struct Traces {
    /// Polls the task by the function, whose waker carries the pointer. The name is that of the future's
    /// type.
    pub(crate) poll: fn(TaskId, *const (), &'static str, &mut dyn FnMut() -> Polled) -> Polled,
    /// The waker that carries the pointer is cloned or called.
    pub(crate) note: fn(*const ()),
    /// The task has ended with the bit set, and has left its registry.
    pub(crate) ended: fn(TaskId),
}

/// From now on these functions are called.
pub(crate) fn trace_by(traces: Traces) {
    TRACES.get_or_init(|| traces);
}

/// See [`Traces::poll`].
#[cold]
#[inline(never)]
pub(crate) fn poll(
    id: TaskId,
    data: *const (),
    future: &'static str,
    poll: &mut dyn FnMut() -> Polled,
) -> Polled {
    match TRACES.get() {
        Some(traces) => (traces.poll)(id, data, future, poll),
        None => poll(),
    }
}

/// See [`Traces::note`].
#[cold]
#[inline(never)]
pub(crate) fn note(data: *const ()) {
    if let Some(traces) = TRACES.get() {
        (traces.note)(data);
    }
}

/// See [`Traces::ended`].
#[cold]
pub(super) fn ended(task: TaskId) {
    if let Some(traces) = TRACES.get() {
        (traces.ended)(task);
    }
}
