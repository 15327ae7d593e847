//! What the calling thread is to a scheduler: one of its workers, or one that blocks in place, a guest in
//! `block_on`, a dispatcher, or nothing.
//!
//! A wake or a spawn asks this first: it decides which queue the task goes to.

use super::enqueue::Chains;
use super::origin::{Origin, Pusher};
use super::own_queues::OwnQueues;
use super::shared::Shared;
use super::worker::Worker;
use crate::engine::driver::Driver;
use crate::engine::scoped::Scoped;
use crate::engine::sync_shim::{Arc, thread_local};
use crate::engine::task::JoinHandle;
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::Hot;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::iter;
use std::panic::Location;
use std::ptr;

pub(super) enum Role {
    Worker(Worker),
    Guest(Guest),
    Dispatcher(Dispatcher),
    /// A worker whose task blocks in place: it has no queues meanwhile.
    BlockedInPlace,
    /// A thread that drops the tasks of a closed runtime, and must not block on what others of them do.
    Drainer,
}

impl Role {
    /// The scheduler that this thread's spawns go to the queue of.
    #[inline]
    fn shared(&self) -> Option<&Arc<Shared>> {
        match self {
            Role::Worker(worker) => Some(worker.shared()),
            Role::Guest(guest) => Some(&guest.shared),
            Role::Dispatcher(_) | Role::BlockedInPlace | Role::Drainer => None,
        }
    }

    pub(super) fn worker(&self) -> Option<&Worker> {
        match self {
            Role::Worker(worker) => Some(worker),
            _ => None,
        }
    }

    /// Whether what this thread spawns into `shared` goes to a queue of its own.
    pub(super) fn spawns_into(&self, shared: &Arc<Shared>) -> bool {
        self.shared().is_some_and(|own| Arc::ptr_eq(own, shared))
    }

    /// Queues what this thread has spawned.
    pub(super) fn spawned(&self, task: Hot) {
        match self {
            Role::Worker(worker) => worker.spawned(task),
            Role::Guest(guest) => guest.spawned(task),
            Role::Dispatcher(_) | Role::BlockedInPlace | Role::Drainer => {
                unreachable!("it has no queue: see `shared`")
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
    ROLE.with(|slot| slot.set(role, f))
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

/// Whether the calling thread is a worker or a guest of the scheduler that its spawns go to.
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

/// Starts a task in the scheduler that the calling thread is a worker or a guest of.
#[inline]
pub(crate) fn spawn_here<F>(
    future: F,
    spawned_at: &'static Location<'static>,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    with(|role| match role.and_then(|role| Some((role, role.shared()?))) {
        Some((role, shared)) => {
            let (hot, join) = new_send_task(future, shared, spawned_at);
            role.spawned(hot);
            join
        }
        None => unreachable!("asked for only where `spawns_here` holds"),
    })
}

/// Calls `f` with the driver of the scheduler that the calling thread is a worker or a guest of, and the
/// index of the worker (`usize::MAX` for a guest).
#[inline]
pub(crate) fn with_driver_here<R>(f: impl FnOnce(&Arc<Driver>, usize) -> R) -> R {
    with(|role| match role {
        Some(Role::Worker(worker)) => f(&worker.shared().driver, worker.index()),
        Some(Role::Guest(guest)) => f(&guest.shared.driver, usize::MAX),
        _ => unreachable!("asked for only where `spawns_here` holds"),
    })
}

/// Runs `f` (a loop that polls a root future) as a guest of `shared`, so that what it spawns is
/// stealable at once.
pub(crate) fn enter_guest<R>(shared: &Arc<Shared>, f: impl FnOnce() -> R) -> R {
    match Guest::enter(shared) {
        Some(guest) => play(&Role::Guest(guest), f),
        None => f(),
    }
}

/// A thread in `block_on`, with a deque that thieves see.
pub(super) struct Guest {
    shared: Arc<Shared>,
    /// Taken by drop only.
    own: Option<OwnQueues>,
}

impl Guest {
    /// `None`: all guest slots are taken, spawns go to the injector instead.
    pub(super) fn enter(shared: &Arc<Shared>) -> Option<Self> {
        let own = OwnQueues::new(shared, shared.slots.take_guest()?);
        Some(Self { shared: shared.clone(), own: Some(own) })
    }

    /// Queues what the root future has spawned. It is visible to thieves, and a worker is awake to see
    /// it, when this returns: the root may block the thread next.
    pub(super) fn spawned(&self, task: Hot) {
        let own = self.own.as_ref().expect("taken by drop only");
        own.slot.stats.spawned.add(1);
        self.shared.spawned(Pusher::Guest(own), task);
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let own = self.own.take().expect("taken here only");
        let (shared, index) = (&self.shared, own.index);
        let notice = shared.abandon(iter::from_fn(|| own.ready.pop()), iter::empty());
        own.leave();
        shared.slots.release_guest(index);
        shared.tell(notice);
    }
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
        self.shared.enqueue(Pusher::Dispatcher(&self.chains), task, Origin::Woken);
    }

    /// Sends what was collected.
    pub(super) fn flush(&self) {
        self.shared.send(&self.chains);
    }
}
