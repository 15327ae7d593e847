//! Panic messages that depend on the name under which a program uses this crate.
//!
//! A program that uses it under the name `tokio` gets those of `words/tokio.rs` instead.

use std::fmt::{self, Display, Formatter};

/// What the message of a panic ends with.
pub(crate) const NOTE: &str = "";

/// What is shown of a time limit that was reached.
pub(crate) const ELAPSED: &str = "the time limit was reached";

/// The error of a source whose runtime has ended.
pub(crate) const SOURCE_ENDED: &str = "the runtime that drives this source has been shut down";

/// Panics over a timer that will not fire.
#[cold]
pub(crate) fn timer_ended() -> ! {
    panic!("the runtime that drives this timer has been shut down")
}

/// Called before an operation with a time limit; may panic if no timer could keep the limit. Under this name
/// it does not: a missing timer matters only when the operation has to wait.
pub(crate) fn assert_timer(_: impl FnOnce() -> bool) {}

/// A message without arguments, and what it ends with: a literal, which a `const fn` can panic with.
macro_rules! noted {
    ($text:literal) => {
        $text
    };
}
pub(crate) use noted;

/// Says that a task panicked, and with what message.
pub(crate) fn panicked(f: &mut Formatter<'_>, message: &str) -> fmt::Result {
    write!(f, " panicked: {message}")
}

/// Writes the `Debug` output of the error of a task that was cancelled.
pub(crate) fn debug_cancelled(
    f: &mut Formatter<'_>,
    _: impl Display,
    text: impl Display,
) -> fmt::Result {
    write!(f, "JoinError({text})")
}

/// Writes the `Debug` output of the error of a task that panicked, perhaps with a message.
pub(crate) fn debug_panicked(
    f: &mut Formatter<'_>,
    _: impl Display,
    _: Option<&str>,
    text: impl Display,
) -> fmt::Result {
    write!(f, "JoinError({text})")
}
