//! The system's poller behind its lock: the seat is the right to hold it.
//!
//! [`Seat`] is here and not in `seat.rs`, so that the driver, which owns it, and `seat.rs`, which uses the
//! driver, do not import each other.

use super::alarm_clock::AlarmClock;
use super::clock::ClockOffset;
use super::selector::Poll;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::sync_shim::{self, Mutex};
use std::io;
use std::time::Duration;

/// Events fetched by one system call. Enough that the call is a small part of the work on its
/// events; a larger batch keeps the first task of it waiting, and other threads out of the seat and
/// of the table of sources.
const EVENTS_PER_TURN: usize = 256;

/// The place in front of the poller: one thread at a time.
pub(super) struct Seat {
    pub(super) poller: Mutex<Poller>,
    /// Counts each time the seat is taken or left, so it is odd while a thread holds the seat. Written by the
    /// holder only.
    attendance: AtomicU64,
}

pub(super) struct Poller {
    poll: Poll,
    pub(super) events: mio::Events,
    clock: AlarmClock,
    /// The offset of the driver's clock when `clock` was set.
    offset: ClockOffset,
    /// The time of the last turn that fired timers.
    pub(super) served: u64,
}

impl Seat {
    pub(super) fn new(poll: Poll) -> Self {
        let clock = AlarmClock::new();
        let events = mio::Events::with_capacity(EVENTS_PER_TURN);
        let poller =
            Mutex::new(Poller { poll, events, clock, offset: ClockOffset::NONE, served: 0 });
        Self { poller, attendance: AtomicU64::new(0) }
    }

    pub(super) fn is_attended(&self) -> bool {
        // Ordering: Relaxed. The partner is `note_change`. The watchdog and `SignalSource`, which act on the
        // answer, are right with an old one, too.
        self.attendance.load(Ordering::Relaxed) % 2 == 1
    }

    pub(super) fn attendance(&self) -> u64 {
        // Ordering: Relaxed, as in `is_attended`. Rounded up, so that it grows when the seat is taken and not
        // when it is left.
        self.attendance.load(Ordering::Relaxed).div_ceil(2)
    }

    /// By the holder: it has just taken the seat, or is about to leave it.
    ///
    /// Ordering: the holder is the only writer, and the lock hands the count from one holder to the
    /// next.
    pub(super) fn note_change(&self) {
        let count = self.attendance.load(Ordering::Relaxed);
        self.attendance.store(count + 1, Ordering::Relaxed);
    }
}

/// When a sleep is over that no thread ends earlier: at the first of the two that are set.
pub(super) struct SleepEnd {
    pub(super) now: u64,
    /// The earliest timer.
    pub(super) deadline: Option<u64>,
    /// The caller's.
    pub(super) limit: Option<Duration>,
}

impl Poller {
    /// The driver's clock has this offset now.
    pub(super) fn follow(&mut self, offset: ClockOffset) {
        if offset != self.offset {
            self.offset = offset;
            self.clock.forget();
        }
    }

    pub(super) fn poll(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.poll.poll(&mut self.events, timeout)?;
        self.clock.look_at(&self.events);
        Ok(())
    }

    /// Blocks until there is an event, and no longer than until `end`.
    pub(super) fn sleep(&mut self, end: SleepEnd) -> io::Result<()> {
        let (clock, registry) = (&mut self.clock, self.poll.registry());
        let until_deadline = end.deadline.and_then(|at| clock.set(registry, end.now, at));
        let timeout = match (until_deadline, end.limit) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        sync_shim::block(timeout, |timeout| {
            self.poll(timeout)?;
            Ok(!self.events.is_empty())
        })
    }
}
