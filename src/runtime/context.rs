//! Which runtime the calling thread is in.

use super::handle::Handle;
use super::tokio_context;
use crate::engine::driver::{Driver, clock};
use crate::engine::scheduler;
use crate::engine::sync_shim::{self, Arc, thread_local};
use crate::engine::task::JoinHandle;
use crate::engine::words::NOTE;
use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::MutexGuard;
use std::time::Instant;

/// What to do about a call outside a runtime; one text for all of them.
pub(crate) const OUTSIDE: &str =
    "outside a runtime: use #[liten::main], Runtime::enter, or Handle::spawn";

thread_local! {
    static CURRENT: RefCell<Option<Handle>> = const { RefCell::new(None) };
}

/// Keeps a runtime the current one of the thread; made by [`Handle::enter`] and
/// [`Runtime::enter`](super::Runtime::enter).
///
/// Guards are dropped in the reverse order of their making, as local variables are.
/// A guard need not be dropped before the runtime: in `let _guard = builder.build()?.enter();` the runtime
/// ends with the statement, and the guard goes on showing it.
#[must_use = "the runtime is left when the guard is dropped"]
#[derive(Debug)]
pub struct EnterGuard<'a> {
    /// Before the next field, which leaves tokio's context: tokio panics over guards that go out of order.
    _entered: Entered,
    _tokio: tokio_context::Guard,
    handle: PhantomData<&'a Handle>,
}

/// The part of the guard that has a destructor. It knows no lifetime: with one, the compiler would insist
/// that the runtime outlives the guard.
#[derive(Debug)]
struct Entered {
    previous: Option<Handle>,
    /// Not Send: it restores a thread-local. Other threads may look at it.
    stays: PhantomData<MutexGuard<'static, ()>>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let previous = self.previous.take();
        scheduler::set_current(previous.as_ref().and_then(Handle::scheduler));
        // The handle that leaves may be the last one; it is dropped outside the borrow.
        let left = CURRENT.try_with(|current| current.replace(previous));
        drop(left);
    }
}

/// Makes `handle` the current one. The guard restores what was.
pub(crate) fn enter(handle: &Handle) -> EnterGuard<'_> {
    // A thread that is ending has no current runtime any more, and needs none.
    let previous =
        CURRENT.try_with(|current| current.replace(Some(handle.clone()))).unwrap_or(None);
    scheduler::set_current(handle.scheduler());
    let entered = Entered { previous, stays: PhantomData };
    EnterGuard { _entered: entered, _tokio: handle.inner.tokio.enter(), handle: PhantomData }
}

/// Returns whether the calling thread is in a runtime.
#[inline]
pub fn is_inside() -> bool {
    scheduler::spawns_here() || with(|handle| handle.is_some())
}

/// Calls `f` with the current handle. `None`: the thread is in no runtime, or is ending. `f` calls no
/// user code, which might enter a runtime.
pub(crate) fn with<R>(f: impl FnOnce(Option<&Handle>) -> R) -> R {
    let mut f = Some(f);
    let result = CURRENT.try_with(|current| {
        let f = f.take().expect("called once");
        f(current.borrow().as_ref())
    });
    result.unwrap_or_else(|_| f.take().expect("not called above")(None))
}

/// Whether the thread is ending, and its place for a current runtime is gone.
pub(crate) fn is_thread_ending() -> bool {
    CURRENT.try_with(|_| ()).is_err()
}

/// Returns the current handle.
///
/// # Panics
///
/// Outside a runtime, at the caller; `what` was called there.
#[track_caller]
pub(crate) fn expect(what: &str) -> Handle {
    match with(|handle| handle.cloned()) {
        Some(handle) => handle,
        None => panic!("{what} called {OUTSIDE}{NOTE}"),
    }
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

/// [`with_driver`] for a future that asks in its first poll: that has no caller to point at, so the message
/// says where the future was made.
#[inline]
pub(crate) fn with_driver_for<R>(
    made_at: &'static Location<'static>,
    f: impl FnOnce(&Arc<Driver>, usize) -> R,
) -> R {
    match try_with_driver(f) {
        Some(result) => result,
        None => panic!("I/O or timer polled {OUTSIDE} (it was made at {made_at}){NOTE}"),
    }
}

/// [`with_driver`] where being outside a runtime is no mistake: `None`, without calling `f`.
#[inline]
pub(crate) fn try_with_driver<R>(f: impl FnOnce(&Arc<Driver>, usize) -> R) -> Option<R> {
    if scheduler::spawns_here() {
        return Some(scheduler::with_driver_here(f));
    }
    with(|handle| handle.map(|handle| f(handle.driver(), usize::MAX)))
}

/// The moment it is now, on the clock of the current runtime; outside of a runtime, on the system's.
#[inline]
pub(crate) fn now() -> Instant {
    if clock::is_any_virtual() { now_here() } else { sync_shim::clock::now() }
}

#[cold]
fn now_here() -> Instant {
    with(|handle| handle.map(|handle| handle.driver().clock().now()))
        .unwrap_or_else(sync_shim::clock::now)
}

/// Calls `wake`, which may wake several tasks of a worker's queue as one.
pub(crate) fn wake_together(wake: impl FnOnce()) {
    scheduler::wake_together(wake);
}

/// Starts a task in the current runtime.
///
/// On a worker of that runtime the handle is not even cloned: its count is a line that all workers share.
/// Inlined down to the task's cell, so that the future is written there and nowhere else: a copy of what was
/// written just before, field by field, was a fifth of the time of a short spawn.
#[inline]
#[track_caller]
pub(crate) fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    if scheduler::spawns_here() {
        scheduler::spawn_here(future, Location::caller())
    } else {
        spawn_elsewhere(future)
    }
}

#[inline(never)]
#[track_caller]
fn spawn_elsewhere<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    expect("spawn").spawn(future)
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

/// As [`spawn_blocking`], for `who`; an error says why the pool has not taken `f`. If it has and `f`
/// `must_run`, it is run even if the runtime ends before its turn comes.
#[track_caller]
pub(crate) fn start_blocking<F, T>(who: &str, must_run: bool, f: F) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let (job, taken) = expect(who).start_blocking(f, must_run);
    taken.map(|()| job)
}
