//! Counts the threads that are awake: how a runtime whose clock stands still knows that it has nothing to do.
//!
//! Only runtimes that were built with such a clock count; for all others it is a branch per park. They count
//! from their first thread on, because a count that begins in the middle would have to stop all threads
//! first.
//!
//! A worker counts as awake except while it sleeps, in its parker or in the seat; a root, as long as its
//! `block_on` lasts, except from the moment it lies down to the wake that ends that; the driver thread while
//! it handles events. The last thread that goes to sleep wakes the holder of the seat, which asks
//! (`Shared::settle`).
//!
//! # Why nothing is runnable when the answer is yes
//!
//! The word counts the threads that are awake, and each coming and going. The holder reads the word (no
//! thread is awake), then that no blocking work is there, then that no event is there, then that all queues
//! are empty, then the word again, unchanged: so no thread was awake from the first reading to the last. Work
//! that ends before the second step has queued before what it woke; nothing is pushed after it, except by
//! threads that the runtime does not know. What work, or a thread that goes to sleep before the first step,
//! has written to a socket is an event at the third. A worker that has been woken and does not count yet has
//! been woken for something that still lies in a queue, where the fourth step sees it. A root has no queue,
//! so its waker counts it (`Presence`).
//!
//! Models: `quiescence/loom.rs`.

use super::shared::Shared;
use crate::engine::driver::seat::SeatGuard;
use crate::engine::park::Parker;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering, fence};
use crate::engine::sync_shim::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

/// How many are awake in the lower half, how often that has changed in the upper.
pub(crate) struct AwakeThreads {
    word: AtomicU64,
    /// Whether no blocking work is queued or being done.
    at_rest: Box<dyn Fn() -> bool + Send + Sync>,
}

const CHANGE: u64 = 1 << 32;
const AWAKE: u64 = CHANGE - 1;

/// How long a future waits for a moment at which everything waits, if there is none.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);

impl AwakeThreads {
    fn come(&self) {
        // Ordering: SeqCst, with all other accesses to the word: the proof is about one order of them.
        self.word.fetch_add(CHANGE + 1, Ordering::SeqCst);
    }

    /// `true`: it was the last one.
    fn go(&self) -> bool {
        // Ordering: as above.
        self.word.fetch_add(CHANGE - 1, Ordering::SeqCst) & AWAKE == 1
    }

    /// The whole word, to be compared with a later reading.
    fn read(&self) -> u64 {
        // Ordering: as above.
        self.word.load(Ordering::SeqCst)
    }
}

impl Shared {
    /// Begins to count the threads that are awake; called before the first thread starts.
    pub(crate) fn count_threads(&self, at_rest: impl Fn() -> bool + Send + Sync + 'static) {
        let awake = AwakeThreads { word: AtomicU64::new(0), at_rest: Box::new(at_rest) };
        assert!(self.awake_threads.set(awake).is_ok(), "begun once");
    }

    pub(crate) fn counts_threads(&self) -> bool {
        self.awake_threads.get().is_some()
    }

    /// The caller is awake from now on, or has woken a thread.
    pub(super) fn comes(&self) {
        if let Some(awake) = self.awake_threads.get() {
            awake.come();
        }
    }

    /// The caller is about to sleep, or to end.
    pub(super) fn goes(&self) {
        if let Some(awake) = self.awake_threads.get() {
            if awake.go() && self.driver.clock().is_stopped() {
                self.driver.wake();
            }
        }
    }

    /// A turn of the driver by a thread that is awake and has nothing else to do.
    pub(super) fn turn(
        &self,
        seat: &mut SeatGuard<'_>,
        limit: Option<Duration>,
        wakes: &mut Vec<Waker>,
    ) {
        match self.awake_threads.get() {
            None => seat.turn(limit, wakes),
            Some(awake) => {
                // Not `goes`, which would wake this very thread.
                awake.go();
                if self.driver.clock().is_stopped() {
                    self.settle(awake, seat, wakes);
                }
                if wakes.is_empty() {
                    seat.turn(limit, wakes);
                }
                awake.come();
            }
        }
    }

    /// Called by the holder of the seat: if everything waits, tells the futures that wait for that, or lets
    /// the time jump.
    #[cold]
    fn settle(&self, awake: &AwakeThreads, seat: &mut SeatGuard<'_>, wakes: &mut Vec<Waker>) {
        let seen = awake.read();
        if seen & AWAKE != 0 {
            return;
        }
        let at_rest = (awake.at_rest)();
        // After both, which may come to rest only now, with an event left behind.
        seat.turn(Some(Duration::ZERO), wakes);
        if !wakes.is_empty() {
            return;
        }
        // Ordering: SeqCst, between the word and the queues, as for a look before a park.
        fence(Ordering::SeqCst);
        if self.has_work() {
            return;
        }
        // Ordering: SeqCst, between the queues and the word. A channel is looked at with Relaxed: a thread
        // that sees it emptied by a worker, which has come and executed a fence before (`awake`), sees that
        // it has come.
        fence(Ordering::SeqCst);
        if awake.read() == seen {
            self.driver.idle(at_rest, wakes);
        }
    }

    /// Whether a future waits for everything to wait: the watchdog does not sleep meanwhile.
    pub(super) fn is_quiescent_point_awaited(&self) -> bool {
        self.counts_threads() && self.driver.quiescent_points().is_awaited()
    }

    /// A future has begun to wait for everything to wait.
    pub(crate) fn begin_quiescent_wait(&self) {
        self.driver.wake();
        self.watchdog.wake(&self.driver);
    }
}

/// Counts the roots that are awake.
pub(crate) trait CountsRoots: Send + Sync {
    /// One is awake from now on.
    fn comes(&self);

    /// One is about to sleep, or has ended.
    fn goes(&self);
}

impl CountsRoots for Shared {
    fn comes(&self) {
        Shared::comes(self);
    }

    fn goes(&self) {
        Shared::goes(self);
    }
}

/// Whether a root is awake. It is moved from "rests" to "awake" by the thread that wakes it, which also
/// counts it: the root's own thread may be slow to wake up.
///
/// Under a lock, as the wake and the count have to be one step. Otherwise the root may run and lie down again
/// between the two, and be counted as awake in its sleep.
pub(crate) struct Presence {
    counter: Arc<dyn CountsRoots>,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Awake,
    Rests,
    Over,
}

impl Presence {
    /// For a root that begins; `None` if the runtime does not count.
    pub(crate) fn begin(shared: &Arc<Shared>) -> Option<Arc<Self>> {
        shared.counts_threads().then(|| Self::counted_by(shared.clone()))
    }

    /// For a root that begins.
    pub(crate) fn counted_by(counter: Arc<dyn CountsRoots>) -> Arc<Self> {
        counter.comes();
        Arc::new(Self { counter, state: Mutex::new(State::Awake) })
    }

    /// Calls `unpark`, which wakes the root's thread.
    pub(crate) fn wake(&self, unpark: impl FnOnce()) {
        let mut state = self.state.lock();
        unpark();
        self.rises(&mut state);
    }

    /// By the root's thread: sleeps, as [`Parker::park`].
    pub(crate) fn rest(&self, parker: &Parker) {
        {
            let mut state = self.state.lock();
            // A wake that comes later finds that it rests.
            if !parker.is_notified() {
                *state = State::Rests;
                self.counter.goes();
            }
        }
        parker.park();
        self.rises(&mut self.state.lock());
    }

    fn rises(&self, state: &mut State) {
        if *state == State::Rests {
            *state = State::Awake;
            self.counter.comes();
        }
    }

    /// The root is done; wakes that come later count for nothing.
    pub(crate) fn end(&self) {
        let before = std::mem::replace(&mut *self.state.lock(), State::Over);
        if before == State::Awake {
            self.counter.goes();
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
