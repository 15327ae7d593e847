//! What is shipped on wasm, where there is one thread: std alone. No deque, and no count of CPUs.

pub(crate) use super::plain::*;
/// A lock that lives in a static.
pub(crate) use Mutex as StaticMutex;
pub(crate) use std::sync::MutexGuard;
use std::sync::PoisonError;

/// std's lock with parking_lot's interface. It is a flag here: nobody waits for it, and there is no poison,
/// because a panic ends the program.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    // Not inlined: the check that nobody has it is larger than a call.
    #[inline(never)]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
