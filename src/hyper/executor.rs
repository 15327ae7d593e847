//! `LitenExecutor`: where hyper's tasks run.

use hyper::rt::Executor;
use std::future::Future;

/// Runs hyper's tasks in the current runtime, as [`spawn`](crate::spawn) does.
///
/// HTTP/2 needs it: each stream of a connection is a task.
///
/// # Panics
///
/// hyper's calls panic outside a runtime. A task of hyper's that panics ends without disturbing others.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct LitenExecutor {}

impl LitenExecutor {
    /// Makes one; they are all alike.
    pub const fn new() -> Self {
        Self {}
    }
}

impl<F> Executor<F> for LitenExecutor
where
    F: Future + Send + 'static,
{
    #[track_caller]
    fn execute(&self, future: F) {
        // No handle asks for the output, so it need not be `Send`: it is dropped where it is made.
        drop(crate::task::spawn(async move { drop(future.await) }));
    }
}
