//! What to do about the panic that most programs new to a runtime other than tokio meet first.

use crate::engine::words::NOTE;
use std::any::Any;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;

/// Parts of the panic messages of crates that need tokio and do not find it: tokio's own, and sqlx's.
const MESSAGES: &[&str] =
    &["must be called from the context of a Tokio 1.x runtime", "requires a Tokio context"];

/// Right if the feature is off, and if it is on and the builder has switched it off. Wrong under the name
/// `tokio`, which excludes the feature.
const HINT: &str = "a crate that needs tokio: enable liten's feature `tokio-context`, and do not \
                    switch it off by `Builder::tokio_context`";

/// The message of a panic, if it is a string, as most are.
pub(crate) fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// The hint for a panic with this message, if it needs one. `None` if the message has the hint already: a
/// task that unwraps the `JoinError` of another panics with it.
pub(super) fn about(message: &str) -> Option<&'static str> {
    let found = MESSAGES.iter().any(|part| message.contains(part)) && !message.contains(HINT);
    (found && NOTE.is_empty()).then_some(HINT)
}

/// Prints the hint after the message, which the panic hook has just printed: the program may never look at
/// the result of the task. Once per process, because one cause makes many panics.
pub(super) fn tell(payload: &(dyn Any + Send)) {
    static TOLD: Once = Once::new();
    if let Some(hint) = message(payload).and_then(about) {
        // Not `eprintln`, which panics where standard error is closed.
        TOLD.call_once(|| drop(writeln!(io::stderr(), "liten: {hint}")));
    }
}

/// Runs a root, whose panic goes to the caller and not to a `JoinError`.
pub(crate) fn explained<R>(root: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(root)).unwrap_or_else(|payload| {
        tell(&*payload);
        resume_unwind(payload)
    })
}
