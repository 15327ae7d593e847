//! Panic messages and errors for a program that uses this crate under the name `tokio`: panics say whose it is.
//! Where programs compare a message with tokio's, it is tokio's.

use std::fmt::{self, Display, Formatter};

pub(crate) const NOTE: &str = " (this `tokio` is liten's)";

pub(crate) const ELAPSED: &str = "deadline has elapsed";

pub(crate) const SOURCE_ENDED: &str = "A Tokio 1.x context was found, but it is being shutdown.";

#[cold]
pub(crate) fn timer_ended() -> ! {
    panic!("A Tokio 1.x context was found, but it is being shutdown.{NOTE}")
}

pub(crate) fn assert_timer(is_inside: impl FnOnce() -> bool) {
    if !is_inside() {
        panic!(
            "there is no reactor running, must be called from the context of a Tokio 1.x runtime{NOTE}"
        );
    }
}

macro_rules! noted {
    ($text:literal) => {
        concat!($text, " (this `tokio` is liten's)")
    };
}
pub(crate) use noted;

pub(crate) fn panicked(f: &mut Formatter<'_>, message: &str) -> fmt::Result {
    write!(f, " panicked with message {message:?}")
}

pub(crate) fn debug_cancelled(
    f: &mut Formatter<'_>,
    id: impl Display,
    _: impl Display,
) -> fmt::Result {
    write!(f, "JoinError::Cancelled(Id({id}))")
}

pub(crate) fn debug_panicked(
    f: &mut Formatter<'_>,
    id: impl Display,
    message: Option<&str>,
    _: impl Display,
) -> fmt::Result {
    match message {
        Some(message) => write!(f, "JoinError::Panic(Id({id}), {message:?}, ...)"),
        None => write!(f, "JoinError::Panic(Id({id}), ...)"),
    }
}
