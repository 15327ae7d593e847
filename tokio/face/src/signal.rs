//! Signals: liten's.

#[cfg(unix)]
pub mod unix;
#[cfg(windows)]
pub use liten::signal::windows;

/// Waits for ctrl-c.
///
/// # Errors
///
/// Returns the error of the operating system.
///
/// # Panics
///
/// Panics outside a runtime.
pub async fn ctrl_c() -> std::io::Result<()> {
    crate::runtime::context::assert_io();
    liten::signal::ctrl_c().await
}
