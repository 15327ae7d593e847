//! Child processes.

mod everywhere;
#[cfg(unix)]
pub(crate) mod unix;
