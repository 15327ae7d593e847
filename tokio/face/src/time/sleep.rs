//! `Sleep`: liten's, and as in tokio not `Unpin`.

use super::{Duration, Instant};
use crate::runtime::context;
use pin_project_lite::pin_project;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Waits for a duration.
///
/// # Panics
///
/// Panics outside a runtime.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    context::assert_timers();
    Sleep::new(liten::time::sleep(duration))
}

/// Waits for a moment.
///
/// # Panics
///
/// Panics outside a runtime.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    context::assert_timers();
    Sleep::new(liten::time::sleep_until(deadline))
}

pin_project! {
    /// Completes at its deadline.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Sleep {
        timer: liten::time::Sleep,
        // Whether it was polled or reset: before that tokio's has not elapsed, whatever the time is.
        started: bool,
        // Whether a poll was ready since the last reset: liten's timer does not remember that here.
        finished: bool,
        #[pin]
        pinned: PhantomPinned,
    }
}

impl Sleep {
    fn new(timer: liten::time::Sleep) -> Self {
        Self { timer, started: false, finished: false, pinned: PhantomPinned }
    }

    /// Returns the moment at which it completes.
    pub fn deadline(&self) -> Instant {
        self.timer.deadline()
    }

    /// Returns whether the deadline has passed since it was first polled or reset.
    pub fn is_elapsed(&self) -> bool {
        self.started && self.timer.is_elapsed()
    }

    /// Sets another deadline.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        *this.started = true;
        *this.finished = false;
        Pin::new(this.timer).reset(deadline);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        *this.started = true;
        if !*this.finished {
            ready!(Pin::new(this.timer).poll(cx));
            *this.finished = true;
        }
        Poll::Ready(())
    }
}
