//! Where requests for snapshots wait for the recorder's thread, and which of them are taken.
//!
//! A request comes on a thread that has something else to do: a worker whose task has panicked, the watchdog.
//! So it costs that thread a lock and the wake of the recorder's thread. One of each kind waits, and the next
//! of its kind is taken after an interval. Kinds have intervals of their own, so that polls that are slow
//! all the time do not hide the one panic.
//!
//! No request is lost without being counted: it is left, or counted, under the lock. And the recorder's
//! thread sleeps through none: it leaves its waker under the same lock under which it has found nothing, so
//! a request that comes later finds the waker. The same goes for the end.

use super::snapshot::{Kind, SnapshotReason};
use crate::engine::sync_shim::{Mutex, clock};
use crate::engine::task::RunningTask;
use crate::observe::incidents::Listener;
use crate::runtime::SlowPoll;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

pub(super) struct Mailbox {
    on_panic: bool,
    on_slow_poll: bool,
    min_interval: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: [Option<Request>; Kind::ALL.len()],
    /// When the last request of each kind was taken.
    taken: [Option<Instant>; Kind::ALL.len()],
    /// How many requests were not taken, and how many of those have been told of.
    skipped: u64,
    told: u64,
    waker: Option<Waker>,
    is_closed: bool,
}

pub(super) struct Request {
    pub(super) reason: SnapshotReason,
    /// Something has happened then.
    pub(super) at: Instant,
    /// How many requests were not taken since the last one.
    pub(super) skipped: u64,
}

impl State {
    fn takes(&self, kind: Kind, now: Instant, min_interval: Duration) -> bool {
        let index = kind as usize;
        let is_due = self.taken[index]
            .is_none_or(|taken| now.saturating_duration_since(taken) >= min_interval);
        !self.is_closed && is_due && self.waiting[index].is_none()
    }

    /// The oldest request.
    fn next(&mut self) -> Option<Request> {
        let waiting = self.waiting.iter_mut().filter(|request| request.is_some());
        let oldest = waiting.min_by_key(|request| request.as_ref().map(|request| request.at))?;
        let mut request = oldest.take()?;
        request.skipped = self.skipped - self.told;
        self.told = self.skipped;
        Some(request)
    }
}

impl Mailbox {
    pub(super) fn new(on_panic: bool, on_slow_poll: bool, min_interval: Duration) -> Self {
        Self { on_panic, on_slow_poll, min_interval, state: Mutex::new(State::default()) }
    }

    /// Leaves a request. `false`: it was not taken, and is counted.
    pub(super) fn offer(&self, reason: SnapshotReason) -> bool {
        self.leave(reason, true)
    }

    fn leave(&self, reason: SnapshotReason, is_counted: bool) -> bool {
        let now = clock::now();
        let mut state = self.state.lock();
        let kind = reason.kind();
        if !state.takes(kind, now, self.min_interval) {
            state.skipped += u64::from(is_counted);
            return false;
        }
        state.taken[kind as usize] = Some(now);
        state.waiting[kind as usize] = Some(Request { reason, at: now, skipped: 0 });
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        true
    }

    /// The next request. `None`: the mailbox is closed, and none is left.
    pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<Option<Request>> {
        let mut state = self.state.lock();
        if let Some(request) = state.next() {
            return Poll::Ready(Some(request));
        }
        if state.is_closed {
            return Poll::Ready(None);
        }
        state.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// From now on no request is taken.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let waker = state.waker.take();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// How many requests were not taken.
    pub(super) fn skipped(&self) -> u64 {
        self.state.lock().skipped
    }
}

impl Listener for Mailbox {
    fn panicked(&self, task: RunningTask) {
        if self.on_panic {
            self.offer(SnapshotReason::Panic(task));
        }
    }

    fn wants_slow_poll(&self) -> bool {
        if !self.on_slow_poll {
            return false;
        }
        let mut state = self.state.lock();
        let wants = state.takes(Kind::SlowPoll, clock::now(), self.min_interval);
        state.skipped += u64::from(!wants);
        wants
    }

    fn slow_poll(&self, poll: &SlowPoll) {
        if self.on_slow_poll {
            // If it is not wanted, it has been counted already.
            self.leave(SnapshotReason::SlowPoll(poll.clone()), false);
        }
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::engine::task::TaskId;
    use std::panic::Location;

    const SECOND: Duration = Duration::from_secs(1);

    fn panic() -> SnapshotReason {
        SnapshotReason::Panic(RunningTask::new(TaskId::next(), Location::caller()))
    }

    fn next(mailbox: &Mailbox) -> Poll<Option<(Kind, u64)>> {
        let next = mailbox.poll_next(&mut Context::from_waker(Waker::noop()));
        next.map(|request| request.map(|request| (request.reason.kind(), request.skipped)))
    }

    #[test]
    fn one_of_each_kind_is_taken_in_an_interval_and_the_others_are_counted() {
        let mailbox = Mailbox::new(true, true, 1_000 * SECOND);
        assert!(mailbox.offer(SnapshotReason::Signal(10)));
        assert!(mailbox.offer(panic()));
        assert!(!mailbox.offer(panic()) && !mailbox.offer(SnapshotReason::Signal(12)));
        assert_eq!(next(&mailbox), Poll::Ready(Some((Kind::Signal, 2))));
        assert_eq!(next(&mailbox), Poll::Ready(Some((Kind::Panic, 0))));
        assert_eq!(next(&mailbox), Poll::Pending);
        assert!(!mailbox.offer(panic()), "the interval is not over");
        assert!(mailbox.offer(SnapshotReason::Request));
        assert_eq!(next(&mailbox), Poll::Ready(Some((Kind::Request, 1))));
        assert_eq!(mailbox.skipped(), 3);
    }

    #[test]
    fn without_an_interval_one_waits() {
        let mailbox = Mailbox::new(true, true, Duration::ZERO);
        assert!(mailbox.offer(panic()));
        assert!(!mailbox.offer(panic()));
        assert_eq!(next(&mailbox), Poll::Ready(Some((Kind::Panic, 1))));
        assert!(mailbox.offer(panic()));
    }

    #[test]
    fn what_was_left_before_the_end_is_taken_and_nothing_after_it() {
        let mailbox = Mailbox::new(true, true, Duration::ZERO);
        assert!(mailbox.offer(panic()));
        mailbox.close();
        assert!(!mailbox.offer(SnapshotReason::Request));
        assert_eq!(next(&mailbox), Poll::Ready(Some((Kind::Panic, 1))));
        assert_eq!(next(&mailbox), Poll::Ready(None));
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
