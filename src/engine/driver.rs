//! The driver: waits for I/O events and for timers, and collects the wakers of the tasks that wait for them.
//!
//! It knows sources (mio), deadlines, and `std::task::Waker`; of tasks and workers it knows no more than
//! their numbers. It starts no thread: any thread may drive it, one at a time.
//!
//! | file | what it is |
//! |---|---|
//! | `poller` | the system's poller behind its lock, and how a thread that sleeps in it is woken |
//! | `selector` | the system's selector: mio's, or one without a system for the explored schedules |
//! | `alarm_clock` | what ends its sleep at a deadline |
//! | `registration` | a source's entry with the driver |
//! | `readiness` | what is known about one source, what waits for it, and the table of all |
//! | `timers` | the timers of all workers, a wheel for each |
//! | `wheel` | deadlines in the order of time; pure |
//! | `coalescing` | when timers that are close together share a turn |
//! | `clock` | the driver's time, and the futures that wait until nothing runs and nothing is queued |
//! | `paused_clock` | what can be done while it stands still |
//!
//! # A turn
//!
//! One round of the driver is a *turn*, made by the thread in the *seat* (`SeatGuard::turn`):
//!
//! 1. find the earliest timer, announce the sleep (`Alarm`), set the clock for its end
//!    (`alarm_clock`), block in the poller;
//! 2. write each event into the readiness of its source, and take the wakers of its waiters
//!    (`readiness`);
//! 3. take the wakers of the timers whose time has come, from all shards (`timers`, `wheel`);
//! 4. return. The caller leaves the seat, and calls the wakers *then*.
//!
//! The last point is a rule. A wake may run a task's own code, and the first of many tasks may be
//! long; the seat must be free for another thread by then, and no lock of the driver be held.
//!
//! # How a sleep ends by itself
//!
//! At the earliest timer by the alarm clock (`alarm_clock`), which is as exact as the system allows; at the
//! caller's limit by the poller's timeout, which is coarse: a limit only makes the holder look around, and no
//! task waits for that moment. The limit is rounded up before it is announced in the alarm's word. Otherwise
//! a timer between the announced end and the real one would not ring, and would be as late as the timeout is
//! coarse. Where timers are coalesced the two ends differ on purpose.
//!
//! # Leader and followers
//!
//! A thread that has nothing better to do may ask for the seat (`try_seat`) and becomes the holder: an
//! idle worker, a thread in `block_on` whose future waits, the runtime's watchdog. The
//! others sleep elsewhere. With the holder being a worker, the task that an event concerns runs on
//! the very thread that fetched it; a thread that did nothing but poll would have to hand each
//! event over, and at few connections that hand-over costs up to a third of a whole request. The
//! price is that a holder that leaves with events leaves the seat empty. Filling it again is not the
//! driver's business; `is_attended` and `attendance` let the runtime's watchdog see it.
//!
//! A busy worker takes the seat now and then with a limit of zero: it collects the events that have
//! come already, and does not sleep.
//!
//! # Locks
//!
//! A thread that takes several locks takes them in one of two orders: the seat, the table of sources, the
//! waiters of a source; or the seat, the wheel of a shard. Any of them may be left out. The holder of the
//! seat may also take the lock of the clock, or of the quiescent points, and no other one while it has that.
//! A thread that holds another lock never takes the seat, and no thread calls or drops a waker while it holds
//! a lock.
//!
//! # A clock that stands still
//!
//! Tests may stop the driver's clock (`clock`). No thread sleeps until a deadline then: the code that drives
//! the runtime finds out that nothing runs and nothing is queued, which is a *quiescent point*. It calls
//! `begin_quiescent_point`, which brings the clock to the next deadline.
//!
//! # Closing
//!
//! `close` ends all waits with an error, so that the tasks behind them, which may own the sources,
//! are let go of: a driver that kept their wakers would keep them and, through their registrations,
//! itself.

mod alarm_clock;
pub(crate) mod clock;
mod coalescing;
mod paused_clock;
mod poller;
pub(crate) mod readiness;
pub(crate) mod registration;
mod selector;
pub(crate) mod timers;
pub(crate) mod wheel;

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;

use crate::engine::nanos::nanos;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, MutexGuard};
use crate::engine::tokio_note::NOTE;
use alarm_clock::{CLOCK, LONGEST_SLEEP};
use clock::QuiescentPoints;
use poller::{ALARM, Alarm, COALESCING, Poller, SleepEnd};
use readiness::{Readiness, Sources};
use selector::{Poll, Registry};
use std::io;
use std::task::Waker;
use std::time::Duration;
use timers::Timers;

/// Places in a list for the wakers of a round, which a thread that takes the seat makes when it starts and
/// keeps: more than most rounds bring. So a program whose tasks do not allocate sees no allocation later.
pub(crate) const COMMON_WAKES: usize = 64;

/// How many sources are looked at under the lock of their table.
const LISTED_AT_ONCE: usize = 64;

/// Callers' limits are rounded up to this, so that the alarm word names the true end of the sleep: it is
/// what epoll counts in.
const LIMIT_UNIT_NS: u64 = 1_000_000;

/// The poller, the sources registered with it, and the timers.
pub(crate) struct Driver {
    /// The seat, which the thread has that has locked this.
    poller: Mutex<Poller>,
    /// Counts each time the seat is taken or left, so it is odd while a thread holds the seat. Written by the
    /// holder only.
    attendance: AtomicU64,
    sources: Mutex<Sources>,
    /// Registers without the seat: the selector takes new sources while a thread sleeps in it.
    registry: Registry,
    timers: Timers,
    alarm: Arc<Alarm>,
    quiescent_points: QuiescentPoints,
}

impl Driver {
    /// A driver with an empty seat; `timer_shards` is the number of timer wheels: one for each worker that
    /// the runtime begins with, or for each processor if those are more. Workers behind that share the last
    /// one with all other threads.
    ///
    /// # Errors
    ///
    /// The system gives no selector, mostly for want of file descriptors: on Linux a driver takes
    /// three, and one more when a sleep first ends at a timer (`alarm_clock`).
    pub(crate) fn new(timer_shards: usize) -> io::Result<Arc<Self>> {
        let poll = Poll::new()?;
        let registry = poll.registry().try_clone()?;
        let alarm = Arc::new(Alarm::new(&registry)?);
        Ok(Arc::new(Self {
            poller: Mutex::new(Poller::new(poll)),
            attendance: AtomicU64::new(0),
            sources: Mutex::new(Sources::new()),
            registry,
            timers: Timers::new(timer_shards, alarm.clone()),
            alarm,
            quiescent_points: QuiescentPoints::new(),
        }))
    }

    /// Whether a thread holds the seat: a hint, which may be wrong by the time it is read.
    pub(crate) fn is_attended(&self) -> bool {
        // Ordering: Relaxed. The partner is `note_change`. The watchdog and `SignalSource`, which act on the
        // answer, are right with an old one, too.
        self.attendance.load(Ordering::Relaxed) % 2 == 1
    }

    /// Grows each time the seat is taken: a hint for the watchdog and for signals, which only ask whether it
    /// has changed.
    pub(crate) fn attendance(&self) -> u64 {
        // Ordering: Relaxed, as in `is_attended`. Rounded up, so that it grows when the seat is taken and not
        // when it is left.
        self.attendance.load(Ordering::Relaxed).div_ceil(2)
    }

    /// By the holder: it has just taken the seat, or is about to leave it.
    ///
    /// Ordering: the holder is the only writer, and the lock hands the count from one holder to the
    /// next.
    fn note_change(&self) {
        let count = self.attendance.load(Ordering::Relaxed);
        self.attendance.store(count + 1, Ordering::Relaxed);
    }

    /// Makes the sleep in the poller end, or, if no thread sleeps there, the next one not begin. Never
    /// lost; costs a system call only if a thread sleeps, and only once per sleep. What was written
    /// before it is visible after that turn.
    pub(crate) fn wake(&self) {
        self.alarm.wake();
    }

    /// How many sources are registered.
    pub(crate) fn source_count(&self) -> usize {
        self.sources.lock().table.len()
    }

    /// Calls `each` with what is known of each source. The table is locked for some of them at a time.
    pub(crate) fn list_sources(&self, mut each: impl FnMut(&Readiness)) {
        let (mut from, mut list) = (Some(0), Vec::<Arc<Readiness>>::with_capacity(LISTED_AT_ONCE));
        while let Some(next) = from {
            let add = |readiness: &Arc<Readiness>| list.push(readiness.clone());
            from = self.sources.lock().table.list(next, LISTED_AT_ONCE, add);
            list.drain(..).for_each(|readiness| each(&readiness));
        }
    }

    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    pub(crate) fn quiescent_points(&self) -> &QuiescentPoints {
        &self.quiescent_points
    }

    /// Refuses everything from now on: registrations fail, every wait for a source ends with an
    /// error, and the wakers of all waits and timers go into `wakes`, to be called by the caller.
    /// Does not wake the seat.
    pub(crate) fn close(&self, wakes: &mut Vec<Waker>) {
        let closed = self.sources.lock().close();
        for readiness in closed.iter() {
            readiness.shutdown(wakes);
        }
        self.timers.close(wakes);
    }
}

/// The right to poll. The holder drops this before it calls a waker.
pub(crate) struct SeatGuard<'a> {
    driver: &'a Driver,
    poller: MutexGuard<'a, Poller>,
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
            None => self.poller.poll(Some(Duration::ZERO)),
            Some(end) => {
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
        self.driver.note_change();
    }
}

impl Driver {
    /// Takes the seat if it is free. Never waits.
    pub(crate) fn try_seat(&self) -> Option<SeatGuard<'_>> {
        let poller = self.poller.try_lock()?;
        self.note_change();
        Some(SeatGuard { driver: self, poller, fired: 0 })
    }

    /// Decides how long the poller may block, and announces it. `None`: there is something to do already.
    /// Otherwise the alarm word is to be reset afterwards.
    fn fall_asleep(&self, limit: Option<Duration>, served: u64) -> Option<SleepEnd> {
        if limit == Some(Duration::ZERO) {
            return None;
        }
        let limit = limit.map(whole_units);
        if self.clock().is_stopped() {
            // No deadline comes nearer by waiting. A new timer rings all the same, as the caller may want to
            // bring the clock there. A call that lets the clock go on rings, too.
            let end = SleepEnd { now: 0, deadline: None, limit };
            return self.alarm.word.announce(u64::MAX).then_some(end);
        }
        if limit.is_none() && self.timers.next_deadline().is_none() {
            return self.fall_asleep_without_end();
        }
        let now = self.timers.now_ns();
        let limit_at = limit.map_or(u64::MAX, |limit| now.saturating_add(nanos(limit)));
        if let Some(end) = self.timers.coalesced_until(served, now) {
            // Timers that are close together wait for each other (`coalescing`). A new one is as late as the
            // others at most, so it need not ring, nor be looked for.
            let end = SleepEnd { now, deadline: Some(end.min(limit_at)), limit: None };
            return self.alarm.word.announce(COALESCING).then_some(end);
        }
        let wake_at = limit_at.min(self.timers.next_deadline().unwrap_or(u64::MAX));
        if wake_at <= now || !self.alarm.word.announce(wake_at) {
            return None;
        }
        // Once more: a timer registered before the announcement did not ring.
        let deadline = self.timers.next_deadline();
        // A timer behind the limit is the next turn's: the clock would be set for it for nothing.
        let deadline = deadline.filter(|&deadline| deadline < limit_at);
        Some(SleepEnd { now, deadline, limit })
    }

    /// The common case of a server between two events: no timer, so no reading of the clock.
    fn fall_asleep_without_end(&self) -> Option<SleepEnd> {
        if !self.alarm.word.announce(u64::MAX) {
            return None;
        }
        if self.timers.next_deadline().is_some() {
            // Registered before the announcement, so it did not ring: the next turn sees it.
            self.alarm.word.rise();
            return None;
        }
        Some(SleepEnd { now: 0, deadline: None, limit: None })
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
    // One lock for the batch. Under it nothing runs but the readiness of the sources.
    let mut locked = None;
    for event in events {
        // No adapters of iterators: in a debug build each of them is a call for each event.
        let token = event.token();
        if token == ALARM || token == CLOCK {
            continue;
        }
        if let Some(readiness) = locked.get_or_insert_with(|| sources.lock()).find(token) {
            readiness.set(event.into(), wakes);
        }
    }
}
