//! Polling a root future on the calling thread.

use super::Runtime;
use super::handle::{Handle, Inner};
use crate::park::{Parker, Unpark, Unparker};
use crate::scheduler;
use crate::sync_shim::Arc;
use crate::task::budget;
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::ptr;
use std::task::{Context, Poll, Wake, Waker};

thread_local! {
    /// The runtime that made this thread. Compared, never followed.
    static OWNER: Cell<*const Inner> = const { Cell::new(ptr::null()) };
    /// A local executor polls a task or a root on this thread.
    static IN_LOCAL: Cell<bool> = const { Cell::new(false) };
}

/// Runs `run`, the life of a thread that `handle`'s runtime has made.
pub(super) fn own_thread(handle: &Handle, run: &mut dyn FnMut()) {
    OWNER.set(Arc::as_ptr(&handle.inner));
    run();
    OWNER.set(ptr::null());
}

/// Whether the calling thread was made by `handle`'s runtime.
pub(super) fn is_own_thread(handle: &Handle) -> bool {
    OWNER.get() == Arc::as_ptr(&handle.inner)
}

/// Marks the thread as polling for a local executor while `f` runs.
pub(super) fn in_local<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IN_LOCAL.set(self.0);
        }
    }
    let _restore = Restore(IN_LOCAL.replace(true));
    f()
}

/// Panics, at the caller, on a worker or inside a local executor: blocking there would stop the tasks
/// that are waited for.
#[track_caller]
pub(super) fn refuse_in_task(what: &str) {
    if scheduler::worker_index().is_some() || IN_LOCAL.get() {
        panic!(
            "{what} called inside a task: it would block the thread that runs the tasks it waits for; \
             use .await, or call it in spawn_blocking"
        );
    }
}

/// The root's waker: unparks the thread.
struct RootWaker(Unparker);

impl Wake for RootWaker {
    fn wake(self: std::sync::Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &std::sync::Arc<Self>) {
        let Unpark::Done = self.0.unpark() else {
            unreachable!("a thread in block_on never sits in the poller under its own parker");
        };
    }
}

/// Polls `future` until it is ready; the thread sleeps in between.
///
/// A wake during the poll leaves a token, so that the next park returns at once: none is lost (park.rs).
pub(super) fn run<F: Future>(future: F) -> F::Output {
    let parker = Parker::new();
    let waker = Waker::from(std::sync::Arc::new(RootWaker(parker.unparker())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match budget::with_budget(|| future.as_mut().poll(&mut cx)) {
            Poll::Ready(output) => return output,
            Poll::Pending => parker.park(),
        }
    }
}

/// Runs `future` in a runtime that exists for this call, or in the one that the calling thread has
/// entered; returns its output.
///
/// Without a runtime it makes one with the default settings, and drops it (with the tasks that are left)
/// when the future is done. The future may borrow and need not be `Send`.
///
/// # Panics
///
/// If called inside a task, if `future` panics, or if the runtime cannot be made.
///
/// # Examples
///
/// ```
/// let words = vec!["borrowed"];
/// let count = liten::block_on(async { words.len() });
/// assert_eq!(count, 1);
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    refuse_in_task("block_on");
    match Handle::try_current() {
        Ok(handle) => handle.block_on(future),
        Err(_) => match Runtime::new() {
            Ok(runtime) => runtime.block_on(future),
            Err(error) => panic!("block_on cannot make a runtime: {error}"),
        },
    }
}
