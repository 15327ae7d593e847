//! `yield_now`: liten's, which a dump sees under tokio's name.

use std::future::{poll_fn, Future};
use std::task::ready;

/// Lets other tasks run, then goes on.
pub async fn yield_now() {
    let mut yielding = std::pin::pin!(liten::task::yield_now());
    poll_fn(|cx| {
        ready!(crate::trace::trace_leaf(cx));
        yielding.as_mut().poll(cx)
    })
    .await
}
