//! What a thread asks of the runtime that it is in.

use super::context;
use super::handle::Handle;
use crate::engine::scheduler;

pub use super::root::may_block;
pub(crate) use super::root::{outside_root, refuse_in_task, wait_outside};

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
