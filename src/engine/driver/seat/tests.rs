use std::io::{self, Write};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use mio::Token;

use super::{LONGEST_SLEEP, MaySleep, dispatch_events, has_events};
use crate::engine::driver::Driver;
use crate::engine::driver::readiness::Direction;
use crate::engine::driver::tests::{BOTH, TOO_LONG, pair};
use crate::engine::driver::timers::TimerEntry;

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

    let old_place = crate::engine::slab::Key::from_usize(first_token(&seat).0).index();
    old_registration.deregister(&mut old).unwrap();
    let (mut new, _new_peer) = pair();
    let new_registration = driver.register(&mut new, BOTH).unwrap();
    let readiness = new_registration.readiness();
    for direction in [Direction::Read, Direction::Write] {
        readiness.clear_would_block(readiness.current(BOTH), direction);
    }
    let waker = Waker::noop();
    let cx = &mut Context::from_waker(waker);
    assert!(readiness.poll_ready(cx, Direction::Read).is_pending());

    let mut wakes = Vec::new();
    dispatch_events(&seat.poller.events, &driver.sources, &mut wakes);
    assert!(wakes.is_empty());
    assert!(readiness.current(BOTH).ready.is_empty());

    // It would have reached it without the generation: the place is the same.
    seat.poller.poll(Some(TOO_LONG)).unwrap();
    let new_place = crate::engine::slab::Key::from_usize(first_token(&seat).0).index();
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
fn a_sleep_ends_at_the_limit_or_the_earliest_timer() {
    let driver = Driver::new(1).unwrap();
    let asleep = |limit| {
        let sleep = driver.fall_asleep(limit, 0);
        driver.alarm.word.rise();
        match sleep {
            MaySleep::Until(end) => Some((end.deadline, end.limit)),
            MaySleep::No => None,
        }
    };
    let ms = Duration::from_millis;
    assert_eq!(asleep(None), Some((None, None)));
    assert_eq!(asleep(Some(Duration::ZERO)), None);
    // The end that is announced is the one that the poller is given.
    assert_eq!(asleep(Some(Duration::from_nanos(1))), Some((None, Some(ms(1)))));
    assert_eq!(asleep(Some(ms(1))), Some((None, Some(ms(1)))));
    assert_eq!(asleep(Some(Duration::MAX)), Some((None, Some(LONGEST_SLEEP))));

    let shard = driver.timers().shard(0).clone();
    let mut timer = TimerEntry::new(shard, Instant::now() + TOO_LONG);
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(timer.poll(cx).is_pending());
    let next = driver.timers().next_deadline();
    assert!(next.is_some());
    assert_eq!(asleep(None), Some((next, None)));
    assert_eq!(asleep(Some(2 * TOO_LONG)), Some((next, Some(2 * TOO_LONG))));
    // The clock is not set for a timer that this sleep does not reach.
    assert_eq!(asleep(Some(ms(1))), Some((None, Some(ms(1)))));
    driver.wake();
    assert_eq!(asleep(None), None);
}
