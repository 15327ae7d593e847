//! The questions that the runtime asks about the calling thread: whether it is a worker, or polls a root; and
//! how a worker blocks in place.
//!
//! # Blocking in place
//!
//! A worker's task is about to block the thread, and says so beforehand.
//!
//! A poll that blocks without a word is noticed by the watchdog. Here nothing has to be noticed:
//!
//! 1. the worker marks its slot as blocked in place, and gives everything that it has queued to the queues
//!    that all look at, as one that leaves for good does (lifecycle.rs): it deactivates the slot, fences,
//!    and empties deques, next slot and channel;
//! 2. if no worker is parked and fewer than there should be are at work, a spare is started, within the bound
//!    of the spares. If the program has not set that bound, such a spare does not count: programs call
//!    `block_on` in a task in this way, in as many tasks as there are requests, and what they wait for may
//!    need a worker. Then the bound is the number of slots;
//! 3. the function runs in the role [`Role::BlockedInPlace`]: what it spawns goes to the injector, what it
//!    wakes to the tasks' home workers, and it may block in `block_on`;
//! 4. back again, also by a panic, the worker activates its slot and goes on with the poll.
//!
//! # Nothing is lost
//!
//! *What was queued here* is in the shared queues, and a worker is told of it as of any push from outside. *A
//! task whose home this is, woken meanwhile*, is pushed to the channel of an inactive slot. The pusher
//! pushes, fences and reads `active`; the worker deactivates, fences and empties the channel: either the
//! worker sees the push, or the pusher sees the inactive slot and moves the channel to the injector itself
//! (model `a_wake_while_the_worker_blocks_in_place_is_not_left_behind`). A pusher that reads `active` only
//! after the worker is back leaves the task to it: it is awake, and looks at its channel before its next task
//! (model `a_wake_that_ends_after_the_worker_is_back_reaches_the_worker`). *The poll itself* goes on: the
//! task is running all the time, and a wake of it is noted in its word.
//!
//! # Nothing is stuck
//!
//! A push from outside relies on workers that are awake only when none is parked, and a worker that blocks in
//! place is awake no longer. If no worker is parked, it asks for a spare. If one is parked, later pushes wake
//! that one. Two that begin to block at the same time count each other: each marks itself first, and they
//! look under one lock. If the bound is reached, the function runs all the same, and the tasks wait for the
//! worker that comes back first: that is what the bound is for. If a thread cannot be made, or all parked
//! workers get stuck later, the watchdog, to which a worker that blocks in place is not free, starts a spare
//! at one of its next looks. Spares stay as long as a worker blocks in place, and as many of them as block
//! run yielded tasks, like the workers in whose place they are.
//!
//! The watchdog may sleep while workers block in place. One that is back leaves their count, fences, and
//! wakes it, as one that leaves its park does.
//!
//! Rejected: handing the whole worker (deques, generator, counts) to another thread, as tokio does. It would
//! have to be moved out from under the poll that uses it, and taken back afterwards; the slot that is left
//! and entered again needs nothing that resizing does not need anyway.

use super::enqueue::{Role, play, with_role};
use super::probe::TaskEvent;
use super::shared::Shared;
use super::slots::Slot;
use super::worker::Worker;
use crate::engine::driver::Driver;
use crate::engine::slice::Slices;
use crate::engine::sync_shim::atomic::{Ordering, fence};
use crate::engine::sync_shim::{Arc, thread_local};
use crate::engine::task::cell::new_send_task;
use crate::engine::task::origin::Origin;
use crate::engine::task::{JoinHandle, RunningTask};
use std::cell::Cell;
use std::future::Future;
use std::ptr;

thread_local! {
    /// The address of the current runtime's scheduler: compared with the role's, never followed.
    static CURRENT: Cell<*const Shared> = const { Cell::new(ptr::null()) };
}

/// Tells which scheduler, if any, the calling thread's spawns go to from now on.
pub(crate) fn set_current(scheduler: Option<&Arc<Shared>>) {
    CURRENT.set(scheduler.map_or(ptr::null(), Arc::as_ptr));
}

/// The role of the calling thread in the scheduler that its spawns go to.
#[derive(Clone, Copy)]
pub(crate) enum Here<'a> {
    Worker(&'a Worker),
    /// A thread in `block_on`.
    Root(&'a Arc<Shared>),
}

/// Calls `f` with what the calling thread is to the scheduler that its spawns go to. `None`: nothing.
#[inline]
pub(crate) fn here<R>(f: impl FnOnce(Option<Here<'_>>) -> R) -> R {
    with_role(|role| {
        let here = match role {
            Some(Role::Worker(worker)) => Some(Here::Worker(worker)),
            Some(Role::Root(shared)) => Some(Here::Root(shared)),
            _ => None,
        };
        f(here.filter(|here| Arc::as_ptr(here.shared()) == CURRENT.get()))
    })
}

impl<'a> Here<'a> {
    #[inline]
    fn shared(self) -> &'a Arc<Shared> {
        match self {
            Here::Worker(worker) => worker.shared(),
            Here::Root(shared) => shared,
        }
    }

    /// Starts a task.
    #[inline]
    pub(crate) fn spawn<F>(self, future: F, origin: impl Origin) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (hot, join) = new_send_task(future, self.shared(), origin);
        match self {
            Here::Worker(worker) => worker.spawned(hot),
            Here::Root(shared) => shared.spawned_outside(hot),
        }
        join
    }

    /// The driver, and the index of the worker (`usize::MAX` for a root).
    #[inline]
    pub(crate) fn driver(self) -> (&'a Arc<Driver>, usize) {
        match self {
            Here::Worker(worker) => (&worker.shared().driver, worker.index()),
            Here::Root(shared) => (&shared.driver, usize::MAX),
        }
    }
}

/// Whether the calling thread polls or drops tasks, so that it must not block.
pub(crate) fn is_polling() -> bool {
    with_role(|role| matches!(role, Some(Role::Worker(_) | Role::Drainer)))
}

/// Which worker the calling thread is. `None` also while it blocks in place.
pub(crate) fn worker_index() -> Option<usize> {
    with_role(|role| role.and_then(Role::worker).map(Worker::index))
}

/// Calls `wake`, which may wake several tasks. On a worker they are queued one behind the other, and a peer
/// is notified once.
pub(crate) fn wake_together(wake: impl FnOnce()) {
    with_role(|role| match role {
        Some(Role::Worker(worker)) => worker.wake_together(wake),
        _ => wake(),
    })
}

/// Reports that a task of `shared` has panicked on the calling thread, which may be any.
pub(crate) fn report_panic(shared: &Shared, task: RunningTask) {
    if !shared.size.is_observed() {
        return;
    }
    let event = TaskEvent::Panicked(task);
    with_role(|role| match role.and_then(Role::worker) {
        Some(worker) if ptr::eq(worker.address(), shared) => worker.report_observed(event),
        _ => shared.report_event(event),
    });
}

/// Runs `f` (a loop that polls a root future), which spawns into `shared`.
pub(crate) fn enter_root<R>(shared: &Arc<Shared>, f: impl FnOnce() -> R) -> R {
    play(&Role::Root(shared.clone()), f)
}

/// Runs `f`, which may block the thread. If the thread is a worker, others do its work meanwhile.
pub(crate) fn block_in_place<R>(f: impl FnOnce() -> R) -> R {
    with_role(|role| match role {
        Some(Role::Worker(worker)) => {
            let _blocked = BlockedInPlace::begin(worker);
            play(&Role::BlockedInPlace, f)
        }
        _ => f(),
    })
}

/// Called before a process is started, which inherits the slices of the thread: a worker asks for usual ones.
#[allow(dead_code, reason = "only processes use it")]
pub(crate) fn before_process() {
    with_role(|role| {
        if let Some(Role::Worker(worker)) = role {
            worker.choose_slices(Slices::Usual);
        }
    });
}

/// Whether the calling thread is a worker that blocks in place.
pub(crate) fn is_blocked_in_place() -> bool {
    with_role(|role| matches!(role, Some(Role::BlockedInPlace)))
}

/// While this guard exists the worker is *blocked in place*: its task blocks the thread, and it has no
/// queues.
pub(super) struct BlockedInPlace<'a>(&'a Worker);

impl<'a> BlockedInPlace<'a> {
    pub(super) fn begin(worker: &'a Worker) -> Self {
        let shared = worker.shared();
        let blocked = Self(worker);
        shared.size.count_blocked();
        blocked.slot().set_blocked_in_place(true);
        shared.tell(worker.hand_over());
        shared.replace_blocked_worker();
        worker.choose_slices(Slices::Usual);
        blocked
    }

    fn slot(&self) -> &Slot {
        self.0.shared().slots.get(self.0.index())
    }
}

impl Drop for BlockedInPlace<'_> {
    fn drop(&mut self) {
        let shared = self.0.shared();
        self.slot().set_blocked_in_place(false);
        shared.size.uncount_blocked();
        self.0.back_from_place();
        self.slot().reactivate();
        // Ordering: SeqCst, Dekker with the watchdog, as in `Worker::end_park`.
        fence(Ordering::SeqCst);
        shared.rouse_watchdog();
    }
}

impl Shared {
    /// A worker blocks in place: starts a spare in its place if it takes one.
    fn replace_blocked_worker(self: &Arc<Self>) {
        // After the push, which may have claimed the last one.
        if self.idle.parked() != 0 {
            // A parked spare may have been a helper until now. It stands in for this worker, and takes
            // tasks that have yielded.
            if !self.queues.yielded.is_empty() {
                self.wake_regular(0);
            }
            return;
        }
        // The watchdog uses `try_lock`; here the thread may wait: its holder may be starting a spare for
        // another. Of the program's code only the function that names threads runs under this lock, and its
        // documentation says that it must not wait.
        let threads = self.threads.list.lock();
        let staying = self.size.staying();
        let blocked = |&index: &usize| self.slots.get(index).is_blocked_in_place();
        let at_work = staying - (0..staying).filter(blocked).count();
        // No worker is parked now either, and fewer are at work than there should be.
        if self.idle.parked() == 0 && at_work < self.size.regular() {
            // Without a thread the function runs all the same; the watchdog tries again.
            let _ = self.add_spare(threads);
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
