//! Times of this process, as those of the protocol: points on the system's clock.

use prost_types::Timestamp;
use std::time::{Instant, SystemTime};

/// One point on both clocks. All times are relative to it, so that their differences are true even if the
/// system's clock is set meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct WallClock {
    instant: Instant,
    time: SystemTime,
}

impl WallClock {
    pub(crate) fn new() -> Self {
        Self { instant: Instant::now(), time: SystemTime::now() }
    }

    pub(crate) fn stamp(&self, instant: Instant) -> Timestamp {
        let time = match instant.checked_duration_since(self.instant) {
            Some(later) => self.time + later,
            None => self.time - self.instant.duration_since(instant),
        };
        time.into()
    }
}
