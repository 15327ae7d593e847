//! The timers of one driver, all fired by the holder of the seat. There is a wheel for each worker that the
//! runtime begins with, or for each processor if those are more. Workers behind that share the last wheel
//! with all other threads.
//!
//! A worker registers and cancels in its own shard, so its lock is uncontended in the common life of a
//! timer, which is to be created, polled once and dropped. Firing is not bound to the worker: the holder of
//! the seat takes what is due from all shards, so the timers of a worker that is stuck in a long poll fire
//! all the same. Rejected: one wheel for all (every timeout on every worker takes the same lock), and
//! wheels without a lock that only their worker touches (a stuck worker's timers would wait for it, and a
//! timer dropped elsewhere would need a message).
//!
//! # What a shard tells without its lock
//!
//! `next` is a lower bound of the shard's earliest deadline. Only registering lowers it; only expiring,
//! closing and `jump` raise it; cancelling leaves it alone. A timeout that is registered and cancelled again
//! and again, each time a little later, therefore moves it once per timeout's length and not twice per round,
//! and neither the poller nor its alarm hears of the others. Nor do they hear of a timer that is put off: the
//! wheel only notes the later deadline (see there). The price is one turn for nothing when the bound has come
//! and its timer is gone, or was put off.
//!
//! # What reads the clock
//!
//! A timer must not be early, so its first poll needs to know whether the deadline has passed; so does a
//! reset. A reading of the clock is a large part of what a timer costs that never fires: 25 to 60 ns, on
//! the machines where this was measured. Where the system has a coarse clock, which takes 5 to 15 ns, that
//! one is asked first. It lags, so a deadline that is far ahead of it ([`FAR_NS`]) has not passed, and only
//! a near one is compared with a fresh reading. If it ever lags by more than that, a deadline that has
//! passed enters the wheel, and the timer fires with the next turn; nothing is early. Rejected: to use the
//! wheel's own time in its place, which stands still while no timer fires, so that a deadline that has
//! passed would be pending at its first poll.
//!
//! # No deadline is missed
//!
//! The holder of the seat must not sleep past a deadline that was registered while it went to sleep. The
//! two sides:
//!
//! | registrar (`Shard::register`)              | holder of the seat                              |
//! |--------------------------------------------|-------------------------------------------------|
//! | R1 lower `next`, under the lock            | H1 write the end of the sleep to the alarm word |
//! | R2 `fence(SeqCst)`                         | H2 `fence(SeqCst)`                              |
//! | R3 read the alarm word; ring if it is later than the deadline | H3 read every `next`, sleep no longer |
//!
//! R2 and H2 are ordered. If R2 comes first, H3 sees R1. If H2 comes first, R3 sees H1, or that this sleep is
//! over. If R3 finds no thread asleep, the H2 of the next sleep is still to come, and so comes after R2. R2
//! and R3 are `Alarm::deadline_moved`. A registrar whose deadline does not lower `next` does none of this:
//! the registrar that wrote the lower value does or did it, and the holder that wakes for it looks at the
//! whole wheel. Models: `timers/loom.rs`; of R and H,
//! `the_first_timer_is_seen_by_a_holder_that_falls_asleep`.
//!
//! # While the clock stands still
//!
//! Deadlines count to the nanosecond then (`Wheel::expire_exactly`), and what is due fires in the order of
//! its deadlines over all shards. No sleep ends at a deadline: `jump` brings the clock there instead, when
//! the code that drives the runtime has found that there is nothing else to do.
//!
//! # Wakers
//!
//! A waker's clone, drop and wake are foreign code: the drop of the last waker may drop a task, and with it
//! another timer of the same shard. None of the three happens under a shard's lock. A panic of a drop or a
//! wake goes no further: the code that resets, polls or drops a timer has not made the waker in it.

use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::engine::driver::Alarm;
use crate::engine::driver::clock::{self, Clock};
use crate::engine::driver::wheel::{self, Reset, Wheel};
use crate::engine::nanos::nanos;
use crate::engine::slab::Key;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::sync_shim::{CoarseClock, SpinMutex};
use crate::engine::wakers;

/// `next` of a shard in which no deadline is known. No deadline rounds up to it.
const NONE: u64 = u64::MAX;

/// A deadline that is further ahead of the coarse clock than this has not passed. The clock lags by 1 to 10
/// ms, the period at which the kernel sets it, and by the time for which a virtual machine is not run.
const FAR_NS: u64 = 50_000_000;

/// How many timers are looked at while the lock of a shard is held, which its worker may want.
const AT_ONCE: usize = 64;

/// All timers of a driver. Its deadlines count nanoseconds since the driver was made.
pub(crate) struct Timers {
    epoch: Instant,
    clock: Arc<Clock>,
    pub(super) shards: Box<[Arc<Shard>]>,
}

impl Timers {
    /// Timers in `shards` shards (at least one); `alarm` is rung when a deadline comes before the end of a
    /// sleep.
    pub(crate) fn new(shards: usize, alarm: Arc<Alarm>) -> Self {
        let clock = Arc::new(Clock::new());
        let epoch = clock.now();
        let coarse = CoarseClock::start();
        let shard = |_| Arc::new(Shard::new(epoch, coarse, clock.clone(), alarm.clone()));
        Self { epoch, shards: (0..shards.max(1)).map(shard).collect(), clock }
    }

    #[inline]
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The shard for worker `index`. Any index will do: those beyond the last shard share it, as do
    /// threads that are no workers and come with `usize::MAX`.
    #[inline]
    pub(crate) fn shard(&self, index: usize) -> &Arc<Shard> {
        &self.shards[index.min(self.shards.len() - 1)]
    }

    /// Whether timers can count to `moment`, and some decades beyond it: deadlines that are more than 584
    /// years after the driver was made never come.
    pub(crate) fn can_count_to(&self, moment: Instant) -> bool {
        const YEARS_500: u64 = 500 * 365 * 86_400 * 1_000_000_000;
        since(self.epoch, moment) < YEARS_500
    }

    /// The time now, on the clock of all deadlines here.
    pub(crate) fn now_ns(&self) -> u64 {
        since(self.epoch, self.clock.now())
    }

    /// A moment before which [`Timers::expire`] has nothing to do; `None` if no timer waits.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        // Not `min` of an iterator, which is five calls for each shard in a debug build.
        let mut first = NONE;
        for shard in &self.shards {
            // Ordering: Relaxed; where a missed value would matter, the fences named in the header order it.
            let next = shard.next.load(Ordering::Relaxed);
            if next < first {
                first = next;
            }
        }
        (first != NONE).then_some(first)
    }

    /// Moves the wakers of all timers that are due into `wakes`.
    pub(crate) fn expire(&self, now_ns: u64, wakes: &mut Vec<Waker>) {
        for shard in &self.shards {
            // Ordering: Relaxed. A bound that `lower_next` writes after this load is one for the next turn
            // (see the header); the lock orders the wheel.
            if shard.next.load(Ordering::Relaxed) <= now_ns {
                shard.expire(now_ns, wakes);
            }
        }
    }

    /// As [`Timers::expire`] now, by the clock; exactly if it stands still. Returns what time it was.
    pub(crate) fn expire_due(&self, wakes: &mut Vec<Waker>) -> u64 {
        if let Some(now) = self.clock.stopped_at() {
            let now = since(self.epoch, now);
            self.expire_exactly(now, wakes);
            return now;
        }
        let now = self.now_ns();
        self.expire(now, wakes);
        now
    }

    #[cold]
    fn expire_exactly(&self, now_ns: u64, wakes: &mut Vec<Waker>) {
        let mut expired = Vec::new();
        for shard in &self.shards {
            shard.change(|wheel| wheel.expire_exactly(now_ns, &mut expired));
        }
        expired.sort_by_key(|&(deadline, _)| deadline);
        wakes.extend(expired.into_iter().map(|(_, waker)| waker));
    }

    /// Moves a clock that stands still to the earliest deadline and fires what is due there.
    pub(super) fn jump(&self, wakes: &mut Vec<Waker>) {
        let earliest = self.shards.iter().filter_map(|shard| shard.change(Wheel::earliest));
        let Some(moment) =
            earliest.min().and_then(|ns| self.epoch.checked_add(Duration::from_nanos(ns)))
        else {
            return;
        };
        if self.clock.advance(|_| moment).is_ok() {
            self.expire_due(wakes);
        }
    }

    /// How many timers wait.
    pub(crate) fn count(&self) -> usize {
        self.shards.iter().map(|shard| shard.timers.lock().wheel.len()).sum()
    }

    /// Calls `each` with what `name` makes of the wakers of all timers, where that is something, and with
    /// the time that is left. The lock of a shard is held for [`AT_ONCE`] timers at a time: under it,
    /// `name` is called, which calls, clones and drops no waker, and `each` is not.
    pub(crate) fn list<N>(
        &self,
        name: impl Fn(&Waker) -> Option<N>,
        mut each: impl FnMut(N, Duration),
    ) {
        let (now, mut chunk) = (self.now_ns(), Vec::with_capacity(AT_ONCE));
        for shard in &self.shards {
            let mut from = Some(0);
            while let Some(next) = from {
                from = shard.timers.lock().wheel.list(next, AT_ONCE, |deadline, waker| {
                    chunk.extend(name(waker).map(|name| (name, deadline)));
                });
                for (name, deadline) in chunk.drain(..) {
                    each(name, Duration::from_nanos(deadline.saturating_sub(now)));
                }
            }
        }
    }

    /// Shuts the timers down: every waker goes into `wakes`, and nothing can be registered from now on.
    pub(crate) fn close(&self, wakes: &mut Vec<Waker>) {
        for shard in &self.shards {
            shard.close(wakes);
        }
    }
}

/// The timers of one worker.
// Two cache lines, because processors fetch them in pairs: shards lie side by side in the heap, and each is
// written by another worker.
#[repr(align(128))]
pub(crate) struct Shard {
    /// A lower bound of the earliest deadline, or `NONE`. Written under the lock only.
    pub(super) next: AtomicU64,
    /// Held for a few dozen instructions, or for [`AT_ONCE`] timers: a lock whose release is a store.
    pub(super) timers: SpinMutex<ShardTimers>,
    epoch: Instant,
    /// Started at the epoch, or after it.
    coarse: CoarseClock,
    clock: Arc<Clock>,
    alarm: Arc<Alarm>,
}

pub(super) struct ShardTimers {
    pub(super) wheel: Wheel<Waker>,
    closed: bool,
}

/// The state of a registered timer, as its owner finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimerState {
    Waiting,
    Fired,
    Closed,
}

impl Shard {
    fn new(epoch: Instant, coarse: CoarseClock, clock: Arc<Clock>, alarm: Arc<Alarm>) -> Self {
        Self {
            next: AtomicU64::new(NONE),
            timers: SpinMutex::new(ShardTimers { wheel: Wheel::new(), closed: false }),
            epoch,
            coarse,
            clock,
            alarm,
        }
    }

    /// The time on the clock that this shard's deadlines are compared with.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Whether the deadline has certainly not passed, as the coarse clock tells; see the header.
    #[inline]
    fn is_far(&self, deadline_ns: u64) -> bool {
        // A clock that may stand still, or may have been moved, is asked itself.
        !clock::is_any_virtual()
            && self.coarse.nanos().is_some_and(|at| deadline_ns.saturating_sub(at) > FAR_NS)
    }

    /// Lets `waker` be woken at the deadline; `None` if the timers have been shut down.
    ///
    /// Always inlined, as are the two functions between it and `Sleep::poll`: without that the compiler makes
    /// a call somewhere between them, and a timer takes 559 instructions instead of 538.
    #[inline(always)]
    fn register(&self, deadline_ns: u64, waker: &Waker) -> Option<Key> {
        let waker = waker.clone();
        let mut timers = self.timers.lock();
        if timers.closed {
            drop(timers);
            wakers::drop_all([waker]);
            return None;
        }
        let key = timers.wheel.insert(deadline_ns, waker);
        let lowered = self.lower_next(deadline_ns);
        drop(timers);
        self.tell_alarm(lowered);
        Some(key)
    }

    /// Sets another deadline of a timer that still waits; `false` if it has fired.
    #[inline]
    fn reschedule(&self, key: Key, deadline_ns: u64) -> bool {
        let mut timers = self.timers.lock();
        match timers.wheel.reset(key, deadline_ns) {
            Reset::Gone => return false,
            // No bound moves.
            Reset::PutOff => return true,
            Reset::Earlier => {}
        }
        let lowered = self.lower_next(deadline_ns);
        drop(timers);
        self.tell_alarm(lowered);
        true
    }

    /// Takes a timer that still waits out and wakes its task, whatever its deadline was.
    fn fire(&self, key: Key) {
        if let Some(waker) = self.take_out(key) {
            wakers::guard(|| waker.wake());
        }
    }

    /// Sees to it that the timer, if it still waits, wakes `waker` and no other waker.
    fn refresh(&self, key: Key, waker: &Waker) -> TimerState {
        let mut timers = self.timers.lock();
        match timers.wheel.get_mut(key) {
            None => return timers.state_without_entry(),
            Some(stored) if stored.will_wake(waker) => return TimerState::Waiting,
            Some(_) => drop(timers),
        }
        // Seldom: the timer has been handed to another task. Its waker is cloned without the lock, and the
        // timer may fire meanwhile; only this caller can remove or replace it otherwise.
        let fresh = waker.clone();
        let mut timers = self.timers.lock();
        let (state, unused) = match timers.wheel.get_mut(key) {
            None => (timers.state_without_entry(), fresh),
            Some(stored) => (TimerState::Waiting, mem::replace(stored, fresh)),
        };
        drop(timers);
        wakers::drop_all([unused]);
        state
    }

    /// Forgets a timer; nothing happens if it has fired.
    #[inline]
    fn cancel(&self, key: Key) {
        wakers::drop_all(self.take_out(key));
    }

    /// Takes out a timer that still waits, and returns its waker: to be called or dropped without the lock.
    #[inline]
    fn take_out(&self, key: Key) -> Option<Waker> {
        let mut timers = self.timers.lock();
        timers.wheel.cancel(key)
    }

    /// Holds the lock for [`AT_ONCE`] timers at a time.
    fn expire(&self, now_ns: u64, wakes: &mut Vec<Waker>) {
        loop {
            // Room is made without the lock, because all that is there may have to move.
            wakes.reserve(AT_ONCE);
            if self.change(|wheel| wheel.expire_some(now_ns, AT_ONCE, wakes)) {
                return;
            }
        }
    }

    /// Calls `change`, which takes out what has expired, or moves what was put off, and raises the bound.
    #[inline]
    fn change<R>(&self, change: impl FnOnce(&mut Wheel<Waker>) -> R) -> R {
        let mut timers = self.timers.lock();
        let result = change(&mut timers.wheel);
        let next = timers.wheel.next_deadline().unwrap_or(NONE);
        // Ordering: Relaxed; a registrar that lowers it again does so under this lock, after this store.
        self.next.store(next, Ordering::Relaxed);
        result
    }

    fn close(&self, wakes: &mut Vec<Waker>) {
        let mut timers = self.timers.lock();
        timers.closed = true;
        let wheel = mem::replace(&mut timers.wheel, Wheel::new());
        // Ordering: Relaxed; nothing lowers it again, because `closed` was set under this lock.
        self.next.store(NONE, Ordering::Relaxed);
        drop(timers);
        wheel.drain(wakes);
    }

    /// Step R1 of the header, with the lock held. Returns the new bound if it is lower than the old one.
    fn lower_next(&self, deadline_ns: u64) -> Option<u64> {
        let due = wheel::due_at(deadline_ns);
        // Ordering: Relaxed; all writers hold the lock, and the fence in `deadline_moved` orders the store
        // for readers.
        let lower = due < self.next.load(Ordering::Relaxed);
        lower.then(|| {
            self.next.store(due, Ordering::Relaxed);
            due
        })
    }

    /// Steps R2 and R3 of the header, after the lock: ringing is a system call.
    fn tell_alarm(&self, lowered: Option<u64>) {
        if let Some(next) = lowered {
            self.alarm.deadline_moved(next);
        }
    }

    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    fn len(&self) -> usize {
        self.timers.lock().wheel.len()
    }
}

impl ShardTimers {
    fn state_without_entry(&self) -> TimerState {
        if self.closed { TimerState::Closed } else { TimerState::Fired }
    }
}

/// The timers have been shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed;

/// One deadline that a task waits for. It enters the shard when it is first polled, and leaves it when it is
/// dropped.
pub(crate) struct TimerEntry {
    shard: Arc<Shard>,
    deadline: Instant,
    /// Set while the timer is registered, and after it has fired until the next poll notices.
    key: Option<Key>,
}

impl TimerEntry {
    /// A timer that is not registered yet: costs no lock.
    #[inline]
    pub(crate) fn new(shard: Arc<Shard>, deadline: Instant) -> Self {
        Self { shard, deadline, key: None }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// The time on the clock that the deadline is compared with: that of the runtime it was made in.
    pub(crate) fn now(&self) -> Instant {
        self.shard.now()
    }

    /// Ready once the deadline has passed, never before; until then, the waker of the last call is woken at
    /// the deadline. An error if the timers are shut down and the deadline has not passed: the caller would
    /// never be woken.
    #[inline(always)]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Closed>> {
        self.poll_delayed(cx, Duration::ZERO)
    }

    /// As [`TimerEntry::poll`], but a timer that is polled less than `delay` after its deadline, and was not
    /// waiting, begins to wait until that `delay` is over. So other tasks run meanwhile. A clock that stands
    /// still has nothing to wait for.
    ///
    /// The caller does not poll it again once it was ready: this entry does not remember that, and would
    /// wait.
    #[inline(always)]
    pub(crate) fn poll_delayed(
        &mut self,
        cx: &mut Context<'_>,
        mut delay: Duration,
    ) -> Poll<Result<(), Closed>> {
        if let Some(key) = self.key {
            match self.shard.refresh(key, cx.waker()) {
                TimerState::Waiting => return Poll::Pending,
                TimerState::Fired => {
                    self.key = None;
                    return Poll::Ready(Ok(()));
                }
                // The waker was handed out whether its time had come or not: only the clock knows.
                TimerState::Closed => {
                    self.key = None;
                    delay = Duration::ZERO;
                }
            }
        }
        let Some(due) = self.due_ahead(delay) else {
            return Poll::Ready(Ok(()));
        };
        self.key = self.shard.register(due, cx.waker());
        if self.key.is_none() {
            return Poll::Ready(Err(Closed));
        }
        Poll::Pending
    }

    /// The deadline in nanoseconds, or the end of `delay` after it if only the deadline has passed; `None`:
    /// it has passed, and there is nothing to wait for.
    ///
    /// By a fresh reading of some clock: the time of the last turn would let the timer start in the past, and
    /// end early. And by one in any case, also where an earlier deadline is known: that bound may be of a
    /// timer that was cancelled, and then a passed deadline waits for a turn that no thread is about to make.
    #[inline(always)]
    fn due_ahead(&self, delay: Duration) -> Option<u64> {
        let deadline_ns = since(self.shard.epoch, self.deadline);
        if self.shard.is_far(deadline_ns) {
            return Some(deadline_ns);
        }
        let now = self.now();
        if now < self.deadline {
            return Some(deadline_ns);
        }
        let end = self.deadline.checked_add(delay).filter(|&end| now < end)?;
        (!self.shard.clock.is_stopped()).then(|| since(self.shard.epoch, end))
    }

    /// Sets another deadline. A task that waits for the timer goes on waiting, for the new one.
    ///
    /// One that has passed is not entered: the next poll would find a timer that waits for a turn of the
    /// driver, and be pending although nothing is left to wait for.
    pub(crate) fn reset(&mut self, deadline: Instant) {
        self.deadline = deadline;
        let Some(key) = self.key else {
            return;
        };
        let waits = match self.due_ahead(Duration::ZERO) {
            Some(due) => self.shard.reschedule(key, due),
            None => {
                self.shard.fire(key);
                false
            }
        };
        if !waits {
            self.key = None;
        }
    }
}

impl Drop for TimerEntry {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.shard.cancel(key);
        }
    }
}

/// Nanoseconds from `epoch` to `instant`: 0 for what lies before it, `u64::MAX` for what is more than 584
/// years later.
fn since(epoch: Instant, instant: Instant) -> u64 {
    nanos(instant.saturating_duration_since(epoch))
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod properties;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
