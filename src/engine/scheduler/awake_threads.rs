//! How many threads of a runtime are awake, and how often that has changed, in one word.
//!
//! A paused clock jumps when all of them wait. Which threads count, and why nothing is runnable then, is said
//! in quiescence.rs for a runtime with workers, and in `runtime/current_thread.rs` for one without.
//!
//! # A thread that looks finds what is true at one moment
//!
//! It reads the word ([`AwakeThreads::read`]): no thread is awake. Then it looks at what else may be going
//! on. Then the word is unchanged: so no thread was awake in between, and what the look has found held
//! together.
//!
//! # The last one to sleep tells the thread that looks
//!
//! ```text
//!  sleeper: leave the count;  SeqCst fence;  is the clock stopped? then wake the driver
//!  looker:  stop the clock;   SeqCst fence;  read the count
//! ```
//!
//! One of the two sees the other.

use crate::engine::driver::Driver;
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering, fence};

/// The lower half of the word is the number of threads that are awake. The upper half counts how often that
/// number has changed.
pub(crate) struct AwakeThreads {
    word: AtomicU64,
    /// Woken when the last thread goes to sleep while the clock is stopped.
    driver: Arc<Driver>,
}

/// The part of a scheduler that is there if its clock may be paused.
pub(super) struct Quiescence {
    pub(super) awake: Arc<AwakeThreads>,
    /// Whether no blocking work is queued or being done.
    pub(super) no_work: Box<dyn Fn() -> bool + Send + Sync>,
}

const CHANGE: u64 = 1 << 32;
const AWAKE_MASK: u64 = CHANGE - 1;

impl AwakeThreads {
    pub(crate) fn new(driver: Arc<Driver>) -> Self {
        Self { word: AtomicU64::new(0), driver }
    }

    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// The caller is awake from now on, or has woken a thread.
    pub(crate) fn add(&self) {
        // Ordering: SeqCst, as all accesses to the word: the proof in quiescence.rs needs one order of these
        // and of the SeqCst fences in `look_for_quiescence`.
        self.word.fetch_add(CHANGE + 1, Ordering::SeqCst);
    }

    /// The caller is about to sleep, or to end.
    pub(crate) fn remove(&self) {
        if self.leave() {
            // Ordering: SeqCst fence, see the head of this file.
            fence(Ordering::SeqCst);
            if self.driver.clock().is_stopped() {
                self.driver.wake();
            }
        }
    }

    /// As [`AwakeThreads::remove`], by the thread that the last one would wake: it looks now. Returns whether
    /// it is the last one itself.
    pub(super) fn leave(&self) -> bool {
        // Ordering: SeqCst, see `add`.
        self.word.fetch_add(CHANGE - 1, Ordering::SeqCst) & AWAKE_MASK == 1
    }

    /// Reads the word if no thread is awake. To be compared with a later reading, which differs if one was
    /// awake meanwhile. The clock is stopped.
    pub(crate) fn read(&self) -> Option<u64> {
        // Ordering: SeqCst fence, see the head of this file, and `look_for_quiescence`, whose second reading
        // counts on it.
        fence(Ordering::SeqCst);
        // Ordering: SeqCst, see `add`.
        let word = self.word.load(Ordering::SeqCst);
        (word & AWAKE_MASK == 0).then_some(word)
    }
}
