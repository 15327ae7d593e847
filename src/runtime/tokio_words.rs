//! What this crate knows of tokio's ways: the texts that it uses in a program that has it under the name
//! `tokio` (the feature `tokio-name`) and may compare them, and those by which a program that misses tokio is
//! told what to do.

use crate::engine::tokio_note::NOTE;
use std::any::Any;
use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;
use std::time::Duration;

/// Whether the program uses this crate under tokio's name.
pub(crate) const IS_TOKIO: bool = cfg!(feature = "tokio-name");

/// The period at which tokio's timers fire, for its name: programs count on it that a sleep of no time lets
/// other tasks run, and that a loop around it does not keep a processor busy. liten's own timers are exact.
pub(crate) const TIMER_TICK: Option<Duration> = match IS_TOKIO {
    true => Some(Duration::from_millis(1)),
    false => None,
};

/// Parts of the panic messages of crates that need tokio and do not find it: tokio's own, and sqlx's.
const MESSAGES: &[&str] =
    &["must be called from the context of a Tokio 1.x runtime", "requires a Tokio context"];

/// Right if the feature is off, and if it is on and the builder has switched it off. Wrong under the name
/// `tokio`, which excludes the feature.
const HINT: &str = "a crate that needs tokio: enable liten's feature `tokio-context`, and do not \
                    switch it off by `Builder::tokio_context`";

/// What is shown of a time limit that was reached.
pub(crate) const ELAPSED: &str = match IS_TOKIO {
    true => "deadline has elapsed",
    false => "the time limit was reached",
};

/// The beginning of the `Debug` output of a file.
#[cfg_attr(not(feature = "fs"), allow(dead_code, reason = "there are no files"))]
pub(crate) const FILE: &str = match IS_TOKIO {
    true => "tokio::fs::File",
    false => "File",
};

/// Panics over a timer that will not fire.
#[cold]
pub(crate) fn timer_ended() -> ! {
    match IS_TOKIO {
        true => panic!("A Tokio 1.x context was found, but it is being shutdown.{NOTE}"),
        false => panic!("the runtime that drives this timer has been shut down"),
    }
}

/// Called before an operation with a time limit: under tokio's name it panics if no timer could keep the
/// limit. Under this one a missing timer matters only when the operation has to wait.
pub(crate) fn assert_timer(is_inside: impl FnOnce() -> bool) {
    if IS_TOKIO && !is_inside() {
        panic!(
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime{NOTE}"
        );
    }
}

/// Says that a task panicked, and with what message.
pub(crate) fn panicked(f: &mut Formatter<'_>, message: &str) -> fmt::Result {
    match IS_TOKIO {
        true => write!(f, " panicked with message {message:?}"),
        false => write!(f, " panicked: {message}"),
    }
}

/// Turns the error of a task that has no output into one of I/O.
pub(crate) fn io_error_of_a_task(
    error: impl Error + Send + Sync + 'static,
    is_panic: bool,
) -> io::Error {
    match (IS_TOKIO, is_panic) {
        (true, true) => io::Error::other("task panicked"),
        (true, false) => io::Error::other("task was cancelled"),
        (false, _) => io::Error::other(error),
    }
}

/// Turns the error of a time limit that was reached into one of I/O.
pub(crate) fn io_error_of_a_timeout(elapsed: impl Error + Send + Sync + 'static) -> io::Error {
    match IS_TOKIO {
        true => io::ErrorKind::TimedOut.into(),
        false => io::Error::new(io::ErrorKind::TimedOut, elapsed),
    }
}

/// The kind of the error of a listener for a signal that no program can listen for.
#[cfg_attr(not(all(unix, feature = "signal")), allow(dead_code, reason = "there is no such error"))]
pub(crate) const REFUSED_SIGNAL: io::ErrorKind = match IS_TOKIO {
    true => io::ErrorKind::Other,
    false => io::ErrorKind::InvalidInput,
};

/// Whether the threads for blocking work do what waits for them when the runtime ends, as tokio's do. In a
/// runtime of liten's the end cancels it, so that it takes no longer than what is under way.
#[cfg_attr(target_family = "wasm", allow(dead_code, reason = "there are no threads"))]
pub(crate) const DOES_WHAT_WAITS: bool = IS_TOKIO;

/// Writes the `Debug` output of the error of a task that was cancelled.
pub(crate) fn debug_cancelled(
    f: &mut Formatter<'_>,
    id: impl Display,
    text: impl Display,
) -> fmt::Result {
    match IS_TOKIO {
        true => write!(f, "JoinError::Cancelled(Id({id}))"),
        false => write!(f, "JoinError({text})"),
    }
}

/// Writes the `Debug` output of the error of a task that panicked, perhaps with a message.
pub(crate) fn debug_panicked(
    f: &mut Formatter<'_>,
    id: impl Display,
    message: Option<&str>,
    text: impl Display,
) -> fmt::Result {
    match message {
        _ if !IS_TOKIO => write!(f, "JoinError({text})"),
        Some(message) => write!(f, "JoinError::Panic(Id({id}), {message:?}, ...)"),
        None => write!(f, "JoinError::Panic(Id({id}), ...)"),
    }
}

/// The message of a panic, if it is a string, as most are.
pub(crate) fn message(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&'static str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// The hint for a panic with this message, if it needs one. `None` if the message has the hint already: a
/// task that unwraps the `JoinError` of another panics with it.
pub(crate) fn hint(message: &str) -> Option<&'static str> {
    let found = MESSAGES.iter().any(|part| message.contains(part)) && !message.contains(HINT);
    (found && !IS_TOKIO).then_some(HINT)
}

/// Prints the hint after the message, which the panic hook has just printed: the program may never look at
/// the result of the task. Once per process, because one cause makes many panics.
pub(super) fn print_hint(payload: &(dyn Any + Send)) {
    static PRINTED: Once = Once::new();
    if let Some(hint) = message(payload).and_then(hint) {
        // Not `eprintln`, which panics where standard error is closed.
        PRINTED.call_once(|| drop(writeln!(io::stderr(), "liten: {hint}")));
    }
}

/// Runs a root, whose panic goes to the caller and not to a `JoinError`.
pub(super) fn explained(root: impl FnOnce()) {
    // There is no hint under tokio's name.
    if IS_TOKIO {
        return root();
    }
    if let Err(payload) = catch_unwind(AssertUnwindSafe(root)) {
        print_hint(&*payload);
        resume_unwind(payload);
    }
}
