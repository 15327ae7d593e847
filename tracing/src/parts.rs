//! Something that many threads use, in parts with a lock each.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Threads that use it at the same time seldom want the same one of so many parts.
const PARTS: usize = 16;

#[derive(Debug, Default)]
pub(crate) struct Parts<T>([Mutex<T>; PARTS]);

impl<T> Parts<T> {
    /// Locks the part for that number.
    pub(crate) fn of(&self, number: u64) -> MutexGuard<'_, T> {
        lock(&self.0[(number % PARTS as u64) as usize])
    }

    /// Locks one part after the other.
    pub(crate) fn each(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(lock)
    }
}

fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
