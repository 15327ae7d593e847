//! A deadline on another future.

use super::timer::Timer;
use super::{Duration, Instant};
use crate::engine::task::budget;
use crate::impls::{impl_debug, impl_error};
use crate::runtime::{incidents, tokio_words};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::io;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Waits for `future`, but no longer than `duration`, counted from now.
///
/// The future is polled first: if it is ready in time or at once, its output is returned, whatever the
/// clock says. With a duration of zero it is polled once. A duration that the clock cannot add, such as
/// [`Duration::MAX`], is no limit.
///
/// A future that does not return from `poll` cannot be interrupted: one that computes, or that only uses what
/// is always ready and is not in the task's budget (see [`consume_budget`](crate::task::consume_budget)), as
/// a copy from memory to memory.
///
/// # Cancel safety
///
/// Dropping the timeout drops `future` and frees the timer at once. When the time is up, `future` is
/// dropped with the timeout, so it should itself be cancel safe; to keep it, pass `&mut future`.
///
/// # Errors
///
/// [`Elapsed`] if the time is up first. It converts into an [`io::Error`] of kind
/// [`io::ErrorKind::TimedOut`].
///
/// # Panics
///
/// Unless `future` is ready, the timeout panics when it is polled if neither making it nor polling it
/// happens inside a runtime, and when it is polled after the runtime was shut down and the time has not
/// passed.
///
/// # Examples
///
/// ```
/// use liten::time::{Duration, timeout};
/// use std::future::pending;
///
/// # let runtime = liten::runtime::Runtime::new()?;
/// # runtime.block_on(async {
/// let answer = timeout(Duration::from_millis(5), pending::<()>()).await;
/// assert!(answer.is_err());
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn timeout<F: IntoFuture>(duration: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        // Before the time begins to count. In place: it may be large.
        value: future.into_future(),
        timer: limit(duration),
        called_at: Location::caller(),
        has_elapsed: false,
    }
}

/// The timer for a duration from now, if there is such a moment.
#[track_caller]
#[inline]
fn limit(duration: Duration) -> Option<Timer> {
    let deadline = Instant::now().checked_add(duration)?;
    Some(Timer::new(deadline))
}

/// Waits for `future`, but not beyond `deadline`. Otherwise as [`timeout`].
///
/// # Cancel safety
///
/// As for [`timeout`].
///
/// # Errors
///
/// [`Elapsed`] if the deadline passes first.
///
/// # Panics
///
/// As for [`timeout`].
///
/// # Examples
///
/// One deadline for several steps:
///
/// ```
/// use liten::time::{Duration, Elapsed, Instant, timeout_at};
///
/// # async fn connect() -> u8 { 1 }
/// # async fn ask(_: u8) -> u8 { 2 }
/// async fn dialogue() -> Result<u8, Elapsed> {
///     let deadline = Instant::now() + Duration::from_secs(5);
///     let connection = timeout_at(deadline, connect()).await?;
///     timeout_at(deadline, ask(connection)).await
/// }
/// # let runtime = liten::runtime::Runtime::new()?;
/// # assert_eq!(runtime.block_on(dialogue()), Ok(2));
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout {
        value: future.into_future(),
        timer: Some(Timer::new(deadline)),
        called_at: Location::caller(),
        has_elapsed: false,
    }
}

pin_project! {
    /// The future of [`timeout`] and [`timeout_at`].
    #[must_use = "futures do nothing unless they are polled"]
    pub struct Timeout<F> {
        #[pin]
        value: F,
        // `None`: no limit.
        timer: Option<Timer>,
        called_at: &'static Location<'static>,
        // It stays so when it is polled again, which the timer does not by itself under tokio's name.
        has_elapsed: bool,
    }
}

impl<F> Timeout<F> {
    /// Returns the future with the deadline.
    pub fn get_ref(&self) -> &F {
        &self.value
    }

    /// Returns the future with the deadline.
    pub fn get_mut(&mut self) -> &mut F {
        &mut self.value
    }

    /// Whether there is a deadline: the clock could add the duration.
    #[doc(hidden)]
    pub fn has_deadline(&self) -> bool {
        self.timer.is_some()
    }

    /// Polls the deadline, for a future that has just been polled and is pending. `had_budget`: whether a
    /// unit of the budget was left before that.
    ///
    /// A future that always uses the budget up before it returns would otherwise never time out. For any
    /// other one, a deadline costs as much as it does in a `Sleep`: a task that turns round a deadline that
    /// has passed yields.
    #[doc(hidden)]
    pub fn poll_deadline(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        had_budget: bool,
    ) -> Poll<Elapsed> {
        let this = self.project();
        let Some(timer) = this.timer else { return Poll::Pending };
        let mut poll = |cx: &mut Context<'_>| match *this.has_elapsed {
            true => Poll::Ready(()),
            false => timer.poll(cx),
        };
        if budget::is_traced() || had_budget && !budget::is_left() {
            ready!(poll(cx));
        } else {
            ready!(budget::poll_leaf(cx, poll));
        }
        if !*this.has_elapsed {
            incidents::elapsed(this.called_at);
        }
        *this.has_elapsed = true;
        Poll::Ready(Elapsed(()))
    }

    /// Notes that the future was ready in time.
    #[doc(hidden)]
    pub fn met(&self) {
        incidents::met(self.called_at);
    }

    /// Takes the deadline away and returns the future.
    pub fn into_inner(self) -> F {
        self.value
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let had_budget = budget::is_left();
        if let Poll::Ready(output) = self.as_mut().project().value.poll(cx) {
            self.met();
            return Poll::Ready(Ok(output));
        }
        self.poll_deadline(cx, had_budget).map(Err)
    }
}

impl_debug!([F: fmt::Debug] Timeout<F>, this => "Timeout" {
    value: this.value,
    deadline: this.timer.as_ref().map(Timer::deadline),
    ..
});

/// The error of [`timeout`] and [`timeout_at`]: the time was up before the future was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed(());

impl_error!([] Elapsed, _this => tokio_words::ELAPSED);

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        tokio_words::io_error_of_a_timeout(elapsed)
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
