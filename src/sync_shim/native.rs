//! What is shipped: std, with parking_lot's locks and crossbeam's deques.

pub(crate) use super::plain::*;
pub(crate) use crossbeam_deque as deque;
pub(crate) use num_cpus::get as cpus;
/// A lock that lives in a static.
pub(crate) use parking_lot::Mutex as StaticMutex;
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard};

pub(crate) fn park_timeout(limit: std::time::Duration) {
    thread::park_timeout(limit);
}

/// Whether a thread has run its closure to the end.
pub(crate) fn has_ended<T>(thread: &thread::JoinHandle<T>) -> bool {
    thread.is_finished()
}

/// Lets other threads run for about so long.
pub(crate) fn pause(time: std::time::Duration) {
    thread::sleep(time);
}

/// Calls `wait`, which blocks in the system for `limit` at most; its `true` says that something came.
pub(crate) fn block<E>(
    limit: Option<std::time::Duration>,
    mut wait: impl FnMut(Option<std::time::Duration>) -> Result<bool, E>,
) -> Result<(), E> {
    wait(limit).map(drop)
}
