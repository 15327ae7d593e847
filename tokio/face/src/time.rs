//! Time: liten's timers.

#[cfg(feature = "test-util")]
pub use liten::time::{advance, pause, resume};
pub use liten::time::{
    interval, interval_at, sleep, sleep_until, timeout, timeout_at, Instant, Interval,
    MissedTickBehavior, Sleep, Timeout,
};
#[doc(no_inline)]
pub use std::time::Duration;

pub mod error;
