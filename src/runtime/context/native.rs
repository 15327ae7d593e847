//! The current runtime, where there are threads. On a worker the thread-local of the scheduler answers,
//! without a touch of the [`Handle`].

use super::{Handle, expect, with};
use crate::engine::driver::Driver;
use crate::engine::scheduler::{self, Here};
use crate::engine::sync_shim::Arc;
use crate::engine::task::JoinHandle;
use crate::engine::task::origin::Origin;
use crate::engine::tokio_note::NOTE;
#[cfg(unix)]
use crate::runtime::latch::Latch;
use crate::runtime::tokio_context;
use std::future::Future;
use std::io;
use std::panic::Location;

/// What to do about a call outside a runtime; one text for all of them.
pub(crate) const OUTSIDE: &str =
    "outside a runtime: use #[liten::main], Runtime::enter, or Handle::spawn";

/// Leaves tokio's context when it is dropped.
pub(super) type Guard = tokio_context::Guard;

/// Tells the scheduler that `handle` is the current one now.
pub(super) fn set_current(handle: Option<&Handle>) {
    scheduler::set_current(handle.and_then(Handle::scheduler));
}

/// Enters tokio's context.
pub(super) fn enter_tokio(handle: &Handle) -> Guard {
    handle.inner.tokio.enter()
}

/// Returns whether the calling thread is in a runtime.
#[inline]
pub fn is_inside() -> bool {
    scheduler::here(|here| here.is_some()) || with(|handle| handle.is_some())
}

/// Returns the index of the worker that the calling thread is, if it is one; 0 on the thread that runs the
/// tasks of a runtime without workers.
///
/// `None` on a thread that calls `block_on` and runs no tasks there, on threads for blocking work and for
/// pinned tasks, inside [`block_in_place`](crate::task::block_in_place), and outside a runtime. The index is
/// what [`RuntimeMetrics`](crate::runtime::RuntimeMetrics) asks for; that of a spare worker, or of one that
/// is to leave, is above those of the regular workers.
///
/// # Examples
///
/// ```
/// use liten::runtime::{Runtime, worker_index};
///
/// let runtime = Runtime::new().unwrap();
/// assert_eq!(worker_index(), None);
/// assert!(runtime.block_on(runtime.spawn(async { worker_index() })).unwrap().is_some());
/// ```
pub fn worker_index() -> Option<usize> {
    with(|handle| handle.map_or_else(scheduler::worker_index, Handle::worker_index))
}

/// Calls `f` with the driver of the current runtime and the timer shard of this thread. `f` calls no
/// user code.
#[track_caller]
#[inline]
pub(crate) fn with_driver<R>(f: impl FnOnce(&Arc<Driver>, usize) -> R) -> R {
    match try_with_driver(f) {
        Some(result) => result,
        None => panic!("I/O or timer used {OUTSIDE}{NOTE}"),
    }
}

/// [`with_driver`] where being outside a runtime is no mistake: `None`, without calling `f`.
#[inline]
pub(crate) fn try_with_driver<R>(f: impl FnOnce(&Arc<Driver>, usize) -> R) -> Option<R> {
    scheduler::here(|here| match here.map(Here::driver) {
        Some((driver, worker)) => Some(f(driver, worker)),
        None => with(|handle| handle.map(|handle| f(handle.driver(), usize::MAX))),
    })
}

/// Calls `wake`, which may wake several tasks of a worker's queue as one.
pub(crate) fn wake_together(wake: impl FnOnce()) {
    scheduler::wake_together(wake);
}

/// Starts a task in the current runtime.
///
/// On a worker of that runtime the handle is not cloned: a clone would write its count of references, in a
/// cache line that all workers share.
/// Inlined down to the task's cell, so that the future is written there and nowhere else: a copy of what was
/// written just before, field by field, was a fifth of the time of a short spawn.
#[inline]
#[track_caller]
pub(crate) fn spawn<F>(future: F, origin: impl Origin) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    // Spawned outside of the closure if the thread is no worker: `#[track_caller]` does not reach into it.
    let spawned = scheduler::here(|here| match here {
        Some(here) => Ok(here.spawn(future, origin)),
        None => Err((future, origin)),
    });
    match spawned {
        Ok(join) => join,
        Err((future, origin)) => spawn_elsewhere(future, origin),
    }
}

#[inline(never)]
#[track_caller]
fn spawn_elsewhere<F>(future: F, origin: impl Origin) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    expect("spawn").spawn_from(future, origin)
}

/// Runs `f` on the blocking pool of the current runtime.
#[track_caller]
pub(crate) fn spawn_blocking<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    expect("spawn_blocking").spawn_blocking(f)
}

/// Set when the current runtime begins to end. `None`: the thread is in none.
#[cfg(unix)]
pub(crate) fn ending() -> Option<Arc<Latch>> {
    with(|handle| handle.map(|handle| handle.inner.ending.clone()))
}

/// As [`spawn_blocking`], for the function `what`; an error says why the pool has not taken `f`. If it has
/// and `f` `must_run`, it is run even if the runtime ends before its turn comes.
#[track_caller]
pub(crate) fn start_blocking<F, T>(what: &str, must_run: bool, f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (job, taken) = expect(what).start_blocking(f, must_run, Location::caller());
    taken.map(|()| job)
}
