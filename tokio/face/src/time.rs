//! Time: liten's timers.

#[cfg(feature = "test-util")]
pub use liten::time::{advance, pause, resume};
pub use liten::time::{Instant, Interval, MissedTickBehavior};
#[doc(no_inline)]
pub use std::time::Duration;

pub mod error;
mod interval;
mod sleep;
#[cfg(all(tokio_unstable, feature = "tracing"))]
mod span;
mod timeout;

pub use self::interval::{interval, interval_at};
pub use self::sleep::{sleep, sleep_until, Sleep};
pub use self::timeout::{timeout, timeout_at, Timeout};
