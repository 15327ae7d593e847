//! What the runtime asks of the calling thread: whether it is a worker, or polls a root.

use super::enqueue::{Role, play, with_role};
use super::probe::TaskEvent;
use super::shared::Shared;
use super::worker::Worker;
use crate::engine::driver::Driver;
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

/// What the calling thread is to the scheduler that its spawns go to.
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
