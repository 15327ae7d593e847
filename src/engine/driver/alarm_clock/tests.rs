use std::time::{Duration, Instant};

use mio::{Events, Poll};

use super::{AlarmClock, LONGEST_SLEEP, until};

const MS: u64 = 1_000_000;

/// Sleeps to `deadline`, on a clock that begins at `start`.
fn sleep(poll: &mut Poll, clock: &mut AlarmClock, start: Instant, deadline: u64) {
    let mut events = Events::with_capacity(8);
    loop {
        let now = start.elapsed().as_nanos() as u64;
        if now >= deadline {
            return;
        }
        assert!(now < 30_000 * MS, "the clock does not ring");
        let timeout = clock.set(poll.registry(), now, deadline);
        poll.poll(&mut events, timeout.or(Some(Duration::from_secs(30)))).unwrap();
        clock.look_at(&events);
    }
}

#[test]
fn sleeps_are_clamped_to_what_every_system_understands() {
    assert_eq!(until(5, 5), Duration::ZERO);
    assert_eq!(until(6, 5), Duration::ZERO);
    assert_eq!(until(5, 7), Duration::from_nanos(2));
    assert_eq!(until(0, u64::MAX), LONGEST_SLEEP);
    assert!(LONGEST_SLEEP.as_millis() < i32::MAX as u128);
}

#[test]
fn each_deadline_ends_its_sleep() {
    let mut poll = Poll::new().unwrap();
    let mut clock = AlarmClock::new();
    let start = Instant::now();
    for n in 1..=50 {
        sleep(&mut poll, &mut clock, start, n * MS * 7 / 10);
    }
    // The first is put off, and the second brought forward; neither is lost.
    for (first, second) in [(50, 60), (20_000, 65)] {
        clock.set(poll.registry(), start.elapsed().as_nanos() as u64, first * MS);
        sleep(&mut poll, &mut clock, start, second * MS);
    }
}
