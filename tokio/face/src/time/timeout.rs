//! `Timeout`: liten's, and as in tokio not `Unpin`.

use super::error::Elapsed;
use super::{Duration, Instant};
use crate::runtime::context;
use pin_project_lite::pin_project;
use std::future::{Future, IntoFuture};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

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
    Timeout { timeout: liten::time::timeout(duration, future), pinned: PhantomPinned }
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
    Timeout { timeout: liten::time::timeout_at(deadline, future), pinned: PhantomPinned }
}

pin_project! {
    /// A future with a deadline.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Timeout<T> {
        #[pin]
        timeout: liten::time::Timeout<T>,
        #[pin]
        pinned: PhantomPinned,
    }
}

impl<T> Timeout<T> {
    /// Returns the future.
    pub fn get_ref(&self) -> &T {
        self.timeout.get_ref()
    }

    /// Returns the future for changes.
    pub fn get_mut(&mut self) -> &mut T {
        self.timeout.get_mut()
    }

    /// Returns the future without its deadline.
    pub fn into_inner(self) -> T {
        self.timeout.into_inner()
    }
}

impl<T: Future> Future for Timeout<T> {
    type Output = Result<T::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().timeout.poll(cx)
    }
}
