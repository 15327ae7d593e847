//! `LitenTimer`: hyper's timeouts on the runtime's timers.

use crate::time::{self, Duration};
use hyper::rt::{Sleep, Timer};
use std::pin::Pin;
use std::time::Instant;

/// Gives hyper its timeouts, by the timers of the current runtime.
///
/// Its sleeps are [`time::Sleep`]s, and its clock is [`time::Instant`]'s, which a test may stop. A timeout
/// that is put off, as those for keep-alive and idle connections are again and again, moves its timer
/// instead of making a new one.
///
/// # Panics
///
/// hyper's calls panic outside a runtime.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct LitenTimer {}

impl LitenTimer {
    /// Makes one; they are all alike.
    pub const fn new() -> Self {
        Self {}
    }
}

impl Timer for LitenTimer {
    #[track_caller]
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(time::sleep(duration))
    }

    #[track_caller]
    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(time::sleep_until(deadline.into()))
    }

    fn now(&self) -> Instant {
        time::Instant::now().into_std()
    }

    #[track_caller]
    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<time::Sleep>() {
            Some(ours) => ours.reset(deadline.into()),
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

impl Sleep for time::Sleep {}
