//! Ends the program where a panic would leave behind what other threads cannot go on with.

/// Aborts the process when it is dropped.
///
/// It stands before code that must not unwind, and is forgotten behind it.
pub(crate) struct AbortOnUnwind;

impl AbortOnUnwind {
    /// The code is through.
    pub(crate) fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}
