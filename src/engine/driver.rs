//! The driver: waits for I/O events and for timers, and collects the wakers of the tasks that wait for them.
//!
//! It knows sources (mio), deadlines, and `std::task::Waker`; of tasks and workers it knows no more than
//! their numbers. It starts no thread: any thread may drive it, one at a time.
//!
//! | file | what it is |
//! |---|---|
//! | `seat` | what the thread in the seat does, and for how long it may sleep |
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
pub(crate) mod seat;
mod selector;
pub(crate) mod timers;
pub(crate) mod wheel;

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;

use std::io;
use std::task::Waker;

use crate::engine::sync_shim::{Arc, Mutex};
use clock::QuiescentPoints;
use poller::{Alarm, Seat};
use readiness::{Ready, Sources};
use selector::{Poll, Registry};
use timers::Timers;

/// Places in a new list of wakers: more than most rounds bring.
const COMMON_WAKES: usize = 64;

/// How many sources are looked at under the lock of their table.
const LISTED_AT_ONCE: usize = 64;

/// A source, as the list of them shows it.
pub(crate) struct SourceEntry<'a, N> {
    /// Its file descriptor, if that is known.
    pub(crate) descriptor: Option<i32>,
    /// How many events it has had.
    pub(crate) events: u64,
    /// The first of those that wait for it, each for some bits.
    pub(crate) waiters: &'a [(N, Ready)],
}

/// The poller, the sources registered with it, and the timers.
pub(crate) struct Driver {
    seat: Seat,
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
            seat: Seat::new(poll),
            sources: Mutex::new(Sources::new()),
            registry,
            timers: Timers::new(timer_shards, alarm.clone()),
            alarm,
            quiescent_points: QuiescentPoints::new(),
        }))
    }

    /// Returns an empty list for the wakers of a round. A thread that takes the seat makes it when it starts
    /// and keeps it, so that a program whose tasks do not allocate sees no allocation later.
    pub(crate) fn new_wakes(&self) -> Vec<Waker> {
        Vec::with_capacity(COMMON_WAKES)
    }

    /// Whether a thread holds the seat: a hint, which may be wrong by the time it is read.
    pub(crate) fn is_attended(&self) -> bool {
        self.seat.is_attended()
    }

    /// Grows each time the seat is taken: a hint for the watchdog and for signals, which only ask whether it
    /// has changed.
    pub(crate) fn attendance(&self) -> u64 {
        self.seat.attendance()
    }

    /// Makes the sleep in the poller end, or, if no thread sleeps there, the next one not begin. Never
    /// lost; costs a system call only if a thread sleeps, and only once per sleep. What was written
    /// before it is visible after that turn.
    pub(crate) fn wake(&self) {
        self.alarm.wake();
    }

    /// How many sources are registered.
    pub(crate) fn source_count(&self) -> usize {
        self.sources.lock().len()
    }

    /// Calls `each` with all sources. The table is locked for some of them at a time, and each source while
    /// `name` is called with some of the wakers that wait for it: that calls, clones and drops no waker.
    pub(crate) fn list_sources<N>(
        &self,
        name: impl Fn(&Waker) -> Option<N>,
        mut each: impl FnMut(SourceEntry<'_, N>),
    ) {
        let (mut from, mut list) = (Some(0), Vec::with_capacity(LISTED_AT_ONCE));
        let mut waiters = Vec::new();
        while let Some(next) = from {
            from = self.sources.lock().list(next, LISTED_AT_ONCE, &mut list);
            for readiness in list.drain(..) {
                let (descriptor, events) = (readiness.descriptor(), readiness.events());
                readiness.each_waiter(|waker, ready| {
                    waiters.extend(name(waker).map(|name| (name, ready)));
                });
                each(SourceEntry { descriptor, events, waiters: &waiters });
                waiters.clear();
            }
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
