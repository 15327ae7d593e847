//! Waiting for a moment.

use super::timer::Timer;
use super::{Duration, Instant};
use crate::engine::task::budget;
use crate::impls::impl_debug;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Waits until `duration` has passed; counted from now, not from the first poll.
///
/// Zero is ready at the first poll. A duration that leads beyond what an [`Instant`] can say, as
/// [`Duration::MAX`] does, counts as 30 years.
///
/// # Cancel safety
///
/// Dropping the future frees the timer at once; nothing is lost but the wait. In a `select!` loop, create the
/// sleep outside the loop, or it starts anew in each round.
///
/// # Panics
///
/// The future panics when it is polled if neither making it nor polling it happens inside a runtime, and
/// when it is polled after the runtime was shut down, unless the time has passed.
///
/// # Examples
///
/// ```
/// use liten::time::{Duration, Instant, sleep};
///
/// # let runtime = liten::runtime::Runtime::new()?;
/// # runtime.block_on(async {
/// let start = Instant::now();
/// sleep(Duration::from_millis(10)).await;
/// assert!(start.elapsed() >= Duration::from_millis(10));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[inline]
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    Sleep { timer: Timer::after(duration) }
}

/// Waits until `deadline`. If that has passed already, the first poll is ready.
///
/// # Cancel safety
///
/// As for [`sleep`].
///
/// # Panics
///
/// As for [`sleep`].
///
/// # Examples
///
/// ```
/// use liten::time::{Duration, Instant, sleep_until};
///
/// # let runtime = liten::runtime::Runtime::new()?;
/// # runtime.block_on(async {
/// let deadline = Instant::now() + Duration::from_millis(10);
/// sleep_until(deadline).await;
/// assert!(Instant::now() >= deadline);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[inline]
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { timer: Timer::new(deadline) }
}

/// The future of [`sleep`] and [`sleep_until`].
///
/// It is ready once its deadline has passed, and stays ready when polled again. It is [`Unpin`]: `&mut
/// Sleep` is a future that can be waited for in a loop, and [`Pin::new`] is all that [`Sleep::reset`] asks
/// for.
#[must_use = "futures do nothing unless they are polled"]
pub struct Sleep {
    timer: Timer,
}

impl Sleep {
    /// Returns the moment this waits for.
    pub fn deadline(&self) -> Instant {
        self.timer.deadline()
    }

    /// Returns whether the deadline has passed.
    pub fn is_elapsed(&self) -> bool {
        self.now() >= self.deadline()
    }

    /// The time on the clock of the runtime that it was made in.
    pub(super) fn now(&self) -> Instant {
        self.timer.now()
    }

    /// Sets another deadline, earlier or later, also after the old one has passed.
    ///
    /// No poll is needed for it: a task that waits for this sleep now waits for the new deadline. If that has
    /// passed, the task is woken, and the next poll is ready.
    ///
    /// # Examples
    ///
    /// An inactivity timer, which every message puts off:
    ///
    /// ```
    /// use liten::time::{Duration, Instant, sleep};
    /// use std::pin::Pin;
    ///
    /// # let runtime = liten::runtime::Runtime::new()?;
    /// # runtime.block_on(async {
    /// let patience = Duration::from_millis(5);
    /// let start = Instant::now();
    /// let mut inactive = sleep(patience);
    /// for _message in 0..3 {
    ///     Pin::new(&mut inactive).reset(Instant::now() + patience);
    /// }
    /// inactive.await;
    /// assert!(start.elapsed() >= patience);
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        self.get_mut().timer.reset(deadline);
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        budget::poll_leaf(cx, |cx| self.timer.poll(cx))
    }
}

impl_debug!([] Sleep, this => "Sleep" { deadline: this.deadline(), .. });

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
