//! What the calling thread is to a scheduler: one of its workers, or one that blocks in place, one in
//! `block_on`, a dispatcher, one that drops the tasks of a closed runtime, or nothing.
//!
//! A wake or a spawn asks this first: it decides which queue the task goes to.

use super::enqueue::{Chains, Pusher};
use super::shared::Shared;
use super::worker::Worker;
use crate::engine::driver::Driver;
use crate::engine::recorder::Event;
use crate::engine::scoped::Scoped;
use crate::engine::sync_shim::{Arc, thread_local};
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::Hot;
use crate::engine::task::origin::Origin;
use crate::engine::task::{JoinHandle, RunningTask};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::ptr;

#[expect(
    clippy::large_enum_variant,
    reason = "a thread has one, and a box would be one load more per wake"
)]
pub(super) enum Role {
    Worker(Worker),
    /// A thread in `block_on`.
    Root(Arc<Shared>),
    Dispatcher(Dispatcher),
    /// A worker whose task blocks in place: it has no queues meanwhile.
    BlockedInPlace,
    /// A thread that drops the tasks of a closed runtime, and must not block on what others of them do.
    Drainer,
}

impl Role {
    /// The scheduler that this thread spawns into without a look at its handle.
    #[inline]
    fn shared(&self) -> Option<&Arc<Shared>> {
        match self {
            Role::Worker(worker) => Some(worker.shared()),
            Role::Root(shared) => Some(shared),
            Role::Dispatcher(_) | Role::BlockedInPlace | Role::Drainer => None,
        }
    }

    pub(super) fn worker(&self) -> Option<&Worker> {
        match self {
            Role::Worker(worker) => Some(worker),
            _ => None,
        }
    }

    /// Queues what this thread has spawned.
    pub(super) fn spawned(&self, task: Hot) {
        match self {
            Role::Worker(worker) => worker.spawned(task),
            Role::Root(shared) => shared.spawned_outside(task),
            Role::Dispatcher(_) | Role::BlockedInPlace | Role::Drainer => {
                unreachable!("it spawns nothing here: see `shared`")
            }
        }
    }
}

thread_local! {
    static ROLE: Scoped<Role> = const { Scoped::new() };
    /// The address of the current runtime's scheduler: compared with the role's, never followed.
    static CURRENT: Cell<*const Shared> = const { Cell::new(ptr::null()) };
}

/// Plays `role` on this thread while `f` runs.
pub(super) fn play<R>(role: &Role, f: impl FnOnce() -> R) -> R {
    Scoped::set(&ROLE, role, f)
}

/// Calls `f` with the thread's role. `None` also while the thread ends and its locals are gone.
#[inline]
pub(super) fn with<R>(f: impl FnOnce(Option<&Role>) -> R) -> R {
    Scoped::with(&ROLE, f)
}

/// Tells which scheduler, if any, the calling thread's spawns go to from now on.
pub(crate) fn set_current(scheduler: Option<&Arc<Shared>>) {
    CURRENT.set(scheduler.map_or(ptr::null(), Arc::as_ptr));
}

/// Whether the calling thread polls or drops tasks, so that it must not block.
pub(crate) fn is_polling() -> bool {
    with(|role| matches!(role, Some(Role::Worker(_) | Role::Drainer)))
}

/// Which worker the calling thread is. `None` also while it blocks in place.
pub(crate) fn worker_index() -> Option<usize> {
    with(|role| role.and_then(Role::worker).map(Worker::index))
}

/// Whether the calling thread is a worker or a root's of the scheduler that its spawns go to.
#[inline]
pub(crate) fn spawns_here() -> bool {
    let own = with(|role| role.and_then(Role::shared).map(Arc::as_ptr));
    own == Some(CURRENT.get())
}

/// Calls `wake`, which may wake several tasks. On a worker they are queued one behind the other, and a peer
/// is notified once.
pub(crate) fn wake_together(wake: impl FnOnce()) {
    with(|role| match role {
        Some(Role::Worker(worker)) => worker.wake_together(wake),
        _ => wake(),
    })
}

/// Starts a task in the scheduler that the calling thread is a worker of, or polls a root for.
#[inline]
pub(crate) fn spawn_here<F>(future: F, origin: impl Origin) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    with(|role| match role.and_then(|role| Some((role, role.shared()?))) {
        Some((role, shared)) => {
            let (hot, join) = new_send_task(future, shared, origin);
            role.spawned(hot);
            join
        }
        None => unreachable!("asked for only where `spawns_here` holds"),
    })
}

/// Calls `f` with the driver of the scheduler that the calling thread is a worker of, or polls a root for,
/// and the index of the worker (`usize::MAX` for a root).
#[inline]
pub(crate) fn with_driver_here<R>(f: impl FnOnce(&Arc<Driver>, usize) -> R) -> R {
    with(|role| match role {
        Some(Role::Worker(worker)) => f(&worker.shared().driver, worker.index()),
        Some(Role::Root(shared)) => f(&shared.driver, usize::MAX),
        _ => unreachable!("asked for only where `spawns_here` holds"),
    })
}

/// Records that a task of `shared` has panicked on the calling thread, which may be any.
pub(crate) fn note_panic(shared: &Shared, task: RunningTask) {
    let event = || Event::Panic(task);
    let is_noted = with(|role| match role.and_then(Role::worker) {
        Some(worker) if ptr::eq(worker.address(), shared) => worker.note_panic(event),
        _ => false,
    });
    if !is_noted {
        shared.recorder.note(event);
    }
}

/// Runs `f` (a loop that polls a root future), which spawns into `shared`.
pub(crate) fn enter_root<R>(shared: &Arc<Shared>, f: impl FnOnce() -> R) -> R {
    Scoped::set(&ROLE, &Role::Root(shared.clone()), f)
}

/// The driver thread while it calls the wakers of one round: collects the tasks per home worker and
/// sends each worker one chain. What has no home goes one by one.
pub(super) struct Dispatcher {
    shared: Arc<Shared>,
    chains: Chains,
}

impl Dispatcher {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        // A place for each home, so that the thread does not allocate when it first steps in.
        let chains = RefCell::new(Vec::with_capacity(shared.slots.workers()));
        Self { shared, chains }
    }

    pub(super) fn address(&self) -> *const Shared {
        Arc::as_ptr(&self.shared)
    }

    pub(super) fn woken(&self, task: Hot) {
        self.shared.recorder.note(|| Event::Wake(task.identity()));
        self.shared.enqueue(Pusher::Dispatcher(&self.chains), task);
    }

    /// Sends what was collected.
    pub(super) fn flush(&self) {
        self.shared.send(&self.chains);
    }
}
