//! The one seat in front of the poller, and how a thread that sleeps in it is woken.
//!
//! # The alarm word
//!
//! One word says whether the holder of the seat sleeps in the poller, and until when. It is what
//! makes a wake cost a system call only when there is a sleeper, and only once per sleep.
//!
//! | word | meaning |
//! |---|---|
//! | `AWAKE` (0) | no thread sleeps: the thread that enters next looks at the timers first |
//! | `NOTIFIED` (1) | as above, and the next sleep is called off |
//! | `FIRST_DEADLINE` (2) | the holder gathers timers, or is about to: it sleeps for some 100 µs |
//! | larger: a deadline | the holder sleeps until then, or is about to; `u64::MAX`: no end |
//!
//! | from | by | to | and then |
//! |---|---|---|---|
//! | `AWAKE` | holder, before it blocks (`announce`) | its deadline | re-reads the timers, blocks |
//! | `NOTIFIED` | holder, before it blocks | `AWAKE` | does not block |
//! | any | holder, after it blocked (`rise`) | `AWAKE` | |
//! | `AWAKE`, `NOTIFIED` | `wake` | `NOTIFIED` | nothing: no sleeper |
//! | a deadline | `wake` | `NOTIFIED` | rings |
//! | a deadline later than the new one | `deadline_moved` | `AWAKE` | rings |
//!
//! To ring is to write to the poller's one `mio::Waker`. Only the step away from a deadline rings,
//! so there is at most one write per sleep. The write may come late, when its sleeper has risen for
//! another reason: then a later sleep ends early for nothing, and its caller looks around and comes
//! back.
//!
//! # No wake is lost
//!
//! `wake` and the holder change the same word, both by read-modify-write, so one of them is first.
//! If `wake` is first, the holder finds `NOTIFIED` and does not block. If the holder is first,
//! `wake` finds the deadline and rings; whether the holder is already inside the system call does
//! not matter, because the `mio::Waker` keeps the ring until the poll. What the caller of `wake`
//! wrote before it is visible to the holder after its turn (release and acquire on the word; every
//! step in between is a read-modify-write and keeps the chain). Models: `seat/loom.rs`, the word alone and
//! the whole seat; over two holders, `a_wake_while_the_seat_changes_hands_reaches_one_of_the_two`.
//!
//! # No earlier deadline is lost
//!
//! Here two words are involved: the word above and the shard's earliest deadline (`next`). The
//! registrar writes `next`, passes a `SeqCst` fence, reads the word. The holder writes the word,
//! passes a `SeqCst` fence, reads every `next`. One of the fences is first in the single order of
//! all such fences. If the registrar's is first, the holder reads the new `next` and sleeps no
//! longer than that. If the holder's is first, the registrar reads the holder's deadline (or
//! something newer) and rings if its own is earlier. Should its exchange fail because the word has
//! changed since, then the holder has risen, and will read `next` before it sleeps again, or
//! another thread has rung. Models `an_earlier_deadline_is_seen_or_rings`, and with the timers
//! `the_first_timer_is_seen_by_a_holder_that_falls_asleep`.
//!
//! A turn with a limit of zero cannot sleep, so it does none of this. Nor does a sleep that gathers timers
//! (`crowd`): it announces an end that no deadline comes before, so that no registrar rings, and ends so soon
//! that a timer which it sleeps past is late by no more than `GATHERING` allows every timer.
//!
//! # How a sleep ends by itself
//!
//! At the earliest timer by the alarm clock (`alarm_clock`), which is as exact as the system allows; at the
//! caller's limit by the poller's timeout, which is coarse: a limit only makes the holder look around, and no
//! task waits for that moment. The limit is rounded up first, so that the word names no earlier end than the
//! true one: a timer between the two would not ring, and be as late as the timeout is coarse. Where timers
//! are gathered the two differ on purpose.

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;

use crate::engine::words::NOTE;
use std::io;
use std::task::Waker;
use std::time::Duration;

use mio::Token;

use super::alarm_clock::{AlarmClock, CLOCK, LONGEST_SLEEP};
use super::clock::Course;
use super::selector::{Bell, Poll, Registry};
use super::timers::nanos;
use super::{Driver, Sources};
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering, fence};
use crate::engine::sync_shim::{self, Mutex, MutexGuard};

/// The token of the poller's waker. No source has it: a [`Key`](crate::engine::slab::Key) is never as large.
const ALARM: Token = Token(usize::MAX);

/// Events fetched by one system call. Enough that the call is a small part of the work on its
/// events; a larger batch keeps the first task of it waiting, and other threads out of the seat and
/// of the table of sources.
const EVENTS_PER_TURN: usize = 256;

/// Callers' limits are rounded up to this, so that the alarm word names the true end of the sleep: it is
/// what epoll counts in.
const LIMIT_UNIT_NS: u64 = 1_000_000;

const AWAKE: u64 = 0;
const NOTIFIED: u64 = 1;
const FIRST_DEADLINE: u64 = 2;

/// The alarm word of the table above, apart from the bell, so that it can be modelled.
struct AlarmWord(AtomicU64);

impl AlarmWord {
    fn new() -> Self {
        Self(AtomicU64::new(AWAKE))
    }

    /// The holder is about to sleep until `wake_at`. False: it must not, a thread has called
    /// `wake`.
    ///
    /// After true the holder reads the timers once more, and sleeps no longer than they say.
    #[must_use]
    fn announce(&self, wake_at: u64) -> bool {
        let wake_at = wake_at.max(FIRST_DEADLINE);
        // Ordering: the release has no reader, but keeps the chain from one `wake` to the next
        // read-modify-write; acquire pairs with `wake`, whose caller's writes must be seen if the
        // sleep is called off.
        let announced =
            self.0.compare_exchange(AWAKE, wake_at, Ordering::AcqRel, Ordering::Acquire);
        if announced.is_err() {
            // Only the one holder writes deadlines, so what it found was NOTIFIED.
            self.rise();
            return false;
        }
        // Ordering: partner of the fence in `deadline_moved`; see the header.
        fence(Ordering::SeqCst);
        true
    }

    /// The holder has slept.
    fn rise(&self) {
        // Ordering: acquire pairs with `wake`; a plain store would lose what its caller had
        // written, and break the chain.
        self.0.swap(AWAKE, Ordering::AcqRel);
    }

    /// True: there is a sleeper, and the caller rings.
    #[must_use]
    fn notify(&self) -> bool {
        // Ordering: release pairs with `announce` and `rise`; acquire lets this wake pass on the
        // ones before it. Reading first, and writing only what is not there yet, would not publish
        // this caller's writes.
        self.0.swap(NOTIFIED, Ordering::AcqRel) >= FIRST_DEADLINE
    }

    /// A shard's earliest deadline has become `deadline`, and has been published. True: the sleeper
    /// would sleep past it, and the caller rings.
    #[must_use]
    fn deadline_moved(&self, deadline: u64) -> bool {
        // Ordering: partner of the fence in `announce`; see the header. The word itself needs
        // nothing more.
        fence(Ordering::SeqCst);
        let wake_at = self.0.load(Ordering::Relaxed);
        if wake_at < FIRST_DEADLINE || wake_at <= deadline {
            return false;
        }
        // Release and acquire only keep the chain between a `wake` and the holder.
        self.0.compare_exchange(wake_at, AWAKE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }
}

/// Tells a sleeper in the poller that it is wanted, or that a deadline has moved forward.
pub(crate) struct Alarm {
    wake_at: AlarmWord,
    bell: Bell,
}

impl Alarm {
    /// The alarm of a poller; there must be only one, mio allows a single waker per poller.
    pub(crate) fn new(registry: &Registry) -> io::Result<Self> {
        Ok(Self { wake_at: AlarmWord::new(), bell: Bell::new(registry, ALARM)? })
    }

    /// A timer shard's earliest deadline is now this one, in nanoseconds since the timers' epoch.
    /// Call it after the deadline has been published. Cheap unless a thread sleeps past it.
    pub(crate) fn deadline_moved(&self, deadline_ns: u64) {
        if self.wake_at.deadline_moved(deadline_ns) {
            self.ring();
        }
    }

    /// Makes the current sleep, or else the next one, end at once.
    pub(super) fn wake(&self) {
        if self.wake_at.notify() {
            self.ring();
        }
    }

    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    pub(super) fn has_sleeper(&self) -> bool {
        // Ordering: only tests look; the strongest, so that none of them has to argue.
        self.wake_at.0.load(Ordering::SeqCst) >= FIRST_DEADLINE
    }

    /// Without the ring the sleeper may sleep for ever, so a failure is not passed over.
    fn ring(&self) {
        loop {
            match self.bell.wake() {
                Ok(()) => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => panic!("the driver's poller cannot be woken: {error}{NOTE}"),
            }
        }
    }
}

/// The place in front of the poller: one thread at a time.
pub(super) struct Seat {
    poller: Mutex<Poller>,
    /// Counts comings and goings, so it is odd while a thread holds the seat. Written by the holder only.
    attendance: AtomicU64,
}

pub(super) struct Poller {
    poll: Poll,
    events: mio::Events,
    clock: AlarmClock,
    /// That of the driver's clock when `clock` was set.
    course: Course,
    /// The time of the last turn that fired timers.
    pub(super) served: u64,
}

impl Seat {
    pub(super) fn new(poll: Poll) -> Self {
        let clock = AlarmClock::new();
        let events = mio::Events::with_capacity(EVENTS_PER_TURN);
        let poller = Mutex::new(Poller { poll, events, clock, course: Course::REAL, served: 0 });
        Self { poller, attendance: AtomicU64::new(0) }
    }

    pub(super) fn is_attended(&self) -> bool {
        // Ordering: a hint. The watchdog and `SignalSource`, which act on it, are right with an old answer,
        // too.
        self.attendance.load(Ordering::Relaxed) % 2 == 1
    }

    pub(super) fn attendance(&self) -> u64 {
        // Ordering: a hint. Rounded up, so that it grows when the seat is taken and not when it is
        // left.
        self.attendance.load(Ordering::Relaxed).div_ceil(2)
    }

    /// Ordering: the holder is the only writer, and the lock hands the count from one holder to the
    /// next.
    fn count(&self) {
        let count = self.attendance.load(Ordering::Relaxed);
        self.attendance.store(count + 1, Ordering::Relaxed);
    }
}

/// The right to poll. Its holder calls no waker; it drops it first.
pub(crate) struct SeatGuard<'a> {
    driver: &'a Driver,
    pub(super) poller: MutexGuard<'a, Poller>,
    /// How many wakers of the last turn are those of timers.
    fired: usize,
}

impl<'a> SeatGuard<'a> {
    pub(super) fn take(driver: &'a Driver) -> Option<Self> {
        let poller = driver.seat.poller.try_lock()?;
        driver.seat.count();
        Some(Self { driver, poller, fired: 0 })
    }

    /// One round: waits, dispatches what has come, expires timers. Moves every waker into `wakes`
    /// and calls none.
    ///
    /// Waits until something happens, at most `limit`, and not past the earliest timer or a
    /// `Driver::wake`. It may return early and empty-handed: after a signal, a late ring, or when
    /// the timers only had to sort themselves.
    pub(crate) fn turn(&mut self, limit: Option<Duration>, wakes: &mut Vec<Waker>) {
        let driver = self.driver;
        // Before `fall_asleep` reads the time: what is set by an old time, under a new course, would stay.
        self.poller.follow(driver.clock().course());
        let polled = match driver.fall_asleep(limit, self.poller.served) {
            Sleep::Not => self.poller.poll(Some(Duration::ZERO)),
            Sleep::Announced(end) => {
                let polled = self.poller.sleep(end);
                driver.alarm.wake_at.rise();
                polled
            }
        };
        if has_events(polled) {
            dispatch(&self.poller.events, &driver.sources, wakes);
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
        self.driver.seat.count();
    }
}

impl Poller {
    /// The driver's clock is on this course now.
    fn follow(&mut self, course: Course) {
        if course != self.course {
            self.course = course;
            self.clock.forget();
        }
    }

    fn poll(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.poll.poll(&mut self.events, timeout)?;
        self.clock.look_at(&self.events);
        Ok(())
    }

    /// Blocks until there is an event, and no longer than until `end`.
    fn sleep(&mut self, end: End) -> io::Result<()> {
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

/// Whether the holder may sleep.
enum Sleep {
    /// There is something to do already.
    Not,
    /// Yes; the alarm word says so, and is to be reset afterwards.
    Announced(End),
}

/// What ends a sleep that no thread ends earlier: the first of the two that are set.
struct End {
    now: u64,
    /// The earliest timer.
    deadline: Option<u64>,
    /// The caller's.
    limit: Option<Duration>,
}

impl Driver {
    /// Decides how long the poller may block, and announces it.
    fn fall_asleep(&self, limit: Option<Duration>, served: u64) -> Sleep {
        if limit == Some(Duration::ZERO) {
            return Sleep::Not;
        }
        if self.clock().is_stopped() {
            return self.fall_asleep_out_of_time(limit);
        }
        if limit.is_none() && self.timers.next_deadline().is_none() {
            return self.fall_asleep_without_end();
        }
        let now = self.timers.now_ns();
        let limit = limit.map(whole_units);
        let limit_at = limit.map_or(u64::MAX, |limit| now.saturating_add(nanos(limit)));
        if let Some(end) = self.timers.gathering(served, now) {
            return self.fall_asleep_gathering(now, end.min(limit_at));
        }
        let wake_at = limit_at.min(self.timers.next_deadline().unwrap_or(u64::MAX));
        if wake_at <= now || !self.alarm.wake_at.announce(wake_at) {
            return Sleep::Not;
        }
        // Once more: a timer registered before the announcement did not ring.
        let deadline = self.timers.next_deadline();
        // A timer behind the limit is the next turn's: the clock would be set for it for nothing.
        let deadline = deadline.filter(|&deadline| deadline < limit_at);
        Sleep::Announced(End { now, deadline, limit })
    }

    /// While the clock stands still no deadline comes nearer by waiting. A new timer rings all the same, as
    /// the caller may want to bring the clock there. A call that lets the clock go on rings, too.
    #[cold]
    fn fall_asleep_out_of_time(&self, limit: Option<Duration>) -> Sleep {
        if !self.alarm.wake_at.announce(u64::MAX) {
            return Sleep::Not;
        }
        Sleep::Announced(End { now: 0, deadline: None, limit: limit.map(whole_units) })
    }

    /// Timers that are close together wait for each other (`crowd`). A new one is as late as the others at
    /// the most, so it need not ring, nor be looked for.
    fn fall_asleep_gathering(&self, now: u64, end: u64) -> Sleep {
        if !self.alarm.wake_at.announce(FIRST_DEADLINE) {
            return Sleep::Not;
        }
        Sleep::Announced(End { now, deadline: Some(end), limit: None })
    }

    /// The common case of a server between two events: no timer, so no reading of the clock.
    fn fall_asleep_without_end(&self) -> Sleep {
        if !self.alarm.wake_at.announce(u64::MAX) {
            return Sleep::Not;
        }
        if self.timers.next_deadline().is_some() {
            // Registered before the announcement, so it did not ring: the next turn sees it.
            self.alarm.wake_at.rise();
            return Sleep::Not;
        }
        Sleep::Announced(End { now: 0, deadline: None, limit: None })
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
fn dispatch(events: &mio::Events, sources: &Mutex<Sources>, wakes: &mut Vec<Waker>) {
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
