//! What the workers and the watchdog tell each other.
//!
//! `blocked_polls` and `slow_polls` are statistics: all their accesses are Relaxed, and nothing else is read
//! because of them.

use crate::engine::driver::Driver;
use crate::engine::park::{Unpark, Unparker};
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::OnceLock;

/// What the workers know of the watchdog.
pub(in crate::engine::scheduler) struct WatchdogFlags {
    /// The thread sleeps without a limit, or has not been started.
    pub(in crate::engine::scheduler) asleep: AtomicBool,
    pub(in crate::engine::scheduler) unparker: OnceLock<Unparker>,
    /// Polls that blocked their worker while no other worker was free.
    pub(in crate::engine::scheduler) blocked_polls: AtomicU64,
    /// Polls that were slow, whether or not other workers were free.
    pub(in crate::engine::scheduler) slow_polls: AtomicU64,
    /// Workers that move take what is queued at those that do not.
    pub(in crate::engine::scheduler) rescue: AtomicBool,
    /// All regular workers have been stuck for long: spares run what has yielded, too.
    pub(in crate::engine::scheduler) spares_take_all: AtomicBool,
}

impl WatchdogFlags {
    pub(in crate::engine::scheduler) fn new() -> Self {
        Self {
            // As good as asleep: it is not there yet.
            asleep: AtomicBool::new(true),
            unparker: OnceLock::new(),
            blocked_polls: AtomicU64::new(0),
            slow_polls: AtomicU64::new(0),
            rescue: AtomicBool::new(false),
            spares_take_all: AtomicBool::new(false),
        }
    }

    /// Whether the thread has started, so that it will look.
    pub(in crate::engine::scheduler) fn is_there(&self) -> bool {
        self.unparker.get().is_some()
    }

    pub(in crate::engine::scheduler) fn blocked_polls(&self) -> u64 {
        // Ordering: Relaxed, a number for people.
        self.blocked_polls.load(Ordering::Relaxed)
    }

    pub(in crate::engine::scheduler) fn slow_polls(&self) -> u64 {
        // Ordering: Relaxed, a number for people.
        self.slow_polls.load(Ordering::Relaxed)
    }

    /// Wakes the thread, on its own or in the seat; if it is awake its next sleep ends at once.
    pub(in crate::engine::scheduler) fn wake(&self, driver: &Driver) {
        let unpark = self.unparker.get().map(Unparker::unpark);
        if unpark == Some(Unpark::Poller) {
            driver.wake();
        }
    }

    /// Asked by a worker that looks outside: whether it is to take what is queued at stalled workers. Said to
    /// one worker.
    pub(in crate::engine::scheduler) fn take_rescue(&self) -> bool {
        // Ordering: Relaxed, a hint that `call_for_rescue` writes; the queues order what is taken. Read
        // first: mostly it is false.
        self.rescue.load(Ordering::Relaxed) && self.rescue.swap(false, Ordering::Relaxed)
    }

    /// Whether spares run what has yielded, too.
    pub(in crate::engine::scheduler) fn spares_take_all(&self) -> bool {
        // Ordering: Relaxed: `WatchdogThread::look` stores it each time. A spare that reads an old value is
        // right after the next look.
        self.spares_take_all.load(Ordering::Relaxed)
    }
}
