use std::time::Duration;

use mio::{Events, Poll};
use nix::sys::timerfd::{Expiration, TimerSetTimeFlags};

use super::AlarmClock;

const HOUR: u64 = 3_600_000_000_000;
const TOO_LONG: Duration = Duration::from_secs(30);

fn clock() -> (Poll, AlarmClock) {
    let poll = Poll::new().unwrap();
    let clock = AlarmClock::new(poll.registry()).unwrap();
    (poll, clock)
}

fn is_running(clock: &AlarmClock) -> bool {
    clock.timer.get().unwrap().is_some()
}

/// Waits for events, and says whether there were any.
fn rings(poll: &mut Poll, clock: &mut AlarmClock, timeout: Duration) -> bool {
    let mut events = Events::with_capacity(8);
    poll.poll(&mut events, Some(timeout)).unwrap();
    clock.look_at(&events);
    !events.is_empty()
}

/// The precision: between whole milliseconds, the poller is left without a timeout of its own.
#[test]
fn the_clock_wakes_and_not_the_timeout() {
    let (mut poll, mut clock) = clock();
    for now in [0, HOUR, u64::MAX - HOUR] {
        assert_eq!(clock.set(now, now + 500_000), None);
        assert!(rings(&mut poll, &mut clock, TOO_LONG));
    }
}

#[test]
fn the_same_deadline_costs_no_system_call() {
    let (_poll, mut clock) = clock();
    assert_eq!(clock.set(0, HOUR), None);
    // Stopped behind its back: if it were set again, it would run.
    clock.timer.unset().unwrap();
    assert_eq!(clock.set(1, HOUR), None);
    assert!(!is_running(&clock));
    assert_eq!(clock.set(1, HOUR + 1), None);
    assert!(is_running(&clock));
}

#[test]
fn after_a_ring_the_same_deadline_is_set_again() {
    let (mut poll, mut clock) = clock();
    // Early, as if it went by another clock.
    clock.set_for = Some(HOUR);
    let soon = Expiration::OneShot(Duration::from_micros(1).into());
    clock.timer.set(soon, TimerSetTimeFlags::empty()).unwrap();
    assert!(rings(&mut poll, &mut clock, TOO_LONG));
    assert_eq!(clock.set(0, HOUR), None);
    assert!(is_running(&clock));
}

#[test]
fn what_is_forgotten_is_set_again() {
    let (_poll, mut clock) = clock();
    assert_eq!(clock.set(0, HOUR), None);
    clock.timer.unset().unwrap();
    clock.forget();
    assert_eq!(clock.set(1, HOUR), None);
    assert!(is_running(&clock));
}

#[test]
fn a_deadline_that_has_passed_stops_neither_the_clock_nor_the_thread() {
    let (_poll, mut clock) = clock();
    assert_eq!(clock.set(0, HOUR), None);
    assert_eq!(clock.set(5, 5), Some(Duration::ZERO));
    assert_eq!(clock.set(5, 4), Some(Duration::ZERO));
    assert!(is_running(&clock));
}

/// Nobody reads the descriptor, so an expiry that has been overtaken must not ring for the next deadline.
#[test]
fn an_old_ring_is_forgotten_with_the_next_setting() {
    let (mut poll, mut clock) = clock();
    assert_eq!(clock.set(0, 1), None);
    while is_running(&clock) {
        std::thread::yield_now();
    }
    assert_eq!(clock.set(1, HOUR), None);
    assert!(!rings(&mut poll, &mut clock, Duration::ZERO));
    assert!(is_running(&clock));
}

#[test]
fn any_distance_can_be_set() {
    let (_poll, mut clock) = clock();
    for deadline in [1, HOUR, i64::MAX as u64, u64::MAX - 1, u64::MAX] {
        assert_eq!(clock.set(0, deadline), None);
    }
    assert!(is_running(&clock));
}
