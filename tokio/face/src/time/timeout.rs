//! `Timeout`: a future beside liten's timeout of nothing, so that a large one is not handed on to liten's. As
//! in tokio it is not `Unpin`.

use super::error::Elapsed;
use super::{Duration, Instant};
use crate::runtime::context;
use crate::task::coop;
use pin_project_lite::pin_project;
use std::convert::Infallible;
use std::future::{Future, IntoFuture, Pending, pending};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Gives `future` so long to complete.
///
/// # Panics
///
/// Panics outside a runtime, unless the duration is so long that it is no limit.
#[track_caller]
pub fn timeout<F>(duration: Duration, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    Timeout {
        // Before the time begins to count. In place: it may be large.
        value: future.into_future(),
        limit: limit(duration),
        pinned: PhantomPinned,
    }
}

#[track_caller]
fn limit(duration: Duration) -> liten::time::Timeout<Pending<Infallible>> {
    let limit = liten::time::timeout(duration, pending());
    if limit.has_deadline() {
        context::assert_timers();
    }
    limit
}

/// Gives `future` until that moment to complete.
///
/// # Panics
///
/// Panics outside a runtime.
#[track_caller]
pub fn timeout_at<F>(deadline: Instant, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    context::assert_timers();
    // In this order, because the time counts from when the future is there.
    Timeout {
        value: future.into_future(),
        limit: liten::time::timeout_at(deadline, pending()),
        pinned: PhantomPinned,
    }
}

pin_project! {
    /// A future with a deadline.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Timeout<T> {
        #[pin]
        value: T,
        #[pin]
        limit: liten::time::Timeout<Pending<Infallible>>,
        #[pin]
        pinned: PhantomPinned,
    }
}

impl<T> Timeout<T> {
    /// Returns the future.
    pub fn get_ref(&self) -> &T {
        &self.value
    }

    /// Returns the future for changes.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Returns the future without its deadline.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: Future> Future for Timeout<T> {
    type Output = Result<T::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(output) = this.value.poll(cx) {
            this.limit.met();
            return Poll::Ready(Ok(output));
        }
        ready!(crate::trace::trace_leaf(cx));
        this.limit.poll_deadline(cx, had_budget).map(Err)
    }
}
