//! Work that blocks, under the names that tokio's files know: on liten's pool for it.

pub(crate) use liten::task::JoinHandle;

use liten::runtime::door::boxed_if_large;

/// Runs `f`, which may block, on the pool for blocking work.
///
/// # Panics
///
/// Panics outside a runtime.
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    crate::runtime::context::assert_inside();
    boxed_if_large!(function f: F => liten::task::spawn_blocking(f))
}

/// The work is done even if the runtime ends before it has begun.
#[track_caller]
pub(crate) fn spawn_mandatory_blocking<F, R>(f: F) -> Option<JoinHandle<R>>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    crate::runtime::context::assert_inside();
    boxed_if_large!(function f: F => liten::task::spawn_unfailing(f).ok())
}
