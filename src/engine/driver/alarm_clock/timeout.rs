//! The poller's own timeout: no clock at all.

use std::time::Duration;

use crate::engine::driver::selector::Registry;

pub(in crate::engine::driver) struct AlarmClock;

impl AlarmClock {
    pub(in crate::engine::driver) fn new() -> Self {
        Self
    }

    /// How long the poller may block so as to rise at `deadline`.
    pub(in crate::engine::driver) fn set(
        &mut self,
        _registry: &Registry,
        now: u64,
        deadline: u64,
    ) -> Option<Duration> {
        Some(super::until(now, deadline))
    }

    /// There is nothing to forget.
    pub(in crate::engine::driver) fn forget(&mut self) {}

    /// Learns what the poller has returned.
    pub(in crate::engine::driver) fn look_at(&mut self, _events: &mio::Events) {}
}
