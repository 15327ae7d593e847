//! `Sleep`: liten's, and as in tokio not `Unpin`.

#[cfg(all(tokio_unstable, feature = "tracing"))]
use super::span::SleepSpan;
use super::{Duration, Instant};
use crate::runtime::context;
use crate::task::coop;
use pin_project_lite::pin_project;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem;
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

/// Whether the runtime has ended, if that makes the timer ready.
#[cfg(tokio_unstable)]
#[derive(Debug)]
struct End(Option<std::sync::Arc<crate::runtime::unstable::Extras>>);

#[cfg(tokio_unstable)]
impl End {
    fn new() -> Self {
        Self(crate::runtime::unstable::Extras::rare_of_timer())
    }

    fn has_come(&self) -> bool {
        self.0.as_ref().is_some_and(|extras| extras.is_over())
    }
}

/// It never does.
#[cfg(not(tokio_unstable))]
#[derive(Debug)]
struct End;

#[cfg(not(tokio_unstable))]
impl End {
    fn new() -> Self {
        Self
    }

    #[inline(always)]
    fn has_come(&self) -> bool {
        false
    }
}

/// There is nothing to send.
#[cfg(not(all(tokio_unstable, feature = "tracing")))]
#[derive(Debug)]
struct SleepSpan;

#[cfg(not(all(tokio_unstable, feature = "tracing")))]
impl SleepSpan {
    fn new() -> Self {
        Self
    }

    fn reset(&mut self, _deadline: Instant) {}

    #[inline(always)]
    fn poll<T>(&self, _deadline: Option<Instant>, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        poll()
    }
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
        span: SleepSpan,
        end: End,
        #[pin]
        pinned: PhantomPinned,
    }
}

impl Sleep {
    #[track_caller]
    fn new(timer: liten::time::Sleep) -> Self {
        let (span, end) = (SleepSpan::new(), End::new());
        Self { timer, started: false, finished: false, span, end, pinned: PhantomPinned }
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
        this.span.reset(deadline);
        Pin::new(this.timer).reset(deadline);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let is_first = !mem::replace(this.started, true);
        if *this.finished || this.end.has_come() {
            ready!(coop::poll_proceed(cx)).made_progress();
        } else {
            let deadline = is_first.then(|| this.timer.deadline());
            ready!(this.span.poll(deadline, || Pin::new(this.timer).poll(cx)));
        }
        *this.finished = true;
        Poll::Ready(())
    }
}
