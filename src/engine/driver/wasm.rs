//! The driver on wasm: time alone. What waits for the host is `wasi::Reactor`'s.
//!
//! One thread registers timers, waits and fires them. So no thread has to be woken when an earlier deadline
//! comes, and there is no seat to be had: the code that lets the host block asks for the [`Driver::limit`]
//! first, and for what is [due](Driver::expire_due) afterwards.

pub(crate) mod clock;
mod paused_clock;
pub(crate) mod timers;
pub(crate) mod wheel;

use crate::engine::sync_shim::{Arc, Used};
use clock::QuiescentPoints;
use std::task::Waker;
use std::time::Duration;
use timers::Timers;

/// Noted when a timer is set: until then none can be due.
static TIMERS: Used = Used::new();

/// The timers, and the futures that wait until there is nothing to do.
pub(crate) struct Driver {
    timers: Timers,
    quiescent_points: QuiescentPoints,
}

impl Driver {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            timers: Timers::new(1, Arc::new(Alarm)),
            quiescent_points: QuiescentPoints::new(),
        })
    }

    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    pub(crate) fn quiescent_points(&self) -> &QuiescentPoints {
        &self.quiescent_points
    }

    /// How long the host may block before a timer is due; `None`: no timer brings an end by itself.
    pub(crate) fn limit(&self) -> Option<Duration> {
        if self.clock().is_stopped() || !TIMERS.is_noted() {
            return None;
        }
        let deadline = self.timers.next_deadline()?;
        Some(Duration::from_nanos(deadline.saturating_sub(self.timers.now_ns())))
    }

    /// Moves the wakers of all timers that are due into `wakes`.
    pub(crate) fn expire_due(&self, wakes: &mut Vec<Waker>) {
        if TIMERS.is_noted() && self.timers.next_deadline().is_some() {
            self.timers.expire_due(wakes);
        }
    }

    /// Nothing can be registered from now on; the wakers of all timers go into `wakes`.
    pub(crate) fn close(&self, wakes: &mut Vec<Waker>) {
        self.timers.close(wakes);
    }

    /// The one thread does not sleep while it calls this.
    fn wake(&self) {}
}

/// Does nothing: the thread that registers a timer is the one that waits for it.
pub(crate) struct Alarm;

impl Alarm {
    /// Called for the first timer there is, and for others.
    fn deadline_moved(&self, _deadline_ns: u64) {
        TIMERS.note();
    }
}
