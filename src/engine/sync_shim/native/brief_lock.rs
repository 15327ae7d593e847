//! A lock that is worth some waiting before the thread sleeps.

use crate::engine::sync_shim::spin_word::ask_for_some_time;
use parking_lot::{Mutex, MutexGuard};

/// Locks what is mostly held for a few dozen instructions, such as a slot of `sync::broadcast`.
///
/// Tries for some microseconds before the thread sleeps: the holder will have released the lock by then,
/// unless the system has taken its core away, or it clones a large value. parking_lot gives its core away
/// after fourteen pauses.
#[inline]
pub(crate) fn lock_briefly<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.try_lock().unwrap_or_else(|| lock_after_some_time(mutex))
}

#[cold]
fn lock_after_some_time<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    ask_for_some_time(|| mutex.is_locked(), || mutex.try_lock()).unwrap_or_else(|| mutex.lock())
}
