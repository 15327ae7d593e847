//! The one seat in front of the poller: what its holder does, and for how long it may sleep.
//!
//! # How a sleep ends by itself
//!
//! At the earliest timer by the alarm clock (`alarm_clock`), which is as exact as the system allows; at the
//! caller's limit by the poller's timeout, which is coarse: a limit only makes the holder look around, and no
//! task waits for that moment. The limit is rounded up before it is announced in the alarm's word. Otherwise
//! a timer between the announced end and the real one would not ring, and would be as late as the timeout is
//! coarse. Where timers are coalesced the two ends differ on purpose.

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;

use crate::engine::nanos::nanos;
use crate::engine::tokio_note::NOTE;
use std::io;
use std::task::Waker;
use std::time::Duration;

use super::Driver;
use super::alarm_clock::{CLOCK, LONGEST_SLEEP};
use super::poller::{ALARM, AlarmSleep, COALESCING, Poller, SleepEnd};
use super::readiness::Sources;
use crate::engine::sync_shim::{Mutex, MutexGuard};

/// Callers' limits are rounded up to this, so that the alarm word names the true end of the sleep: it is
/// what epoll counts in.
const LIMIT_UNIT_NS: u64 = 1_000_000;

/// The right to poll. The holder drops this before it calls a waker.
pub(crate) struct SeatGuard<'a> {
    driver: &'a Driver,
    pub(super) poller: MutexGuard<'a, Poller>,
    /// How many wakers of the last turn are those of timers.
    fired: usize,
}

impl SeatGuard<'_> {
    /// One round: waits, dispatches the events that have come, expires timers. Moves every waker into `wakes`
    /// and calls none.
    ///
    /// Waits until something happens, at most `limit`, and not past the earliest timer or a
    /// `Driver::wake`. It may return early and empty-handed: after a signal, a late ring, or when
    /// the timers only had to sort themselves.
    pub(crate) fn turn(&mut self, limit: Option<Duration>, wakes: &mut Vec<Waker>) {
        let driver = self.driver;
        // Before `fall_asleep` reads the time: what is set by an old time, under a new offset, would stay.
        self.poller.follow(driver.clock().offset());
        let polled = match driver.fall_asleep(limit, self.poller.served) {
            MaySleep::No => self.poller.poll(Some(Duration::ZERO)),
            MaySleep::Until(end) => {
                let polled = self.poller.sleep(end);
                driver.alarm.word.rise();
                polled
            }
        };
        if has_events(polled) {
            dispatch_events(&self.poller.events, &driver.sources, wakes);
        }
        let others = wakes.len();
        if driver.timers.next_deadline().is_some() {
            let now = driver.timers.expire_due(wakes);
            if wakes.len() > others {
                self.poller.served = now;
            }
        }
        self.fired = wakes.len() - others;
    }

    /// How many of the wakers that the last turn brought are those of timers.
    pub(crate) fn fired(&self) -> usize {
        self.fired
    }
}

impl Drop for SeatGuard<'_> {
    fn drop(&mut self) {
        // The lock opens after this, when the fields are dropped.
        self.driver.seat.note_change();
    }
}

/// Whether the holder may sleep.
enum MaySleep {
    /// There is something to do already.
    No,
    /// Yes; the alarm word says so, and is to be reset afterwards.
    Until(SleepEnd),
}

impl Driver {
    /// Takes the seat if it is free. Never waits.
    pub(crate) fn try_seat(&self) -> Option<SeatGuard<'_>> {
        let poller = self.seat.poller.try_lock()?;
        self.seat.note_change();
        Some(SeatGuard { driver: self, poller, fired: 0 })
    }

    /// Decides how long the poller may block, and announces it.
    fn fall_asleep(&self, limit: Option<Duration>, served: u64) -> MaySleep {
        if limit == Some(Duration::ZERO) {
            return MaySleep::No;
        }
        if self.clock().is_stopped() {
            // No deadline comes nearer by waiting. A new timer rings all the same, as the caller may want to
            // bring the clock there. A call that lets the clock go on rings, too.
            let limit = limit.map(whole_units);
            return self.fall_asleep_until(u64::MAX, SleepEnd { now: 0, deadline: None, limit });
        }
        if limit.is_none() && self.timers.next_deadline().is_none() {
            return self.fall_asleep_without_end();
        }
        let now = self.timers.now_ns();
        let limit = limit.map(whole_units);
        let limit_at = limit.map_or(u64::MAX, |limit| now.saturating_add(nanos(limit)));
        if let Some(end) = self.timers.coalesced_until(served, now) {
            // Timers that are close together wait for each other (`coalescing`). A new one is as late as the
            // others at most, so it need not ring, nor be looked for.
            let deadline = Some(end.min(limit_at));
            return self.fall_asleep_until(COALESCING, SleepEnd { now, deadline, limit: None });
        }
        let wake_at = limit_at.min(self.timers.next_deadline().unwrap_or(u64::MAX));
        if wake_at <= now || self.alarm.word.announce(wake_at) == AlarmSleep::CalledOff {
            return MaySleep::No;
        }
        // Once more: a timer registered before the announcement did not ring.
        let deadline = self.timers.next_deadline();
        // A timer behind the limit is the next turn's: the clock would be set for it for nothing.
        let deadline = deadline.filter(|&deadline| deadline < limit_at);
        MaySleep::Until(SleepEnd { now, deadline, limit })
    }

    /// Announces a sleep until `wake_at`; it ends at `end` at the latest.
    fn fall_asleep_until(&self, wake_at: u64, end: SleepEnd) -> MaySleep {
        match self.alarm.word.announce(wake_at) {
            AlarmSleep::CalledOff => MaySleep::No,
            AlarmSleep::Begins => MaySleep::Until(end),
        }
    }

    /// The common case of a server between two events: no timer, so no reading of the clock.
    fn fall_asleep_without_end(&self) -> MaySleep {
        if self.alarm.word.announce(u64::MAX) == AlarmSleep::CalledOff {
            return MaySleep::No;
        }
        if self.timers.next_deadline().is_some() {
            // Registered before the announcement, so it did not ring: the next turn sees it.
            self.alarm.word.rise();
            return MaySleep::No;
        }
        MaySleep::Until(SleepEnd { now: 0, deadline: None, limit: None })
    }
}

fn whole_units(limit: Duration) -> Duration {
    let units = nanos(limit).div_ceil(LIMIT_UNIT_NS);
    Duration::from_nanos(units.saturating_mul(LIMIT_UNIT_NS)).min(LONGEST_SLEEP)
}

/// mio does not retry a poll that a signal interrupted (`Poll::poll` says so). No event is consumed
/// by it, so the turn goes on without events, and the caller polls again when it has looked around.
/// Any other error means that the poller itself is broken, and every source with it.
fn has_events(polled: io::Result<()>) -> bool {
    match polled {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
        Err(error) => panic!("the driver's poller failed: {error}{NOTE}"),
    }
}

/// Hands each event to its source. A token whose source has been deregistered finds nothing, even
/// if its place in the table has been given away since: the generation differs.
fn dispatch_events(events: &mio::Events, sources: &Mutex<Sources>, wakes: &mut Vec<Waker>) {
    let is_source = |event: &&mio::event::Event| ![ALARM, CLOCK].contains(&event.token());
    let mut events = events.iter().filter(is_source).peekable();
    if events.peek().is_none() {
        return;
    }
    // One lock for the batch. Under it nothing runs but the readiness of the sources.
    let sources = sources.lock();
    for event in events {
        if let Some(readiness) = sources.find(event.token()) {
            readiness.set(event.into(), wakes);
        }
    }
}
