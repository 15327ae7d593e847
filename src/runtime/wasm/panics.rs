//! What a runtime does about the panic of a task, where panics unwind: it prints a hint if a crate missed tokio.

use super::tokio_words::print_hint;
use crate::engine::task::panics;

/// To be called before the first task is made.
pub(super) fn follow_panics() {
    panics::follow(|_, payload| print_hint(payload));
}
