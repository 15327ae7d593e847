//! Systems that do not tell where a thread is.

use crate::observe::thread_activity::SystemCall;

/// Reads the stacks of threads.
#[derive(Default)]
pub(in crate::insight) struct ThreadStacks {}

impl ThreadStacks {
    /// The same, as nothing is known.
    pub(in crate::insight) fn of_calls() -> Self {
        Self {}
    }

    pub(super) fn may_interrupt(&self) -> bool {
        false
    }

    /// Nothing is known.
    pub(in crate::insight) fn addresses(&mut self, _thread: u32, _call: &SystemCall) -> Vec<usize> {
        Vec::new()
    }

    /// Nothing is known.
    pub(in crate::insight) fn interrupted(&mut self, _thread: u32) -> Vec<usize> {
        Vec::new()
    }
}
