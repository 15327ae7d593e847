//! What a thread asks of the runtime that it is in, or has made for one future.

use super::Runtime;
use super::context;
use super::handle::Handle;
use super::root::refuse_in_task;
use crate::engine::scheduler;
use std::future::Future;

pub use super::root::may_block;
pub(crate) use super::root::{outside_root, wait_outside};

/// Returns the index of the worker that the calling thread is, if it is one; 0 on the thread that runs the
/// tasks of a runtime without workers.
///
/// `None` on a thread that calls `block_on` and runs no tasks there, on threads for blocking work and for
/// pinned tasks, inside [`block_in_place`](crate::task::block_in_place), and outside a runtime. The index is
/// what [`RuntimeMetrics`](super::RuntimeMetrics) asks for; that of a spare worker, or of one that is to
/// leave, is above those of the regular workers.
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
    context::with(|handle| handle.map_or_else(scheduler::worker_index, Handle::worker_index))
}

/// Runs `future` in a runtime that exists for this call, or in the one that the calling thread has
/// entered; returns its output.
///
/// Without a runtime it makes one with the default settings, and drops it (with the tasks that are left)
/// when the future is done. The future may borrow and need not be `Send`. In a runtime without workers this
/// polls the future alone, as [`Handle::block_on`] does.
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
