//! How many threads are awake, and how often that has changed, in one word. For what: quiescence.rs.

use super::count::Remaining;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};

/// The lower half of the word is the number of threads that are awake. The upper half counts how often that
/// number has changed.
pub(super) struct AwakeThreads {
    word: AtomicU64,
    /// Whether no blocking work is queued or being done.
    pub(super) no_work: Box<dyn Fn() -> bool + Send + Sync>,
}

const CHANGE: u64 = 1 << 32;
pub(super) const AWAKE_MASK: u64 = CHANGE - 1;

impl AwakeThreads {
    pub(super) fn new(no_work: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { word: AtomicU64::new(0), no_work: Box::new(no_work) }
    }

    pub(super) fn add(&self) {
        // Ordering: SeqCst, as all accesses to the word: the proof in quiescence.rs needs one order of these
        // and of the SeqCst fences in `look_for_quiescence`.
        self.word.fetch_add(CHANGE + 1, Ordering::SeqCst);
    }

    pub(super) fn remove(&self) -> Remaining {
        // Ordering: SeqCst, see `add`.
        Remaining::of_before(self.word.fetch_add(CHANGE - 1, Ordering::SeqCst) & AWAKE_MASK)
    }

    /// The whole word, to be compared with a later reading.
    pub(super) fn read(&self) -> u64 {
        // Ordering: SeqCst, see `add`.
        self.word.load(Ordering::SeqCst)
    }
}
