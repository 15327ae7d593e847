//! `Interval`: liten's.

use super::{Duration, Instant, Interval};
use crate::runtime::context;
use crate::LITEN;

/// Makes an interval that ticks at once, and then once per period.
///
/// # Panics
///
/// Panics if the period is zero, and outside a runtime.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    assert!(period > Duration::ZERO, "`period` must be non-zero. ({LITEN})");
    context::assert_timers();
    liten::time::interval(period)
}

/// Makes an interval that ticks at `start`, and then once per period.
///
/// # Panics
///
/// Panics if the period is zero, and outside a runtime.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    assert!(period > Duration::ZERO, "`period` must be non-zero. ({LITEN})");
    context::assert_timers();
    liten::time::interval_at(start, period)
}
