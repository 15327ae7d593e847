//! The primitives that are shipped: std, with parking_lot's locks and crossbeam's deques.

mod spin_mutex;

pub(crate) use self::spin_mutex::{SpinMutex, SpinMutexGuard, lock_briefly};
pub(crate) use super::plain::*;
pub(crate) use crossbeam_deque as deque;
pub(crate) use num_cpus::get as cpus;
pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard};
/// A lock that lives in a static.
pub(crate) use parking_lot::{Mutex as StaticMutex, MutexGuard as StaticMutexGuard};

/// Whether the system is asked for the limits of the process. Other systems have no such files.
pub(crate) const HAS_LIMITS: bool = cfg!(target_os = "linux");

/// Locks `lock` for reading in some `limit`, or else if only threads that wait to write keep this one from
/// it. The second value says that it has overtaken such a thread. `None`: a thread writes.
pub(crate) fn read_or_overtake<T>(
    lock: &RwLock<T>,
    limit: std::time::Duration,
) -> Option<(RwLockReadGuard<'_, T>, bool)> {
    let in_turn = lock.try_read_for(limit).map(|value| (value, false));
    in_turn.or_else(|| lock.try_read_recursive().map(|value| (value, true)))
}

/// Attempts to lock before a thread sleeps, with a back-off before each of them: 11 microseconds.
pub(super) const ATTEMPTS: u32 = 8;

/// How long a thread that waits for a short lock does nothing before it looks at the lock for the first time.
///
/// Most holders are through in less: `perf` found a fifth of the time of the semaphore row on tokio's runtime
/// in a first back-off of 1.5 microseconds. liten's time / tokio's in `versus -- sync`, medians of seven
/// runs in turns on one machine; "on tokio" has both on tokio's runtime:
///
/// | first back-off, ns | semaphore on tokio | semaphore | RwLock | mpsc 16 to 1: time, processors |
/// |---|---|---|---|---|
/// | 200 | 0.87 | 0.46 | 0.44 | 0.40, 0.45 |
/// | 400 | 0.92 | 0.42 | 0.44 | 0.38, 0.41 |
/// | 600 | 0.95 | 0.40 | 0.45 | 0.37, 0.41 |
/// | 1500 | 0.98 | 0.38 | 0.44 | 0.34, 0.35 |
const FIRST_BACKOFF: std::time::Duration = std::time::Duration::from_nanos(400);

/// How long such a thread does nothing before each further look.
///
/// Each look takes the lock's cache line away from the core of the holder, and so does each change of the
/// holder for what the lock protects. A thread that stays away for longer lets the other one do its work
/// many times. By the clock and not by a number of pauses: a pause takes 12 nanoseconds on some processors
/// and 60 on others. liten's time / tokio's in `versus -- sync` on a machine of the first kind, with the
/// first back-off as long as the others:
///
/// | back off for, ns | mpsc 16 to 1: time, processors | semaphore | broadcast | Notify |
/// |---|---|---|---|---|
/// | 94 | 1.02, 1.30 | 0.90 | 0.77 | 1.03 |
/// | 375 | 0.69, 0.85 | 0.62 | 0.71 | 0.80 |
/// | 750 | 0.58, 0.68 | 0.52 | 0.65 | 0.76 |
/// | 1500 | 0.51, 0.58 | 0.45 | 0.59 | 0.69 |
const BACKOFF: std::time::Duration = std::time::Duration::from_nanos(1_500);

/// The most readings of the clock in one back-off. [`BACKOFF`] takes some 20 readings; the limit matters only
/// if the clock does not advance.
const MOST_READINGS: u32 = 200;

/// Does nothing for the back-off before the look number `attempt`, counted from 0.
#[cold]
#[inline(never)]
pub(super) fn back_off(attempt: u32) {
    let length = if attempt == 0 { FIRST_BACKOFF } else { BACKOFF };
    let start = clock::now();
    // The limit ends the loop if the clock does not advance, as in a replay.
    for _ in 0..MOST_READINGS {
        (0..4).for_each(|_| std::hint::spin_loop());
        if clock::now().saturating_duration_since(start) >= length {
            return;
        }
    }
}

/// A place for a value that is made with `make` when it is first asked for.
pub(crate) fn made_later<T>(_make: impl FnOnce() -> T) -> std::sync::OnceLock<T> {
    std::sync::OnceLock::new()
}

pub(crate) use std::thread::{park_timeout, sleep as pause};

/// Calls `wait`, which blocks in the system for `limit` at most; its `true` says that something came.
pub(crate) fn block<E>(
    limit: Option<std::time::Duration>,
    mut wait: impl FnMut(Option<std::time::Duration>) -> Result<bool, E>,
) -> Result<(), E> {
    wait(limit).map(drop)
}
