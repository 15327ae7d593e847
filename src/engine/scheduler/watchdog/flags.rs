//! What the workers and the watchdog tell each other.

use crate::engine::driver::Driver;
use crate::engine::park::{Unpark, Unparker};
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;

/// What the workers know of the watchdog.
pub(in crate::engine::scheduler) struct WatchdogFlags {
    /// The thread sleeps without a limit, or has not been started.
    asleep: AtomicBool,
    unparker: OnceLock<Unparker>,
    /// One worker that moves is to take what is queued at those that do not.
    rescue: AtomicBool,
    /// All regular workers have been stuck for long: spares run tasks that have yielded, too.
    spares_take_all: AtomicBool,
    /// Workers time polls.
    polls_are_long: AtomicBool,
}

impl WatchdogFlags {
    pub(in crate::engine::scheduler) fn new() -> Self {
        Self {
            // As good as asleep: it is not there yet.
            asleep: AtomicBool::new(true),
            unparker: OnceLock::new(),
            rescue: AtomicBool::new(false),
            spares_take_all: AtomicBool::new(false),
            polls_are_long: AtomicBool::new(false),
        }
    }

    /// The calling thread becomes the watchdog, which `unparker` wakes.
    pub(in crate::engine::scheduler) fn set_unparker(&self, unparker: Unparker) {
        assert!(self.unparker.set(unparker).is_ok(), "a scheduler has one watchdog");
    }

    /// Whether the thread has started, so that it will look.
    pub(in crate::engine::scheduler) fn is_there(&self) -> bool {
        self.unparker.get().is_some()
    }

    /// Says that the thread sleeps from now on, unless its last look, which follows a fence, keeps it awake.
    pub(super) fn fall_asleep(&self) {
        // Ordering: Release pairs with the Acquire in `take_asleep`.
        self.asleep.store(true, Ordering::Release);
    }

    /// Says that the thread is awake.
    pub(super) fn end_sleep(&self) {
        // Ordering: Relaxed; while the thread lives, only the thread itself stores `true`.
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Whether no worker has roused the thread since it said that it sleeps. To be asked by the thread.
    pub(super) fn is_asleep(&self) -> bool {
        // Ordering: Relaxed, a hint that `take_asleep` writes: the thread does something that can wait.
        self.asleep.load(Ordering::Relaxed)
    }

    /// Whether the thread sleeps, or has not been started. Says so to one caller, which wakes or starts it.
    ///
    /// The caller has executed a SeqCst fence after what it wants the thread to see.
    #[inline]
    pub(in crate::engine::scheduler) fn take_asleep(&self) -> bool {
        // Ordering: Relaxed, after the caller's fence; the swap picks one caller. Acquire pairs with the
        // Release in `fall_asleep`: the unparker is seen.
        self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::Acquire)
    }

    /// The thread could not be started: the next caller of `take_asleep` tries again.
    pub(super) fn start_failed(&self) {
        // Ordering: Relaxed: without the thread there is no unparker to be seen.
        self.asleep.store(true, Ordering::Relaxed);
    }

    /// Wakes the thread, on its own or in the seat; if it is awake its next sleep ends at once.
    pub(in crate::engine::scheduler) fn wake(&self, driver: &Driver) {
        let unpark = self.unparker.get().map(Unparker::unpark);
        if unpark == Some(Unpark::Poller) {
            driver.wake();
        }
    }

    /// Tells one worker to take what is queued at stalled workers.
    pub(in crate::engine::scheduler) fn order_rescue(&self) {
        // Ordering: Relaxed, see `take_rescue`.
        self.rescue.store(true, Ordering::Relaxed);
    }

    /// Asked by a worker that looks for shared work: whether it is to take what is queued at stalled workers.
    /// Said to one worker.
    pub(in crate::engine::scheduler) fn take_rescue(&self) -> bool {
        // Ordering: Relaxed, a hint that `order_rescue` writes; the queues order what is taken. Read
        // first: mostly it is false.
        self.rescue.load(Ordering::Relaxed) && self.rescue.swap(false, Ordering::Relaxed)
    }

    /// Says at each look whether spares run tasks that have yielded, too.
    pub(super) fn set_spares_take_all(&self, all: bool) {
        // Ordering: Relaxed: the wakes that follow order it for the spares that they wake.
        self.spares_take_all.store(all, Ordering::Relaxed);
    }

    /// Says at each look whether workers time polls.
    pub(super) fn set_polls_are_long(&self, are_long: bool) {
        // Ordering: Relaxed, see `polls_are_long`.
        self.polls_are_long.store(are_long, Ordering::Relaxed);
    }

    /// Asked by a worker at each fair turn: whether it times polls until the next one.
    pub(in crate::engine::scheduler) fn polls_are_long(&self) -> bool {
        // Ordering: Relaxed, stored by `set_polls_are_long`: it decides about the order of tasks alone.
        self.polls_are_long.load(Ordering::Relaxed)
    }

    /// Whether spares run tasks that have yielded, too.
    pub(in crate::engine::scheduler) fn spares_take_all(&self) -> bool {
        // Ordering: Relaxed: it is stored at each look. A spare that reads an old value is right after the
        // next one.
        self.spares_take_all.load(Ordering::Relaxed)
    }
}
