//! The clock of one driver. It is the system's, until a program stops it.
//!
//! Tests stop it, to move it by hand or to have it jump from deadline to deadline. Deadlines stay what they
//! are, moments of `std::time::Instant`: a stopped clock says a moment that the system's has not reached yet,
//! or has left behind.
//!
//! # What it costs a program that never stops one
//!
//! One relaxed load per reading, of a flag that no processor writes any more, and a branch that always goes
//! the same way. The flag is the process's and not the driver's, so that it is found without a pointer; once
//! any clock of the process has been stopped, each reading asks its own clock, under that clock's lock.
//! Rejected: a flag per driver, which `Instant::now` would have to look for in a thread-local.
//!
//! # Quiescent points
//!
//! Futures may wait until the runtime is quiescent while its clock stands still: nothing runs, and nothing is
//! queued.
//!
//! The code that runs the driver says when ([`QuiescentPoints::begin`]). It also says so after too long a
//! wait, and when the clock goes on, so that no future waits for ever. Each time is counted. Quiescence is
//! over as soon as a future is woken, so a future compares counts, and does not ask whether it is quiescent
//! now.

use crate::engine::sync_shim::{self, Mutex, ProcessFlag};
use crate::engine::wakers::WaitList;
use std::sync::atomic::Ordering;
use std::task::{Poll, Waker};
use std::time::Instant;

/// Some clock of this process has been stopped.
static EVER_STOPPED: ProcessFlag = ProcessFlag::new(false);

/// Whether some clock may differ from the system's.
#[inline]
pub(crate) fn is_any_virtual() -> bool {
    // Ordering: Relaxed. A thread that must not miss it is ordered after the thread that stopped the clock:
    // by that clock's driver, which is woken, or by the program itself. For all other threads the reading and
    // the stop happen at the same time.
    EVER_STOPPED.load(Ordering::Relaxed)
}

/// The clock has not been stopped, or has been stopped already: what was asked for makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrongState;

/// See [`Clock::offset`]. `None`: the clock is the system's.
pub(super) type ClockOffset = Option<(Instant, Instant)>;

pub(crate) struct Clock {
    time: Mutex<Time>,
}

/// How the clock's time comes from the system's.
#[derive(Clone, Copy)]
enum Time {
    /// It is the system's.
    Real,
    /// It stands still at this moment.
    Stopped(Instant),
    /// It stood at `at` when the system's clock was at `since`, and has been running since.
    Resumed { at: Instant, since: Instant },
}

impl Time {
    #[inline]
    fn now(self) -> Instant {
        match self {
            Time::Real => sync_shim::clock::now(),
            Time::Stopped(at) => at,
            // `unwrap_or` is never needed: no clock is moved further than its timers can count to, and a sum
            // that near to the beginning is a moment.
            Time::Resumed { at, since } => {
                let passed = sync_shim::clock::now().saturating_duration_since(since);
                at.checked_add(passed).unwrap_or(at)
            }
        }
    }
}

impl Clock {
    /// A clock that shows the system's time.
    pub(crate) fn new() -> Self {
        Self { time: Mutex::new(Time::Real) }
    }

    /// Takes the lock only if a clock of this process has ever been stopped.
    #[inline]
    fn time(&self) -> Time {
        if is_any_virtual() { self.own_time() } else { Time::Real }
    }

    #[cold]
    fn own_time(&self) -> Time {
        *self.time.lock()
    }

    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.time().now()
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped_at().is_some()
    }

    /// The moment at which the clock stands.
    #[inline]
    pub(crate) fn stopped_at(&self) -> Option<Instant> {
        if let Time::Stopped(at) = self.time() { Some(at) } else { None }
    }

    /// By how much this clock differs from the system's. While the answer stays the same, a deadline
    /// comes nearer on both by the same time.
    #[inline]
    pub(super) fn offset(&self) -> ClockOffset {
        match self.time() {
            // While it stands still no sleep ends at a deadline; what comes after is another offset.
            Time::Real | Time::Stopped(_) => None,
            Time::Resumed { at, since } => Some((at, since)),
        }
    }

    /// Stops the clock. Fails if it is stopped already.
    pub(super) fn stop(&self) -> Result<(), WrongState> {
        let mut time = self.time.lock();
        if let Time::Stopped(_) = *time {
            return Err(WrongState);
        }
        *time = Time::Stopped(time.now());
        // Ordering: Relaxed, see `is_any_virtual`.
        EVER_STOPPED.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Lets a stopped clock run on from where it stands. Fails if it is not stopped.
    pub(super) fn resume(&self) -> Result<(), WrongState> {
        let mut time = self.time.lock();
        let Time::Stopped(at) = *time else {
            return Err(WrongState);
        };
        *time = Time::Resumed { at, since: sync_shim::clock::now() };
        Ok(())
    }

    /// Moves a stopped clock to what `to` returns for the moment at which it stands. Fails if it is not
    /// stopped.
    pub(super) fn advance(&self, to: impl FnOnce(Instant) -> Instant) -> Result<(), WrongState> {
        let mut time = self.time.lock();
        let Time::Stopped(at) = *time else {
            return Err(WrongState);
        };
        *time = Time::Stopped(at.max(to(at)));
        Ok(())
    }
}

/// The quiescent points of one driver, while its clock stands still.
pub(crate) struct QuiescentPoints {
    /// Beside the futures: how many points have begun.
    waiting: WaitList<u64>,
}

impl QuiescentPoints {
    pub(super) fn new() -> Self {
        Self { waiting: WaitList::new(0) }
    }

    /// How many there have been.
    pub(crate) fn count(&self) -> u64 {
        *self.waiting.lock()
    }

    /// Ready when there have been more than `seen`.
    pub(crate) async fn wait(&self, seen: u64) {
        let is_over = |count: u64| if count > seen { Poll::Ready(()) } else { Poll::Pending };
        self.waiting.wait(0, |count| is_over(**count)).await;
    }

    pub(crate) fn is_awaited(&self) -> bool {
        !self.waiting.lock().is_empty()
    }

    /// Begins a quiescent point: moves the wakers of all waiting futures into `wakes`.
    pub(crate) fn begin(&self, wakes: &mut Vec<Waker>) {
        self.waiting.take_matching(wakes, |count, _| *count += 1, |_| true);
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::Context;
    use std::time::Duration;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn a_stopped_clock_moves_only_by_hand() {
        let clock = Clock::new();
        assert_eq!(clock.advance(|at| at + HOUR), Err(WrongState), "it goes");
        assert_eq!(clock.resume(), Err(WrongState), "it goes");
        assert!(!clock.is_stopped());
        clock.stop().expect("it goes");
        assert_eq!(clock.stop(), Err(WrongState));
        let start = clock.now();
        assert_eq!(clock.stopped_at(), Some(start));
        clock.advance(|at| at + HOUR).expect("it stands");
        assert_eq!(clock.now(), start + HOUR);
        clock.advance(|_| start + 3 * HOUR).expect("it stands");
        clock.advance(|_| start).expect("it stands");
        assert_eq!(clock.now(), start + 3 * HOUR);
        clock.advance(|at| at - HOUR).expect("it stands");
        assert_eq!(clock.now(), start + 3 * HOUR, "never back");
    }

    #[test]
    fn a_resumed_clock_goes_on_from_where_it_stood_and_can_be_stopped_again() {
        let clock = Clock::new();
        clock.stop().expect("it goes");
        clock.advance(|at| at + HOUR).expect("it stands");
        let stood = clock.now();
        clock.resume().expect("it stands");
        assert!(clock.now() >= stood);
        assert_eq!(clock.stopped_at(), None);
        while clock.now() == stood {
            std::hint::spin_loop();
        }
        assert!(clock.now() < stood + HOUR, "the system's clock is no hour further");
        clock.stop().expect("it goes");
        assert!(clock.now() > stood);
        assert_eq!(clock.now(), clock.now());
    }

    #[test]
    fn a_clock_that_has_stood_still_is_on_another_course() {
        let clock = Clock::new();
        let mut offsets = vec![clock.offset()];
        for _ in 0..3 {
            clock.stop().expect("it goes");
            clock.advance(|at| at + HOUR).expect("it stands");
            clock.resume().expect("it stands");
            let offset = clock.offset();
            assert!(!offsets.contains(&offset));
            assert_eq!(clock.offset(), offset);
            offsets.push(offset);
        }
    }

    #[test]
    fn other_clocks_go_on() {
        let (one, other) = (Clock::new(), Clock::new());
        one.stop().expect("it goes");
        one.advance(|at| at + HOUR).expect("it stands");
        assert!(other.now() < one.now());
        assert!(!other.is_stopped());
    }

    #[test]
    fn a_quiescent_point_wakes_each_waiter_once_and_is_seen_by_those_that_waited() {
        let (quiescent_points, mut wakes) = (QuiescentPoints::new(), Vec::new());
        let mut cx = Context::from_waker(Waker::noop());
        let mut waiting = pin!(quiescent_points.wait(quiescent_points.count()));
        assert!(waiting.as_mut().poll(&mut cx).is_pending());
        assert!(waiting.as_mut().poll(&mut cx).is_pending(), "polled for another reason");
        assert!(quiescent_points.is_awaited());
        quiescent_points.begin(&mut wakes);
        assert_eq!(wakes.len(), 1);
        assert!(!quiescent_points.is_awaited());
        assert!(waiting.as_mut().poll(&mut cx).is_ready());
        let mut next = pin!(quiescent_points.wait(quiescent_points.count()));
        assert!(next.as_mut().poll(&mut cx).is_pending(), "this one is for the next");
    }

    #[test]
    fn a_future_that_is_dropped_waits_for_no_quiescent_point() {
        let quiescent_points = QuiescentPoints::new();
        let mut waiting = Box::pin(quiescent_points.wait(0));
        assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(waiting);
        assert!(!quiescent_points.is_awaited());
    }
}
