use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use mio::{Events, Poll};
use nix::sys::timerfd::{Expiration, TimerFd, TimerSetTimeFlags};

use super::AlarmClock;

const HOUR: u64 = 3_600_000_000_000;
const TOO_LONG: Duration = Duration::from_secs(30);

fn clock() -> (Poll, AlarmClock) {
    let poll = Poll::new().unwrap();
    let clock = AlarmClock::new();
    (poll, clock)
}

fn timer(clock: &AlarmClock) -> &TimerFd {
    clock.timer.as_ref().expect("it has been set")
}

fn is_running(clock: &AlarmClock) -> bool {
    timer(clock).get().unwrap().is_some()
}

/// Waits for events, and says whether there were any.
fn rings(poll: &mut Poll, clock: &mut AlarmClock, timeout: Duration) -> bool {
    let mut events = Events::with_capacity(8);
    poll.poll(&mut events, Some(timeout)).unwrap();
    clock.look_at(&events);
    !events.is_empty()
}

/// A descriptor is nothing to be taken for what a runtime may never do.
#[test]
fn the_clock_is_made_for_the_first_moment_that_lies_ahead() {
    let (poll, mut clock) = clock();
    assert_eq!(clock.set(poll.registry(), 5, 5), Some(Duration::ZERO));
    clock.forget();
    assert!(clock.timer.is_none());
    assert_eq!(clock.set(poll.registry(), 5, 6), None);
    let made = timer(&clock).as_fd().as_raw_fd();
    assert_eq!(clock.set(poll.registry(), 6, HOUR), None);
    assert_eq!(timer(&clock).as_fd().as_raw_fd(), made, "the same one");
}

/// The precision: between whole milliseconds, the poller is left without a timeout of its own.
#[test]
fn the_clock_wakes_and_not_the_timeout() {
    let (mut poll, mut clock) = clock();
    for now in [0, HOUR, u64::MAX - HOUR] {
        assert_eq!(clock.set(poll.registry(), now, now + 500_000), None);
        assert!(rings(&mut poll, &mut clock, TOO_LONG));
    }
}

#[test]
fn the_same_deadline_costs_no_system_call() {
    let (poll, mut clock) = clock();
    assert_eq!(clock.set(poll.registry(), 0, HOUR), None);
    // Stopped behind its back: if it were set again, it would run.
    timer(&clock).unset().unwrap();
    assert_eq!(clock.set(poll.registry(), 1, HOUR), None);
    assert!(!is_running(&clock));
    assert_eq!(clock.set(poll.registry(), 1, HOUR + 1), None);
    assert!(is_running(&clock));
}

#[test]
fn after_a_ring_the_same_deadline_is_set_again() {
    let (mut poll, mut clock) = clock();
    assert_eq!(clock.set(poll.registry(), 0, HOUR), None);
    // Early, as if it went by another clock.
    let soon = Expiration::OneShot(Duration::from_micros(1).into());
    timer(&clock).set(soon, TimerSetTimeFlags::empty()).unwrap();
    assert!(rings(&mut poll, &mut clock, TOO_LONG));
    assert_eq!(clock.set(poll.registry(), 0, HOUR), None);
    assert!(is_running(&clock));
}

#[test]
fn what_is_forgotten_is_set_again() {
    let (poll, mut clock) = clock();
    assert_eq!(clock.set(poll.registry(), 0, HOUR), None);
    timer(&clock).unset().unwrap();
    clock.forget();
    assert_eq!(clock.set(poll.registry(), 1, HOUR), None);
    assert!(is_running(&clock));
}

#[test]
fn a_deadline_that_has_passed_stops_neither_the_clock_nor_the_thread() {
    let (poll, mut clock) = clock();
    assert_eq!(clock.set(poll.registry(), 0, HOUR), None);
    assert_eq!(clock.set(poll.registry(), 5, 5), Some(Duration::ZERO));
    assert_eq!(clock.set(poll.registry(), 5, 4), Some(Duration::ZERO));
    assert!(is_running(&clock));
}

/// Nothing reads the descriptor, so an expiry that has been overtaken must not ring for the next deadline.
#[test]
fn an_old_ring_is_forgotten_with_the_next_setting() {
    let (mut poll, mut clock) = clock();
    assert_eq!(clock.set(poll.registry(), 0, 1), None);
    while is_running(&clock) {
        std::thread::yield_now();
    }
    assert_eq!(clock.set(poll.registry(), 1, HOUR), None);
    assert!(!rings(&mut poll, &mut clock, Duration::ZERO));
    assert!(is_running(&clock));
}

#[test]
fn any_distance_can_be_set() {
    let (poll, mut clock) = clock();
    for deadline in [1, HOUR, i64::MAX as u64, u64::MAX - 1, u64::MAX] {
        assert_eq!(clock.set(poll.registry(), 0, deadline), None);
    }
    assert!(is_running(&clock));
}
