//! What is done when a task of a runtime or of an executor has panicked: the panic is explained if it can be,
//! and the task is noted if something follows panics.
//!
//! That happens on the thread of the panic, after the panic hook, and must not panic.

use super::tokio_words::print_hint;
use crate::engine::task::{RunningTask, join_error};
use std::any::Any;
use std::sync::OnceLock;

/// Set once something follows panics. The function is handed down: it asks for the runtime of the task, and
/// what runtimes are made of comes here too. It is std's `OnceLock`, as no model has one that lives in a
/// static.
static NOTE: OnceLock<fn(RunningTask)> = OnceLock::new();

/// From now on the panics of tasks come here. Called before the first task is spawned.
pub(super) fn watch() {
    join_error::call_on_panic(panicked);
}

/// From now on `note` is called with each task that has panicked.
pub(super) fn note_by(note: fn(RunningTask)) {
    NOTE.get_or_init(|| note);
}

fn panicked(task: RunningTask, payload: &(dyn Any + Send)) {
    print_hint(payload);
    if let Some(note) = NOTE.get() {
        note(task);
    }
}
