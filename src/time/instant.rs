//! A moment of the monotonic clock, which a test may stop.

use crate::runtime::context;
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

/// A moment of the monotonic clock: [`std::time::Instant`], but [`Instant::now`] follows the current
/// runtime's clock, which a test may have [stopped](super::pause()).
///
/// It converts from and into std's type ([`From`], [`Instant::from_std`], [`Instant::into_std`]), and means
/// the same moment.
///
/// # Examples
///
/// ```
/// use liten::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let deadline = start + Duration::from_secs(5);
/// assert_eq!(deadline - start, Duration::from_secs(5));
/// assert!(start.elapsed() < Duration::from_secs(5));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(std::time::Instant);

impl Instant {
    /// Returns the moment it is now: on the clock of the current runtime, outside of a runtime on the
    /// system's.
    ///
    /// As long as no clock of the process has been stopped, this is std's `Instant::now` and one load of a
    /// flag.
    #[inline]
    pub fn now() -> Self {
        Self(context::now())
    }

    /// Returns the same moment in liten's type.
    pub const fn from_std(instant: std::time::Instant) -> Self {
        Self(instant)
    }

    /// Returns the same moment in std's type.
    pub const fn into_std(self) -> std::time::Instant {
        self.0
    }

    /// Returns the time from `earlier` to this moment; zero if `earlier` is later.
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time from `earlier` to this moment; `None` if `earlier` is later.
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// Returns the time from `earlier` to this moment; zero if `earlier` is later.
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// Returns the time from this moment until now; zero if this moment lies ahead.
    pub fn elapsed(&self) -> Duration {
        Self::now().duration_since(*self)
    }

    /// Returns the moment `duration` later; `None` if the system's clock cannot say it.
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }

    /// Returns the moment `duration` earlier; `None` if the system's clock cannot say it.
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        self.0.checked_sub(duration).map(Self)
    }
}

impl From<std::time::Instant> for Instant {
    fn from(instant: std::time::Instant) -> Self {
        Self(instant)
    }
}

impl From<Instant> for std::time::Instant {
    fn from(instant: Instant) -> Self {
        instant.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// # Panics
    ///
    /// If the system's clock cannot say the moment; see [`Instant::checked_add`].
    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// # Panics
    ///
    /// If the system's clock cannot say the moment; see [`Instant::checked_sub`].
    fn sub(self, duration: Duration) -> Self {
        Self(self.0 - duration)
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, duration: Duration) {
        *self = *self - duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// The time between the two; zero if `earlier` is later.
    fn sub(self, earlier: Self) -> Duration {
        self.duration_since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn arithmetic_is_that_of_std() {
        let std = std::time::Instant::now();
        let instant = Instant::from_std(std);
        assert_eq!(instant, Instant::from(std));
        assert_eq!(std, instant.into());
        assert_eq!((instant + SECOND).into_std(), std + SECOND);
        assert_eq!(instant + SECOND - SECOND, instant);
        let mut moved = instant;
        moved += 2 * SECOND;
        moved -= SECOND;
        assert_eq!(moved - instant, SECOND);
        assert_eq!(instant - moved, Duration::ZERO);
        assert_eq!(moved.duration_since(instant), SECOND);
        assert_eq!(instant.duration_since(moved), Duration::ZERO);
        assert_eq!(instant.saturating_duration_since(moved), Duration::ZERO);
        assert_eq!(instant.checked_duration_since(moved), None);
        assert_eq!(moved.checked_duration_since(instant), Some(SECOND));
        assert_eq!(instant.checked_add(SECOND), Some(moved));
        assert_eq!(moved.checked_sub(SECOND), Some(instant));
        assert_eq!(instant.checked_add(Duration::MAX), None);
        assert!(instant < moved && moved.elapsed() < SECOND);
        assert_eq!(format!("{instant:?}"), format!("{std:?}"));
    }

    #[test]
    fn outside_a_runtime_now_is_the_systems() {
        let before = std::time::Instant::now();
        let now = Instant::now().into_std();
        assert!(before <= now && now <= std::time::Instant::now());
    }
}
