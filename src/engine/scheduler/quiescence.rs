//! Counts the threads that are awake: how a runtime whose clock is paused knows that it has nothing to do.
//!
//! Only runtimes that were built with a paused clock count; all others pay for a branch per park. A runtime
//! counts from its first thread on: to begin later, it would have to stop all threads first.
//!
//! | thread | counts as awake |
//! |---|---|
//! | a worker | except while it sleeps, in its parker or in the seat |
//! | the thread of a surplus worker | until it rests; when it is called back, its tasks are queued |
//! | a thread that drains in place of stuck workers | no: the clock has no meaning any more |
//! | a root, the thread in `block_on` | except from the beginning of its sleep to the wake that ends it |
//! | the driver thread | while it handles events |
//!
//! The last thread that goes to sleep wakes the holder of the seat. The holder then looks whether everything
//! waits (`Shared::look_for_quiescence`).
//!
//! # Why nothing is runnable when the holder finds that everything waits
//!
//! One word has the number of threads that are awake, and how often that number has changed. The holder
//!
//! 1. reads the word: no thread is awake;
//! 2. asks whether blocking work is queued or running: if so, the futures that wait for a quiescent point are
//!    woken all the same, and only the jump of the clock is left out;
//! 3. sees that the poller has no event;
//! 4. sees that all queues are empty;
//! 5. reads the word again: it is unchanged, so no thread was awake from step 1 to step 5.
//!
//! *Blocking work* that ended before step 2 had queued the tasks that it woke before that, so step 4 sees
//! them. Later only threads that the runtime does not know can queue a task. *Bytes* that blocking work has
//! written to a socket, or a thread that went to sleep before step 1, are an event at step 3. *A worker* that
//! has been woken, and does not count as awake yet, was woken for a task that is still queued: step 4 sees
//! it. *A root* has no queue, so the thread that wakes it counts it (`Presence`).
//!
//! Models: `quiescence/loom.rs`.

use super::awake_threads::{AwakeThreads, Quiescence};
use super::shared::Shared;
use crate::engine::driver::SeatGuard;
use crate::engine::park::Parker;
use crate::engine::sync_shim::atomic::{Ordering, fence};
use crate::engine::sync_shim::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

impl Shared {
    /// Begins to count the threads that are awake; called before the first thread starts.
    pub(crate) fn count_threads(&self, no_work: impl Fn() -> bool + Send + Sync + 'static) {
        let awake = Arc::new(AwakeThreads::new(self.driver.clone()));
        let quiescence = Quiescence { awake, no_work: Box::new(no_work) };
        assert!(self.quiescence.set(quiescence).is_ok(), "begun once");
    }

    pub(crate) fn counts_threads(&self) -> bool {
        self.quiescence.get().is_some()
    }

    /// The caller is awake from now on, or has woken a thread.
    pub(super) fn add_awake(&self) {
        if let Some(Quiescence { awake, .. }) = self.quiescence.get() {
            awake.add();
        }
    }

    /// The caller is about to sleep, or to end.
    pub(super) fn remove_awake(&self) {
        if let Some(Quiescence { awake, .. }) = self.quiescence.get() {
            awake.remove();
        }
    }

    /// A turn of the driver by a thread that is awake and has nothing else to do.
    pub(super) fn turn(
        &self,
        seat: &mut SeatGuard<'_>,
        limit: Option<Duration>,
        wakes: &mut Vec<Waker>,
    ) {
        match self.quiescence.get() {
            None => seat.turn(limit, wakes),
            Some(quiescence) => {
                let awake = &quiescence.awake;
                let _ = awake.leave();
                if self.driver.clock().is_stopped() {
                    self.look_for_quiescence(quiescence, seat, wakes);
                }
                if wakes.is_empty() {
                    seat.turn(limit, wakes);
                }
                awake.add();
            }
        }
    }

    /// Called by the holder of the seat: if everything waits, tells the futures that wait for that, or lets
    /// the time jump.
    #[cold]
    fn look_for_quiescence(
        &self,
        quiescence: &Quiescence,
        seat: &mut SeatGuard<'_>,
        wakes: &mut Vec<Waker>,
    ) {
        let Quiescence { awake, no_work } = quiescence;
        let seen = awake.read();
        if seen.is_none() {
            return;
        }
        let no_work = no_work();
        // After the count and the question: what has become idle only now may have left an event behind.
        seat.turn(Some(Duration::ZERO), wakes);
        if !wakes.is_empty() {
            return;
        }
        // Ordering: SeqCst, between the word and the queues, as before the last look in `Worker::sleep`.
        fence(Ordering::SeqCst);
        if self.has_work() {
            return;
        }
        // Ordering: `read` begins with a SeqCst fence, here between the queues and the word. A channel is
        // looked at with Relaxed. If this thread sees that a worker has emptied one, it also sees that this
        // worker counts as awake: the worker was counted, and executed a fence (`end_park`), before it
        // emptied anything.
        if awake.read() == seen {
            self.driver.begin_quiescent_point(no_work, wakes);
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

/// Whether a root is awake.
///
/// The thread that wakes the root counts it as awake, because the root's own thread may be slow to wake up.
///
/// The lock makes the wake and the count one step. Without it the root could run and fall asleep again
/// between the two, and would be counted as awake while it sleeps.
pub(crate) struct Presence {
    awake: Arc<AwakeThreads>,
    state: Mutex<RootState>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RootState {
    Awake,
    Parked,
    Over,
}

impl Presence {
    /// For a root that begins; `None` if the runtime does not count.
    pub(crate) fn begin(shared: &Arc<Shared>) -> Option<Arc<Self>> {
        shared.quiescence.get().map(|it| Self::counted_by(it.awake.clone()))
    }

    /// For a root that begins.
    pub(crate) fn counted_by(awake: Arc<AwakeThreads>) -> Arc<Self> {
        awake.add();
        Arc::new(Self { awake, state: Mutex::new(RootState::Awake) })
    }

    /// Calls `unpark`, which wakes the root's thread.
    pub(crate) fn wake(&self, unpark: impl FnOnce()) {
        let mut state = self.state.lock();
        unpark();
        self.count_awake(&mut state);
    }

    /// By the root's thread: sleeps, as [`Parker::park`].
    pub(crate) fn park(&self, parker: &Parker) {
        {
            let mut state = self.state.lock();
            // A wake that comes later finds that it is parked.
            if !parker.is_notified() {
                *state = RootState::Parked;
                self.awake.remove();
            }
        }
        parker.park();
        self.count_awake(&mut self.state.lock());
    }

    fn count_awake(&self, state: &mut RootState) {
        if *state == RootState::Parked {
            *state = RootState::Awake;
            self.awake.add();
        }
    }

    /// The root is done; wakes that come later count for nothing.
    pub(crate) fn end(&self) {
        let before = std::mem::replace(&mut *self.state.lock(), RootState::Over);
        if before == RootState::Awake {
            self.awake.remove();
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
