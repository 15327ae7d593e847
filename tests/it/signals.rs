//! Signals: those that a program waits for, and those that interrupt its calls.

#[cfg(target_os = "linux")]
mod interrupted_calls;
#[cfg(unix)]
pub(crate) mod listeners;
