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
/// Panics outside a runtime.
#[track_caller]
pub fn timeout<F>(duration: Duration, future: F) -> Timeout<F::IntoFuture>
where
    F: IntoFuture,
{
    context::assert_timers();
    // In this order, because the time counts from when the future is there.
    Timeout {
        value: future.into_future(),
        limit: liten::time::timeout(duration, pending()),
        elapsed: None,
        pinned: PhantomPinned,
    }
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
        elapsed: None,
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
        // It stays so when it is polled again.
        elapsed: Option<Elapsed>,
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
        let mut this = self.project();
        let had_budget = coop::has_budget_remaining();
        if let Poll::Ready(output) = this.value.poll(cx) {
            return Poll::Ready(Ok(output));
        }
        ready!(crate::trace::trace_leaf(cx));
        // A future that always uses the budget up before it returns would otherwise never time out.
        let is_free = had_budget && !coop::has_budget_remaining();
        if let Some(elapsed) = *this.elapsed {
            if !is_free {
                ready!(coop::poll_proceed(cx)).made_progress();
            }
            return Poll::Ready(Err(elapsed));
        }
        let limit = this.limit.as_mut();
        let result = match is_free {
            true => std::pin::pin!(coop::unconstrained(limit)).poll(cx),
            false => limit.poll(cx),
        };
        result.map(|result| match result {
            Ok(never) => match never {},
            Err(elapsed) => Err(*this.elapsed.insert(elapsed)),
        })
    }
}
