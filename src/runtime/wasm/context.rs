//! Which runtime the thread is in.

use super::handle::Handle;
use crate::engine::driver::{Driver, clock};
use crate::engine::sync_shim::{self, Arc, thread_local};
use crate::engine::task::JoinHandle;
use std::cell::RefCell;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::time::Instant;

/// What to do about a call outside a runtime; one text for all of them.
pub(crate) const OUTSIDE: &str =
    "outside a runtime: use #[liten::main], liten::wasi::block_on, or LocalRuntime::block_on";

thread_local! {
    static CURRENT: RefCell<Option<Handle>> = const { RefCell::new(None) };
}

/// Keeps a runtime the current one of the thread; made by [`Handle::enter`] and
/// [`LocalRuntime::enter`](super::LocalRuntime::enter).
///
/// Guards are dropped in the reverse order of their making, as local variables are.
#[must_use = "the runtime is left when the guard is dropped"]
#[derive(Debug)]
pub struct EnterGuard<'a> {
    _entered: Entered,
    handle: PhantomData<&'a Handle>,
}

/// The part of the guard that has a destructor. It knows no lifetime: with one, the compiler would insist
/// that the runtime outlives the guard.
#[derive(Debug)]
struct Entered {
    previous: Option<Handle>,
    /// Not Send: it restores a thread-local.
    stays: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        // The handle that leaves may be the last one; it is dropped outside the borrow.
        let left = CURRENT.replace(self.previous.take());
        drop(left);
    }
}

/// Makes `handle` the current one. The guard restores what was.
pub(crate) fn enter(handle: &Handle) -> EnterGuard<'_> {
    let previous = CURRENT.replace(Some(handle.clone()));
    EnterGuard { _entered: Entered { previous, stays: PhantomData }, handle: PhantomData }
}

/// Calls `f` with the current handle. `f` calls no user code, which might enter a runtime.
pub(crate) fn with<R>(f: impl FnOnce(Option<&Handle>) -> R) -> R {
    CURRENT.with_borrow(|current| f(current.as_ref()))
}

/// Calls `wake`, which may wake several tasks. There is one thread, and nothing to notify.
pub(crate) fn wake_together(wake: impl FnOnce()) {
    wake();
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
        None => panic!("{what} called {OUTSIDE}"),
    }
}

/// Calls `f` with the driver of the current runtime and a timer shard, for a future that asks in its first
/// poll. That has no caller to point at, so the message says where the future was made.
pub(crate) fn with_driver_for<R>(
    made_at: &'static Location<'static>,
    f: impl FnOnce(&Arc<Driver>, usize) -> R,
) -> R {
    match try_with_driver(f) {
        Some(result) => result,
        None => panic!("timer polled {OUTSIDE} (it was made at {made_at})"),
    }
}

/// [`with_driver_for`] where being outside a runtime is no mistake: `None`, without calling `f`.
pub(crate) fn try_with_driver<R>(f: impl FnOnce(&Arc<Driver>, usize) -> R) -> Option<R> {
    with(|handle| handle.map(|handle| f(handle.driver(), 0)))
}

/// The moment it is now, on the clock of the current runtime; outside of a runtime, on the system's.
pub(crate) fn now() -> Instant {
    if clock::is_any_virtual() { now_here() } else { sync_shim::clock::now() }
}

#[cold]
fn now_here() -> Instant {
    try_with_driver(|driver, _| driver.clock().now()).unwrap_or_else(sync_shim::clock::now)
}

/// Starts a task in the current runtime.
#[track_caller]
pub(crate) fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    expect("spawn").spawn(future)
}
