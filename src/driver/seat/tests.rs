use std::io::{self, Write};
use std::time::Duration;

use super::{LONGEST_SLEEP, Token, dispatch, has_events, sleep_time};
use crate::driver::Driver;
use crate::driver::readiness::Direction;
use crate::driver::tests::{BOTH, TOO_LONG, pair};

/// The event has been fetched from the system, and its source goes away before it is dispatched.
#[test]
fn a_late_event_does_not_reach_the_next_source() {
    let driver = Driver::new(1).unwrap();
    let (mut old, mut old_peer) = pair();
    let old_registration = driver.register(&mut old, BOTH).unwrap();
    old_peer.write_all(b"x").unwrap();
    let mut seat = driver.try_seat().unwrap();
    let readable = |seat: &super::SeatGuard<'_>| seat.poller.events.iter().any(|e| e.is_readable());
    while !readable(&seat) {
        seat.poller.poll(Some(TOO_LONG)).unwrap();
    }

    let old_place = crate::slab::Key::from_usize(first_token(&seat).0).index();
    old_registration.deregister(&mut old).unwrap();
    let (mut new, _new_peer) = pair();
    let new_registration = driver.register(&mut new, BOTH).unwrap();
    let readiness = new_registration.readiness();
    for direction in [Direction::Read, Direction::Write] {
        readiness.clear_would_block(readiness.current(BOTH), direction);
    }
    let waker = std::task::Waker::noop();
    let cx = &mut std::task::Context::from_waker(waker);
    assert!(readiness.poll_ready(cx, Direction::Read).is_pending());

    let mut wakes = Vec::new();
    dispatch(&seat.poller.events, &driver.sources, &mut wakes);
    assert!(wakes.is_empty());
    assert!(readiness.current(BOTH).ready.is_empty());

    // It would have reached it without the generation: the place is the same.
    seat.poller.poll(Some(TOO_LONG)).unwrap();
    let new_place = crate::slab::Key::from_usize(first_token(&seat).0).index();
    assert_eq!(old_place, new_place);
}

fn first_token(seat: &super::SeatGuard<'_>) -> Token {
    seat.poller.events.iter().next().expect("there is an event").token()
}

#[test]
fn an_interrupted_poll_is_a_poll_without_events() {
    assert!(has_events(Ok(())));
    assert!(!has_events(Err(io::ErrorKind::Interrupted.into())));
}

#[test]
#[should_panic(expected = "the driver's poller failed")]
fn a_broken_poller_is_not_passed_over() {
    has_events(Err(io::ErrorKind::InvalidInput.into()));
}

#[test]
fn sleeps_are_clamped_to_what_every_system_understands() {
    assert_eq!(sleep_time(5, 5), Duration::ZERO);
    assert_eq!(sleep_time(6, 5), Duration::ZERO);
    assert_eq!(sleep_time(5, 7), Duration::from_nanos(2));
    assert_eq!(sleep_time(0, u64::MAX), LONGEST_SLEEP);
    assert!(LONGEST_SLEEP.as_millis() < i32::MAX as u128);
}
