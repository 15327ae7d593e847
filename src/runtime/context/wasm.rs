//! Where there is one thread: no worker, and nothing of tokio's.

use super::{Handle, expect, with};
use crate::engine::driver::Driver;
use crate::engine::sync_shim::Arc;
use crate::engine::task::JoinHandle;
use crate::engine::task::origin::Origin;
use std::future::Future;

/// What to do about a call outside a runtime; one text for all of them.
pub(crate) const OUTSIDE: &str =
    "outside a runtime: use #[liten::main], liten::wasi::block_on, or LocalRuntime::block_on";

/// There is no context of tokio's to leave.
pub(super) type Guard = ();

/// There is no scheduler to tell.
pub(super) fn set_current(_handle: Option<&Handle>) {}

/// There is no context of tokio's to enter.
pub(super) fn enter_tokio(_handle: &Handle) -> Guard {}

/// Calls `f` with the driver of the current runtime and a timer shard; `None` outside a runtime.
pub(crate) fn try_with_driver<R>(f: impl FnOnce(&Arc<Driver>, usize) -> R) -> Option<R> {
    with(|handle| handle.map(|handle| f(handle.driver(), 0)))
}

/// Calls `wake`, which may wake several tasks. There is one thread, and nothing to notify.
pub(crate) fn wake_together(wake: impl FnOnce()) {
    wake();
}

/// Starts a task in the current runtime.
#[track_caller]
pub(crate) fn spawn<F>(future: F, origin: impl Origin) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    expect("spawn").spawn_from(future, origin)
}
