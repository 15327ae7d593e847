//! The system's poller behind its lock, and how a thread that sleeps in it is woken: the seat is the right to
//! hold the lock.
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
//! | `COALESCING` (2) | the holder coalesces timers, or is about to: it sleeps for `DELAY_NS` at most |
//! | larger: a deadline | the holder sleeps until then, or is about to; `u64::MAX`: no end |
//!
//! | from | by | to | and then |
//! |---|---|---|---|
//! | `AWAKE` | holder, before it blocks (`announce`) | its deadline | re-reads the timers, blocks |
//! | `AWAKE` | holder that coalesces | `COALESCING` | blocks, without reading the timers again |
//! | `NOTIFIED` | holder, before it blocks | `AWAKE` | does not block |
//! | any | holder, after it blocked (`rise`) | `AWAKE` | |
//! | `AWAKE`, `NOTIFIED` | `wake` | `NOTIFIED` | nothing: no sleeper |
//! | a deadline, `COALESCING` | `wake` | `NOTIFIED` | rings |
//! | a deadline later than the new one | `deadline_moved` | `AWAKE` | rings |
//! | any other | `deadline_moved` | same | nothing |
//!
//! To ring is to write to the poller's one `mio::Waker`. Only the step away from a sleep rings,
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
//! wrote before it is visible to the holder after its turn (Release and Acquire on the word; every
//! step in between is a read-modify-write, which goes on with the release sequence). Models:
//! `poller/loom.rs`, the word alone and the whole seat; over two holders,
//! `a_wake_while_the_seat_changes_hands_reaches_one_of_the_two`.
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
//! A turn with a limit of zero cannot sleep, so it does none of this. A sleep that coalesces timers
//! (`coalescing`) announces an end that no deadline comes before, so that no registrar rings, and ends so
//! soon that a timer which it sleeps past is late by no more than `DELAY_NS` allows every timer.

use super::alarm_clock::AlarmClock;
use super::clock::ClockOffset;
use super::selector::{Bell, Poll, Registry};
use crate::engine::sync_shim;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering, fence};
use crate::engine::tokio_note::NOTE;
use mio::Token;
use std::io;
use std::time::Duration;

/// Events fetched by one system call. Enough that the call is a small part of the work on its
/// events; a larger batch keeps the first task of it waiting, and other threads out of the seat and
/// of the table of sources.
const EVENTS_PER_TURN: usize = 256;

pub(super) struct Poller {
    poll: Poll,
    pub(super) events: mio::Events,
    alarm_clock: AlarmClock,
    /// The offset of the driver's clock when `alarm_clock` was set.
    offset: ClockOffset,
    /// The time of the last turn that fired timers.
    pub(super) served: u64,
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
    pub(super) fn new(poll: Poll) -> Self {
        let events = mio::Events::with_capacity(EVENTS_PER_TURN);
        Self { poll, events, alarm_clock: AlarmClock::new(), offset: None, served: 0 }
    }

    /// The driver's clock has this offset now.
    pub(super) fn follow(&mut self, offset: ClockOffset) {
        if offset != self.offset {
            self.offset = offset;
            self.alarm_clock.forget();
        }
    }

    pub(super) fn poll(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        self.poll.poll(&mut self.events, timeout)?;
        self.alarm_clock.look_at(&self.events);
        Ok(())
    }

    /// Blocks until there is an event, and no longer than until `end`.
    pub(super) fn sleep(&mut self, end: SleepEnd) -> io::Result<()> {
        let (clock, registry) = (&mut self.alarm_clock, self.poll.registry());
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

/// The token of the poller's waker. No source has it: a [`Key`](crate::engine::slab::Key) is never as large.
pub(super) const ALARM: Token = Token(usize::MAX);

const AWAKE: u64 = 0;
const NOTIFIED: u64 = 1;
pub(super) const COALESCING: u64 = 2;

/// The alarm word of the table above, apart from the bell, so that it can be modelled.
pub(super) struct AlarmWord(AtomicU64);

impl AlarmWord {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(AWAKE))
    }

    /// The holder is about to sleep until `wake_at`. Returns whether it may: if so it reads the timers once
    /// more, and sleeps no longer than they say. Otherwise a thread has called `wake`.
    #[must_use = "a holder that sleeps although it is wanted may sleep for ever"]
    pub(super) fn announce(&self, wake_at: u64) -> bool {
        let wake_at = wake_at.max(COALESCING);
        // Ordering: Acquire pairs with the Release in `notify`: what its caller has written must be seen if
        // the sleep is called off. No Release: no thread reads what the holder has written before.
        let announced =
            self.0.compare_exchange(AWAKE, wake_at, Ordering::Acquire, Ordering::Acquire);
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
    pub(super) fn rise(&self) {
        // Ordering: Acquire pairs with the Release in `notify`. A store in the place of the swap would not
        // see what the callers of `wake` have written.
        self.0.swap(AWAKE, Ordering::Acquire);
    }

    /// The holder is wanted: ends its sleep, or calls off the next one. Returns whether it sleeps, and the
    /// caller has to ring.
    #[must_use = "without the ring the sleeper may sleep for ever"]
    pub(super) fn notify(&self) -> bool {
        // Ordering: Release pairs with `announce` and `rise`. Wakes before this one stay visible, because a
        // read-modify-write goes on with their release sequences. Reading first, and writing only what is
        // not there yet, would not publish this caller's writes.
        self.0.swap(NOTIFIED, Ordering::Release) >= COALESCING
    }

    /// A shard's earliest deadline has become `deadline`, and has been published: ends a sleep that would
    /// last longer. Returns whether there is one, and the caller has to ring.
    #[must_use = "without the ring the sleeper may sleep for ever"]
    pub(super) fn deadline_moved(&self, deadline: u64) -> bool {
        // Ordering: partner of the fence in `announce`; see the header. The word itself needs
        // nothing more.
        fence(Ordering::SeqCst);
        let wake_at = self.0.load(Ordering::Relaxed);
        if wake_at < COALESCING || wake_at <= deadline {
            return false;
        }
        // Ordering: Relaxed: a read-modify-write goes on with the release sequence of a `wake` before it.
        let exchanged =
            self.0.compare_exchange(wake_at, AWAKE, Ordering::Relaxed, Ordering::Relaxed);
        exchanged.is_ok()
    }
}

/// Tells a sleeper in the poller that it is wanted, or that a deadline has moved forward.
pub(crate) struct Alarm {
    pub(super) word: AlarmWord,
    bell: Bell,
}

impl Alarm {
    /// The alarm of a poller; there must be only one, mio allows a single waker per poller.
    pub(crate) fn new(registry: &Registry) -> io::Result<Self> {
        Ok(Self { word: AlarmWord::new(), bell: Bell::new(registry, ALARM)? })
    }

    /// A timer shard's earliest deadline is now this one, in nanoseconds since the timers' epoch.
    /// Call it after the deadline has been published. Cheap unless a thread sleeps past it.
    pub(crate) fn deadline_moved(&self, deadline_ns: u64) {
        if self.word.deadline_moved(deadline_ns) {
            self.ring();
        }
    }

    /// Makes the current sleep, or else the next one, end at once.
    pub(super) fn wake(&self) {
        if self.word.notify() {
            self.ring();
        }
    }

    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    pub(super) fn has_sleeper(&self) -> bool {
        // Ordering: only tests look; the strongest, so that none of them has to argue.
        self.word.0.load(Ordering::SeqCst) >= COALESCING
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

#[cfg(all(test, liten_loom))]
mod loom;
