//! A timer of the kernel as one more source of the poller.
//!
//! # What it costs
//!
//! Setting it is a system call, a poll without a timeout is cheaper than one with a timeout (which starts and
//! stops a timer of the kernel at each poll). So it is set only when the deadline is another than the one it
//! is set for, and stays set from turn to turn. The deadline of a turn is the earliest of the shards' lower
//! bounds, which timeouts that are registered and given up again do not move: a server with a timeout per
//! connection sets the clock about once per length of a timeout, and saves the timeout of every poll. Without
//! timers there is no call. Rejected: the millisecond timeout for far deadlines and the clock for the last
//! milliseconds: one more wake for each deadline, and the poll's timeout costs as before.
//!
//! The clock is never stopped. If its timer was cancelled it rings once for nothing; stopping it would be a
//! call, too.
//!
//! The first sleep that has a deadline makes it: to make, register and close a descriptor is a quarter of the
//! cost of starting and dropping a `LocalRuntime`, and many of those never wait for time. If the system gives
//! no descriptor then, that sleep ends by the poller's timeout, late by a millisecond, and the next one asks
//! again. Rejected: to make it with the poller, so that the lack is an error of the builder.
//!
//! # Why every deadline rings
//!
//! The holder of the seat registers it with the poller before it sets it for the first time, so no ring comes
//! where no poller hears it. The descriptor is edge-triggered and never read. Each setting starts from "not
//! expired", so each expiry is an edge of its own, which epoll keeps until the next poll. After a ring the
//! clock counts as not set, so whatever the deadline of the next sleep is, the clock is set for it. In
//! between, it is set for a moment in the future, or its ring is on its way. That holds while the driver's
//! clock goes with the kernel's: when it has stood still, the same deadline is another moment, and the holder
//! of the seat calls `forget` first.
//!
//! It is set in time that remains and not in time of day: `Instant` and this clock are the same clock of the
//! kernel (`CLOCK_MONOTONIC`), but `Instant` does not tell its value. The time between the reading of `now`
//! and the call is lateness, and no more than a microsecond (three for the first, which makes the clock)
//! unless the thread is preempted there. It cannot ring early.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::CLOCK;

pub(in crate::engine::driver) struct AlarmClock {
    /// `None` until a sleep has a deadline.
    timer: Option<TimerFd>,
    /// The deadline that it is set for; `None` when it has rung, or was never set.
    set_for: Option<u64>,
}

impl AlarmClock {
    /// A clock that takes nothing of the system before it is set.
    pub(in crate::engine::driver) fn new() -> Self {
        Self { timer: None, set_for: None }
    }

    /// How long the poller of `registry`, the same at each call, may block so as to rise at `deadline`;
    /// `None`: the clock wakes it.
    pub(in crate::engine::driver) fn set(
        &mut self,
        registry: &Registry,
        now: u64,
        deadline: u64,
    ) -> Option<Duration> {
        if self.set_for == Some(deadline) {
            return None;
        }
        // Zero would stop the clock; besides, there is no time left to sleep.
        if deadline <= now {
            return Some(Duration::ZERO);
        }
        if self.ring_in(registry, Duration::from_nanos(deadline - now)).is_err() {
            // Descriptors are lacking. The poller's timeout is coarse, but no thread waits for ever. What an
            // earlier setting has left is of no harm: its ring is one turn for nothing.
            return Some(super::until(now, deadline));
        }
        self.set_for = Some(deadline);
        None
    }

    fn ring_in(&mut self, registry: &Registry, left: Duration) -> io::Result<()> {
        let timer = match &mut self.timer {
            Some(timer) => timer,
            none => none.insert(make(registry)?),
        };
        let left = Expiration::OneShot(TimeSpec::from_duration(left));
        Ok(timer.set(left, TimerSetTimeFlags::empty())?)
    }

    /// Its deadline counts no longer, because deadlines are nearer now, or farther off: the next one is set,
    /// whatever it is.
    pub(in crate::engine::driver) fn forget(&mut self) {
        self.set_for = None;
    }

    /// Learns what the poller has returned, and with it, whether the clock has rung.
    pub(in crate::engine::driver) fn look_at(&mut self, events: &mio::Events) {
        if self.set_for.is_some() && events.iter().any(|event| event.token() == CLOCK) {
            self.set_for = None;
        }
    }
}

/// A timer that rings in the poller of `registry`.
#[cold]
fn make(registry: &Registry) -> io::Result<TimerFd> {
    let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
    let descriptor = timer.as_fd().as_raw_fd();
    registry.register(&mut SourceFd(&descriptor), CLOCK, Interest::READABLE)?;
    Ok(timer)
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
