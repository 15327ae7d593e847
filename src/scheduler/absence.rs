//! A worker that is away: its task is about to block the thread, and says so beforehand.
//!
//! A poll that blocks without a word is noticed by the monitor, after [`BLOCKED_AFTER`]. Here nothing has to
//! be noticed:
//!
//! 1. the worker marks its slot as away, and gives everything that it has queued to the injector, as one that
//!    leaves for good does (lifecycle.rs): it deactivates the slot, fences, and empties deque, next slot and
//!    channel;
//! 2. if nobody is parked and fewer workers than there should be are at work, a spare is started, within the
//!    bound of the spares;
//! 3. the function runs in the role [`Role::Away`]: what it spawns goes to the injector, what it wakes to the
//!    tasks' home workers, and it may block in `block_on`;
//! 4. back again, also by a panic, the worker activates its slot and goes on with the poll.
//!
//! # Nothing is lost
//!
//! *What was queued here* is in the injector, and the push is announced like any other from outside.
//! *A task whose home this is, woken meanwhile*, is pushed to the channel of an inactive slot. The pusher
//! pushes, fences and reads `active`; the worker deactivates, fences and empties the channel: either the
//! worker sees the push, or the pusher sees the inactive slot and moves the channel to the injector itself
//! (model `a_wake_beside_an_absence_is_not_left_behind`).
//! A pusher that reads `active` only after the worker is back leaves the task to it: it is awake, and looks
//! at its channel before its next task (model `a_wake_that_outlasts_an_absence_reaches_the_worker`).
//! *The poll itself* goes on: the task is running all the time, and a wake of it is noted in its word.
//!
//! # Nothing is stuck
//!
//! A push from outside relies on workers that are awake only when none is parked, and a worker that goes away
//! is awake no longer. So it asks for one in its place if none is parked. If one is, later pushes wake it.
//! Two that go away at the same time count each other: each marks itself first, and they look under one lock.
//! If the bound is reached, the function runs all the same, and the tasks wait for whoever comes back first:
//! that is what the bound is for. If a thread cannot be made, or all parked workers get stuck later, the
//! monitor, which takes a worker that is away for blocked, starts a spare at one of its next looks. Spares
//! stay as long as somebody is away.
//!
//! Rejected: handing the whole worker (deque, generator, counts) to another thread, as tokio does. It would
//! have to be moved out from under the poll that uses it, and taken back afterwards; the slot that is left
//! and entered again needs nothing that resizing does not need anyway.
//!
//! [`BLOCKED_AFTER`]: super::spares::BLOCKED_AFTER

use super::role::{self, Role};
use super::shared::Shared;
use super::slots::Slot;
use super::worker::Worker;
use crate::sync_shim::Arc;
use crate::sync_shim::atomic::Ordering;

/// Runs `f`, which may block the thread. If the thread is a worker, others do its work meanwhile.
pub(crate) fn step_aside<R>(f: impl FnOnce() -> R) -> R {
    role::with(|role| match role {
        Some(Role::Worker(worker)) => {
            let _absence = Absence::begin(worker);
            role::play(&Role::Away, f)
        }
        _ => f(),
    })
}

/// Whether the calling thread is a worker that has stepped aside.
pub(crate) fn is_away() -> bool {
    role::with(|role| matches!(role, Some(Role::Away)))
}

/// The time between leaving the queues and coming back to them.
struct Absence<'a>(&'a Worker);

impl<'a> Absence<'a> {
    fn begin(worker: &'a Worker) -> Self {
        let shared = worker.shared();
        let absence = Self(worker);
        absence.slot().set_away(true);
        if worker.hand_over() {
            shared.pushed_from_outside();
        }
        shared.replace_the_absent();
        absence
    }

    fn slot(&self) -> &Slot {
        self.0.shared().slots.get(self.0.index())
    }
}

impl Drop for Absence<'_> {
    fn drop(&mut self) {
        self.slot().set_away(false);
        self.slot().reactivate();
    }
}

impl Slot {
    fn set_away(&self, away: bool) {
        // Ordering: Relaxed: those who count the absent hold `threads`, and each has set its own mark before
        // it took that lock; for the monitor it is a hint.
        self.away.store(away, Ordering::Relaxed);
    }

    /// Whether its worker has stepped aside.
    pub(super) fn is_away(&self) -> bool {
        // Ordering: Relaxed, see `set_away`.
        self.away.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// A worker has stepped aside: starts a spare in its place if it takes one.
    fn replace_the_absent(self: &Arc<Self>) {
        // After the push, which may have claimed the last one.
        if self.idle.parked() != 0 {
            return;
        }
        // Not `try_lock`, as the monitor: nobody calls foreign code under this lock, and whoever holds it may
        // be starting a spare for somebody else.
        let threads = self.threads.lock();
        let staying = self.staying_workers();
        let absent = (0..staying).filter(|&index| self.slots.get(index).is_away()).count();
        if staying - absent < self.worker_count() {
            // Without a thread the function runs all the same; the monitor tries again.
            let _ = self.add_spare(threads);
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
