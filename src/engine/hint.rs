//! What to do about the panic that most programs new to a runtime other than tokio meet first.

use crate::engine::words::NOTE;
use std::any::Any;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;

/// How a crate says that it has looked for tokio in vain: tokio's own words, and sqlx's.
const CRIES: &[&str] =
    &["must be called from the context of a Tokio 1.x runtime", "requires a Tokio context"];

/// Right whether the feature is off, or on and not wanted; wrong through the package named `tokio`, which
/// excludes it.
const HINT: &str = "a crate that needs tokio: enable liten's feature `tokio-context`, and do not \
                    switch it off by `Builder::tokio_context`";

/// The message of a panic, if it is a string, as most are.
pub(crate) fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// What there is to say about a panic with this message. Nothing a second time: a task that unwraps the
/// `JoinError` of another panics with the hint in its message.
pub(super) fn about(message: &str) -> Option<&'static str> {
    let found = CRIES.iter().any(|cry| message.contains(cry)) && !message.contains(HINT);
    (found && NOTE.is_empty()).then_some(HINT)
}

/// Says it where the panic hook has just printed the message: the result of a task may never be looked at.
/// Once per process, because one cause makes many panics.
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
