//! How long something takes, as a number.

use std::time::Duration;

/// `duration` in nanoseconds; `u64::MAX` for what is longer than 584 years.
#[inline]
pub(crate) fn nanos(duration: Duration) -> u64 {
    // In 64 bits: where those are the widest registers, a product of 128 is a function of its own.
    const PER_SECOND: u64 = 1_000_000_000;
    if duration.as_secs() < u64::MAX / PER_SECOND {
        duration.as_secs() * PER_SECOND + u64::from(duration.subsec_nanos())
    } else {
        u64::MAX
    }
}
