//! Regular ticks.

use super::{Duration, Instant, Sleep, after, sleep_until};
use crate::engine::tokio_note::noted;
use crate::runtime::incidents::ticked;
use futures_core::Stream;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A tick that comes no later than this counts as punctual, and the next one keeps to the plan: every timer
/// is a little late, and an interval that took this for missed ticks would drift, or leave ticks out for no
/// reason.
const TOLERANCE: Duration = Duration::from_millis(5);

/// Returns an [`Interval`] that ticks at once, and then once per `period`.
///
/// # Panics
///
/// If `period` is zero. Waiting for a tick panics if neither making the interval nor waiting happens inside
/// a runtime.
///
/// # Examples
///
/// ```
/// use liten::time::{Duration, Instant, interval};
///
/// # let runtime = liten::runtime::Runtime::new()?;
/// # runtime.block_on(async {
/// let period = Duration::from_millis(5);
/// let mut interval = interval(period);
/// let first = interval.tick().await; // at once
/// let second = interval.tick().await;
/// assert_eq!(second, first + period);
/// assert!(Instant::now() >= second);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_at(Instant::now(), period)
}

/// Returns an [`Interval`] that ticks at `start`, and then once per `period`.
///
/// # Panics
///
/// If `period` is zero. Waiting for a tick panics if neither making the interval nor waiting happens inside
/// a runtime.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(!period.is_zero(), noted!("the period of an interval must not be zero"));
    Interval { next: sleep_until(start), period, missed: MissedTickBehavior::default() }
}

/// What an [`Interval`] does when a tick is taken late, because the task was busy with something else.
///
/// A tick taken up to 5 ms late is not late. In the table, the period is 100 ms, and after the tick at 100
/// ms the task is busy for 250 ms, so that the tick planned for 200 ms is taken at 350 ms:
///
/// | behaviour | ticks are taken at (ms) |
/// |---|---|
/// | the plan | 0, 100, 200, 300, 400, 500, 600 |
/// | [`Burst`](Self::Burst) | 0, 100, 350, 350, 400, 500, 600 |
/// | [`Delay`](Self::Delay) | 0, 100, 350, 450, 550, 650, 750 |
/// | [`Skip`](Self::Skip) | 0, 100, 350, 400, 500, 600, 700 |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MissedTickBehavior {
    /// The missed ticks come at once, one after the other, until the plan is caught up with. The number of
    /// ticks in a long time is right. This is the default.
    #[default]
    Burst,
    /// The next tick comes one period after the late one, and the plan is counted anew from there. Two
    /// ticks are never much closer than a period.
    Delay,
    /// The missed ticks are left out, and the next one is the next of the plan. All ticks lie on multiples
    /// of the period after the start.
    Skip,
}

impl MissedTickBehavior {
    /// When the tick after the one planned for `due` and taken at `now` comes.
    fn next(self, due: Instant, now: Instant, period: Duration) -> Instant {
        let late = now.saturating_duration_since(due);
        if late <= TOLERANCE {
            return after(due, period);
        }
        match self {
            Self::Burst => after(due, period),
            Self::Delay => after(now, period),
            Self::Skip => {
                let beyond = late.as_nanos() % period.as_nanos();
                // Fits: it is no more than `late`, and nothing is late by 584 years.
                let beyond = Duration::from_nanos(u64::try_from(beyond).unwrap_or(u64::MAX));
                after(now, period.saturating_sub(beyond))
            }
        }
    }
}

/// Regular ticks; made by [`interval`] and [`interval_at`].
///
/// It is also a [`Stream`] of its ticks, without an end.
#[derive(Debug)]
pub struct Interval {
    next: Sleep,
    period: Duration,
    missed: MissedTickBehavior,
}

impl Interval {
    /// Waits for the next tick and returns the moment it was planned for.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a tick that has not been returned is returned by the next call.
    ///
    /// # Panics
    ///
    /// When the runtime has been shut down before the tick.
    pub async fn tick(&mut self) -> Instant {
        poll_fn(|cx| self.poll_tick(cx)).await
    }

    /// Returns the planned moment of the next tick once it has passed; until then, the waker of the last
    /// call is woken for it.
    ///
    /// # Panics
    ///
    /// As for [`Interval::tick`].
    pub fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(Pin::new(&mut self.next).poll(cx));
        let (due, now) = (self.next.deadline(), self.next.now());
        ticked(now.saturating_duration_since(due) >= self.period);
        self.reset_at(self.missed.next(due, now, self.period));
        Poll::Ready(due)
    }

    /// Lets the next tick come one period from now.
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// Lets the next tick come at once: the next poll is ready.
    pub fn reset_immediately(&mut self) {
        self.reset_at(self.next.now());
    }

    /// Lets the next tick come `delay` from now; the ones after it follow in the usual period.
    pub fn reset_after(&mut self, delay: Duration) {
        self.reset_at(after(self.next.now(), delay));
    }

    /// Lets the next tick come at `deadline`; the ones after it follow in the usual period.
    pub fn reset_at(&mut self, deadline: Instant) {
        Pin::new(&mut self.next).reset(deadline);
    }

    /// Returns the period.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Returns what happens when a tick is taken late.
    pub fn missed_tick_behavior(&self) -> MissedTickBehavior {
        self.missed
    }

    /// Sets what happens when a tick is taken late.
    pub fn set_missed_tick_behavior(&mut self, behavior: MissedTickBehavior) {
        self.missed = behavior;
    }
}

impl Stream for Interval {
    type Item = Instant;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.poll_tick(cx).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
