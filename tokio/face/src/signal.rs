//! Signals: liten's.

pub use liten::signal::ctrl_c;
#[cfg(unix)]
pub use liten::signal::unix;
#[cfg(windows)]
pub use liten::signal::windows;
