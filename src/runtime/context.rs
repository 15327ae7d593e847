//! Which runtime the calling thread is in.
//!
//! | a thread-local | says | is set by |
//! |---|---|---|
//! | `CURRENT` here | the handle of the runtime that the thread has entered | `Handle::enter` |
//! | `CURRENT` in `engine/scheduler/here.rs` | which scheduler that runtime has, by address | the same |
//! | `ROLE` in `engine/scheduler/enqueue.rs` | a worker, a root, … | its main function; `block_on` |
//! | `EXECUTOR` in `local_thread.rs` | which local executor runs here | the executor |
//! | `CURRENT` in `engine/task/current.rs` | which task is polled, and its budget | each poll |
//!
//! A spawn on a worker needs the second and the third only.

#[cfg_attr(not(target_family = "wasm"), path = "context/native.rs")]
#[cfg_attr(target_family = "wasm", path = "context/wasm.rs")]
mod platform;

pub(crate) use self::platform::*;
#[cfg(not(target_family = "wasm"))]
pub use self::platform::{is_inside, worker_index};

use super::handle::Handle;
use crate::engine::driver::{Driver, clock};
use crate::engine::sync_shim::{self, Arc, thread_local};
use crate::engine::tokio_note::NOTE;
use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::MutexGuard;
use std::time::Instant;

thread_local! {
    static CURRENT: RefCell<Option<Handle>> = const { RefCell::new(None) };
}

/// Keeps a runtime the current one of the thread; made by [`Handle::enter`] and by the
/// `enter` of runtimes.
///
/// Guards are dropped in the reverse order of their making, as local variables are.
/// A guard need not be dropped before the runtime: in `let _guard = builder.build()?.enter();` the runtime
/// ends with the statement, and the guard goes on showing it.
#[must_use = "the runtime is left when the guard is dropped"]
#[derive(Debug)]
pub struct EnterGuard<'a> {
    /// Before the next field, which leaves tokio's context: tokio panics over guards that go out of order.
    _entered: Entered,
    _tokio: platform::Guard,
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
        platform::set_current(previous.as_ref());
        // The handle that leaves may be the last one; it is dropped outside the borrow.
        let left = CURRENT.try_with(|current| current.replace(previous));
        drop(left);
    }
}

impl Handle {
    /// Returns the handle of the runtime that the calling thread is in.
    ///
    /// # Panics
    ///
    /// Outside a runtime. [`Handle::try_current`] does not.
    #[track_caller]
    pub fn current() -> Self {
        expect("Handle::current")
    }

    /// Returns the handle of the runtime that the calling thread is in.
    ///
    /// # Errors
    ///
    /// If the thread is in none.
    pub fn try_current() -> Result<Self, TryCurrentError> {
        let is_ending = || CURRENT.try_with(|_| ()).is_err();
        with(|handle| handle.cloned()).ok_or_else(|| TryCurrentError { is_ending: is_ending() })
    }

    /// Makes this the runtime of the calling thread until the guard is dropped: spawns, timers and
    /// sockets use it.
    pub fn enter(&self) -> EnterGuard<'_> {
        // A thread that is ending has no current runtime any more, and needs none.
        let previous =
            CURRENT.try_with(|current| current.replace(Some(self.clone()))).unwrap_or(None);
        platform::set_current(Some(self));
        let _entered = Entered { previous, stays: PhantomData };
        EnterGuard { _entered, _tokio: platform::enter_tokio(self), handle: PhantomData }
    }
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

/// Calls `f` with the driver of the current runtime and the timer shard of this thread, for a future that
/// asks in its first poll. That has no caller to point at, so the message says where the future was made.
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

/// The calling thread is in no runtime; from [`Handle::try_current`].
#[derive(Debug)]
pub struct TryCurrentError {
    is_ending: bool,
}

impl TryCurrentError {
    /// Returns whether the thread has not entered a runtime.
    pub fn is_missing_context(&self) -> bool {
        !self.is_ending
    }

    /// Returns whether the thread is ending, and has forgotten already which runtime it was in.
    pub fn is_thread_local_destroyed(&self) -> bool {
        self.is_ending
    }
}

impl fmt::Display for TryCurrentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_ending {
            false => write!(f, "called {OUTSIDE}"),
            true => f.write_str("called on a thread that is ending and has left its runtime"),
        }
    }
}

impl Error for TryCurrentError {}
