use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use super::{DELAY_NS, DENSE, OUTLOOK, SAMPLE, TICK_BITS};
use crate::engine::driver::Driver;
use crate::engine::driver::tests::{TOO_LONG, asleep};
use crate::engine::driver::timers::TimerEntry;
use crate::engine::driver::wheel::Wheel;
use crate::engine::wakers::tests::Count;

const TICK: u64 = 1 << TICK_BITS;
const HOUR: u64 = 3_600_000_000_000;

/// A driver whose timers are due `ticks` ticks after `time`, in its shards in turns.
fn with_timers(time: u64, ticks: impl IntoIterator<Item = u64>) -> Arc<Driver> {
    let driver = Driver::new(2).unwrap();
    for (index, tick) in ticks.into_iter().enumerate() {
        let shard = driver.timers().shard(index % 2);
        let deadline = (time / TICK + tick) * TICK;
        shard.timers.lock().wheel.insert(deadline, Waker::noop().clone());
        shard.next.fetch_min(deadline, Ordering::Relaxed);
    }
    driver
}

#[test]
fn timers_are_coalesced_where_many_ticks_have_some() {
    let coalesces = |ticks: &[u64]| {
        let driver = with_timers(HOUR, ticks.iter().copied());
        driver.timers().coalesced_until(HOUR, HOUR).is_some()
    };
    assert!(!coalesces(&[]));
    assert!(!coalesces(&[1]), "one that waits for one moment after the other");
    assert!(!coalesces(&[1, 2, 3]), "a few such");
    assert!(!coalesces(&[1; 100]), "all at once: one turn is enough");
    assert!(!coalesces(&[1, 2, 3, OUTLOOK + 1]), "not soon");
    assert!(coalesces(&[1, 2, 3, 4]));
    assert!(coalesces(&[1, 5, 9, OUTLOOK]));
    assert!(!coalesces(&[9, 10, 11, 12, 13]), "none comes before the delay is over");
}

#[test]
fn a_delay_begins_with_the_turn_before_and_is_bounded() {
    let driver = with_timers(HOUR, 1..20);
    let coalesces = |now| driver.timers().coalesced_until(HOUR, now);
    for now in [HOUR, HOUR + TICK, HOUR + DELAY_NS - 1] {
        assert_eq!(coalesces(now), Some(HOUR + DELAY_NS));
    }
    assert_eq!(coalesces(HOUR + DELAY_NS), None, "there was a pause: the first is served at once");
    assert_eq!(driver.timers().coalesced_until(0, HOUR), None, "nothing has fired yet");
}

/// Wherever `time` lies between the borders of the wheel's buckets, also where some have not been opened.
#[test]
fn the_outlook_shows_the_ticks_ahead() {
    for first in 1..200 {
        let mut wheel = Wheel::new();
        let time = first * TICK + 77;
        wheel.expire(time, &mut Vec::new());
        for tick in [1, 2, 5, OUTLOOK, OUTLOOK + 1, 1_000] {
            wheel.insert((first + tick) * TICK, ());
        }
        assert_eq!(wheel.ticks_ahead(time, OUTLOOK, SAMPLE), 0b1000_0000_0001_0011, "at {first}");
        wheel.expire(time + 3 * TICK, &mut vec![]);
        assert_eq!(
            wheel.ticks_ahead(time + 3 * TICK, OUTLOOK, SAMPLE),
            0b11_0000_0000_0010,
            "at {first}"
        );
    }
    // No bucket has been opened for long.
    let mut wheel = Wheel::new();
    for tick in 1..=5 {
        wheel.insert(HOUR + tick * TICK, ());
    }
    assert!(wheel.ticks_ahead(HOUR, OUTLOOK, SAMPLE).count_ones() >= DENSE);
}

/// Some hundred ticks have timers; each was served in a turn of its own.
#[test]
fn timers_that_are_close_together_share_turns() {
    const TIMERS: u32 = 2_000;
    const STEP: Duration = Duration::from_micros(10);
    let driver = Driver::new(2).unwrap();
    let (count, waker) = Count::new();
    let mut head_start = Duration::from_millis(10);
    let timers = loop {
        let start = Instant::now() + head_start;
        let timer =
            |n| TimerEntry::new(driver.timers().shard(n as usize).clone(), start + STEP * n);
        let mut timers: Vec<_> = (0..TIMERS).map(timer).collect();
        let mut timers_wait =
            timers.iter_mut().map(|timer| timer.poll(&mut Context::from_waker(&waker)));
        if timers_wait.all(|polled| polled.is_pending()) {
            break timers;
        }
        // This thread was held up.
        head_start *= 2;
    };
    let (mut turns, mut fired) = (0, 0);
    let mut wakes = Vec::new();
    while fired < TIMERS as usize {
        let mut seat = driver.try_seat().unwrap();
        seat.turn(Some(TOO_LONG), &mut wakes);
        assert_eq!(seat.fired(), wakes.len());
        fired += wakes.len();
        turns += u32::from(!wakes.is_empty());
        wakes.clear();
    }
    assert_eq!(count.get(), 0);
    drop(timers);
    let ticks = TIMERS * STEP.as_nanos() as u32 / TICK as u32;
    assert!(turns * 3 < ticks, "{turns} turns for {ticks} ticks");
}

#[test]
fn a_coalesced_turn_is_ended_by_a_wake_and_not_by_a_new_deadline() {
    let driver = Driver::new(1).unwrap();
    // Once, so that a thread that loses its core in between does not spread them.
    let base = Instant::now();
    let timer = |after: u64| {
        let deadline = base + Duration::from_nanos(after);
        let mut timer = TimerEntry::new(driver.timers().shard(0).clone(), deadline);
        assert!(timer.poll(&mut Context::from_waker(Waker::noop())).is_pending());
        timer
    };
    let _dense: Vec<_> = (2..10).map(|tick| timer(HOUR + tick * TICK)).collect();
    // Timers have fired at a moment that lies ahead, so that the delay lasts: shortly before these.
    let first = driver.timers().next_deadline().unwrap();
    driver.try_seat().unwrap().poller.served = first - 2 * TICK;
    let sleeper = asleep(&driver, None);
    let _earlier = timer(HOUR / 2);
    // A ring would have taken the announcement back.
    assert!(driver.alarm.has_sleeper());
    driver.wake();
    sleeper.join().unwrap();
    assert!(!driver.alarm.has_sleeper());
}
