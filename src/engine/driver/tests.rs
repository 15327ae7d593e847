use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Interest, Token};

use super::readiness::{Direction, Ready};
use super::registration::Registration;
use super::timers::TimerEntry;
use super::{Driver, LONGEST_SLEEP, SeatGuard, dispatch_events, has_events};
use crate::engine::wakers::tests::Count;

pub(super) const BOTH: Interest = Interest::READABLE.add(Interest::WRITABLE);
/// Longer than any test may take: a turn that sleeps this long has missed its wake.
pub(super) const TOO_LONG: Duration = Duration::from_secs(30);

/// Two connected sockets.
pub(super) fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let ours = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    let [ours, theirs] = [ours, theirs].map(|stream| {
        stream.set_nonblocking(true).unwrap();
        TcpStream::from_std(stream)
    });
    (ours, theirs)
}

/// Takes the seat for one turn and calls the wakers.
pub(super) fn turn(driver: &Driver, limit: Duration) -> usize {
    let mut wakes = Vec::new();
    driver.try_seat().expect("the seat is free").turn(Some(limit), &mut wakes);
    let woken = wakes.len();
    wakes.into_iter().for_each(Waker::wake);
    woken
}

/// Turns until `done`, which must not take long.
pub(super) fn turn_until(driver: &Driver, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        turn(driver, Duration::from_millis(100));
        assert!(start.elapsed() < TOO_LONG, "what was waited for did not happen");
    }
}

/// A registered socket of which the first events have been seen and everything is known to block,
/// and its peer.
fn registered(driver: &Arc<Driver>) -> (TcpStream, Registration, TcpStream) {
    let (mut ours, theirs) = pair();
    let registration = driver.register(&mut ours, BOTH).unwrap();
    // Until nothing more fits, so that the socket is not writable in truth.
    while ours.write(&[0; 65_536]).is_ok() {}
    turn(driver, Duration::ZERO);
    let readiness = registration.readiness();
    for direction in [Direction::Read, Direction::Write] {
        readiness.clear_would_block(readiness.current(BOTH), direction);
    }
    (ours, registration, theirs)
}

fn is_pending(registration: &Registration, waker: &Waker, direction: Direction) -> bool {
    let cx = &mut Context::from_waker(waker);
    registration.readiness().poll_ready(cx, direction).is_pending()
}

fn empty(stream: &mut TcpStream) {
    let mut buffer = vec![0; 1 << 20];
    while stream.read(&mut buffer).is_ok_and(|n| n > 0) {}
}

/// Sleeps in the seat on another thread until it has wakers to call. Returns once that thread is
/// about to block.
pub(super) fn asleep(
    driver: &Arc<Driver>,
    limit: Option<Duration>,
) -> thread::JoinHandle<Duration> {
    let before = driver.attendance();
    let sleeper = thread::spawn({
        let driver = driver.clone();
        move || {
            let start = Instant::now();
            let mut wakes = Vec::new();
            driver.try_seat().expect("the seat is free").turn(limit, &mut wakes);
            wakes.into_iter().for_each(Waker::wake);
            start.elapsed()
        }
    });
    while driver.attendance() == before || !driver.alarm.has_sleeper() {
        assert!(!sleeper.is_finished(), "did not sleep");
        thread::yield_now();
    }
    sleeper
}

#[test]
fn an_event_before_any_task_waits_is_remembered() {
    let driver = Driver::new(1).unwrap();
    let (_ours, registration, mut theirs) = registered(&driver);
    theirs.write_all(b"x").unwrap();
    turn_until(&driver, || registration.readiness().current(BOTH).ready.is_readable());
    let (count, waker) = Count::new();
    assert!(!is_pending(&registration, &waker, Direction::Read));
    assert_eq!(count.get(), 0);
}

#[test]
fn all_waiters_of_a_direction_are_woken() {
    let driver = Driver::new(1).unwrap();
    let (_ours, registration, mut theirs) = registered(&driver);
    let tasks = [Count::new(), Count::new(), Count::new()];
    for (_, waker) in &tasks {
        assert!(is_pending(&registration, waker, Direction::Read));
    }
    theirs.write_all(b"x").unwrap();
    turn_until(&driver, || tasks.iter().all(|(count, _)| count.get() == 1));
}

#[test]
fn reading_and_writing_do_not_wake_each_other() {
    let driver = Driver::new(1).unwrap();
    let (mut ours, registration, mut theirs) = registered(&driver);
    let (reader, read_waker) = Count::new();
    let (writer, write_waker) = Count::new();
    assert!(is_pending(&registration, &read_waker, Direction::Read));
    assert!(is_pending(&registration, &write_waker, Direction::Write));

    theirs.write_all(b"x").unwrap();
    turn_until(&driver, || reader.get() == 1);
    assert_eq!(writer.get(), 0);

    let mut byte = [0];
    assert_eq!(ours.read(&mut byte).unwrap(), 1);
    assert!(ours.read(&mut byte).is_err());
    let readiness = registration.readiness();
    readiness.clear_would_block(readiness.current(BOTH), Direction::Read);
    assert!(is_pending(&registration, &read_waker, Direction::Read));
    turn_until(&driver, || {
        empty(&mut theirs);
        writer.get() == 1
    });
    assert_eq!(reader.get(), 1);
}

#[test]
fn the_peer_going_away_is_reported() {
    let driver = Driver::new(1).unwrap();
    let (_ours, registration, mut theirs) = registered(&driver);
    let (reader, waker) = Count::new();
    assert!(is_pending(&registration, &waker, Direction::Read));
    // Emptied first: closing with unread data would be a reset instead of an end.
    empty(&mut theirs);
    drop(theirs);
    turn_until(&driver, || reader.get() > 0);
    assert!(registration.readiness().current(BOTH).ready.is_readable());
}

#[test]
fn a_source_registered_while_a_thread_sleeps_wakes_it() {
    let driver = Driver::new(1).unwrap();
    let sleeper = asleep(&driver, Some(TOO_LONG));
    let (mut ours, _theirs) = pair();
    let _registration = driver.register(&mut ours, BOTH).unwrap();
    assert!(sleeper.join().unwrap() < TOO_LONG);
}

#[test]
fn one_thread_sits_at_a_time() {
    let driver = Driver::new(1).unwrap();
    assert!(!driver.is_attended());
    let before = driver.attendance();
    let seat = driver.try_seat().unwrap();
    assert!(driver.is_attended());
    assert_eq!(driver.attendance(), before + 1);
    assert!(driver.try_seat().is_none());
    drop(seat);
    assert!(!driver.is_attended());
    assert_eq!(driver.attendance(), before + 1);
    drop(driver.try_seat().unwrap());
    assert_eq!(driver.attendance(), before + 2);
}

#[test]
fn a_wake_before_the_turn_ends_it_at_once() {
    let driver = Driver::new(1).unwrap();
    for _ in 0..3 {
        driver.wake();
        driver.wake();
        // A turn that cannot sleep does not use the wake up.
        turn(&driver, Duration::ZERO);
        let start = Instant::now();
        turn(&driver, TOO_LONG);
        assert!(start.elapsed() < TOO_LONG);
    }
}

#[test]
fn a_wake_ends_the_sleep_of_another_thread() {
    let driver = Driver::new(1).unwrap();
    for limit in [None, Some(TOO_LONG), Some(Duration::MAX)] {
        let sleeper = asleep(&driver, limit);
        driver.wake();
        assert!(sleeper.join().unwrap() < TOO_LONG);
        assert!(!driver.alarm.has_sleeper());
    }
}

#[test]
fn wakes_and_sleeps_in_any_order_never_hang() {
    let driver = Driver::new(1).unwrap();
    let rounds = 2_000;
    let served = Arc::new(AtomicUsize::new(0));
    let sleeper = thread::spawn({
        let (driver, served) = (driver.clone(), served.clone());
        move || {
            let mut wakes = Vec::new();
            while served.load(Ordering::Relaxed) < rounds {
                driver.try_seat().unwrap().turn(None, &mut wakes);
            }
        }
    });
    for _ in 0..rounds {
        served.fetch_add(1, Ordering::Relaxed);
        driver.wake();
    }
    sleeper.join().unwrap();
}

/// Timers in these shards that wait for one moment, and that moment: soon, but not so soon that a thread that
/// is held up finds that it has come.
fn soon(
    driver: &Driver,
    shards: std::ops::Range<usize>,
    waker: &Waker,
) -> (Vec<TimerEntry>, Instant) {
    let mut length = Duration::from_millis(20);
    loop {
        let deadline = Instant::now() + length;
        let timer = |shard| TimerEntry::new(driver.timers().shard(shard).clone(), deadline);
        let mut timers: Vec<_> = shards.clone().map(timer).collect();
        let mut polls = timers.iter_mut().map(|it| it.poll(&mut Context::from_waker(waker)));
        if polls.all(|polled| polled.is_pending()) {
            return (timers, deadline);
        }
        length *= 2;
    }
}

#[test]
fn an_earlier_deadline_shortens_a_sleep_in_progress() {
    let driver = Driver::new(2).unwrap();
    let (far, far_waker) = Count::new();
    let mut far_timer =
        TimerEntry::new(driver.timers().shard(0).clone(), Instant::now() + TOO_LONG);
    assert!(far_timer.poll(&mut Context::from_waker(&far_waker)).is_pending());

    let sleeper = asleep(&driver, None);
    let (near, waker) = Count::new();
    let (mut timers, deadline) = soon(&driver, 1..2, &waker);
    assert!(sleeper.join().unwrap() < TOO_LONG);

    turn_until(&driver, || near.get() == 1);
    assert!(Instant::now() >= deadline, "the timer fired early");
    assert_eq!(timers[0].poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(())));
    assert_eq!(far.get(), 0);
}

#[test]
fn a_later_deadline_leaves_the_sleeper_alone() {
    let driver = Driver::new(1).unwrap();
    let sleeper = asleep(&driver, Some(TOO_LONG));
    let (_, waker) = Count::new();
    let mut timer =
        TimerEntry::new(driver.timers().shard(0).clone(), Instant::now() + 2 * TOO_LONG);
    assert!(timer.poll(&mut Context::from_waker(&waker)).is_pending());
    // A ring would have taken the announcement back.
    assert!(driver.alarm.has_sleeper());
    driver.wake();
    sleeper.join().unwrap();
}

#[test]
fn a_turn_without_sleep_expires_timers_too() {
    let driver = Driver::new(3).unwrap();
    let (count, waker) = Count::new();
    let (_timers, deadline) = soon(&driver, 0..3, &waker);
    let start = Instant::now();
    while count.get() < 3 {
        turn(&driver, Duration::ZERO);
        assert!(start.elapsed() < TOO_LONG);
    }
    assert!(Instant::now() >= deadline);
}

#[test]
fn closing_ends_all_waits_and_refuses_new_sources() {
    let driver = Driver::new(1).unwrap();
    let (mut ours, registration, _theirs) = registered(&driver);
    let (reader, read_waker) = Count::new();
    assert!(is_pending(&registration, &read_waker, Direction::Read));
    let (sleeper, sleep_waker) = Count::new();
    let mut timer = TimerEntry::new(driver.timers().shard(0).clone(), Instant::now() + TOO_LONG);
    assert!(timer.poll(&mut Context::from_waker(&sleep_waker)).is_pending());

    let mut wakes = Vec::new();
    driver.close(&mut wakes);
    assert_eq!((wakes.len(), reader.get(), sleeper.get()), (2, 0, 0));
    wakes.into_iter().for_each(Waker::wake);
    assert_eq!((reader.get(), sleeper.get()), (1, 1));

    let cx = &mut Context::from_waker(&read_waker);
    assert!(matches!(
        registration.readiness().poll_ready(cx, Direction::Read),
        Poll::Ready(Err(_))
    ));
    let (mut late, _peer) = pair();
    let refused = driver.register(&mut late, BOTH).err().expect("the driver is closed");
    assert_eq!(refused.to_string(), "the runtime that drives this source has been shut down");
    // Events and deregistrations of old sources are still in order, and so is closing twice.
    turn(&driver, Duration::ZERO);
    registration.deregister(&mut ours).unwrap();
    driver.close(&mut Vec::new());
}

/// A closed driver keeps nothing alive: neither the wakers of its sources nor, through them,
/// itself.
#[test]
fn a_closed_driver_releases_all_wakers() {
    let driver = Driver::new(1).unwrap();
    let (_ours, registration, _theirs) = registered(&driver);
    let (count, waker) = Count::new();
    assert!(is_pending(&registration, &waker, Direction::Read));
    drop(waker);
    let mut wakes = Vec::new();
    driver.close(&mut wakes);
    drop(wakes);
    assert_eq!(Arc::strong_count(&count), 1);
    drop(registration);
    assert_eq!(Arc::strong_count(&driver), 1);
}

#[test]
fn events_do_not_make_anything_grow() {
    let driver = Driver::new(1).unwrap();
    let (mut ours, registration, mut theirs) = registered(&driver);
    let readiness = registration.readiness();
    let (_, waker) = Count::new();
    let mut wakes = Vec::new();
    let mut capacity = None;
    for _ in 0..500 {
        assert!(is_pending(&registration, &waker, Direction::Read));
        theirs.write_all(b"x").unwrap();
        while !readiness.current(BOTH).ready.is_readable() {
            driver.try_seat().unwrap().turn(Some(TOO_LONG), &mut wakes);
        }
        wakes.drain(..).for_each(Waker::wake);
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 1);
        assert!(ours.read(&mut [0; 8]).is_err());
        readiness.clear_would_block(readiness.current(BOTH), Direction::Read);
        let now = wakes.capacity();
        assert_eq!(*capacity.get_or_insert(now), now);
    }
}

#[test]
fn readiness_bits_come_from_the_system() {
    let driver = Driver::new(1).unwrap();
    let (mut ours, mut theirs) = pair();
    let registration = driver.register(&mut ours, BOTH).unwrap();
    let readiness = registration.readiness();
    readiness.clear_would_block(readiness.current(BOTH), Direction::Read);
    turn_until(&driver, || readiness.current(BOTH).ready == Ready::WRITABLE);
    theirs.write_all(b"x").unwrap();
    turn_until(&driver, || readiness.current(BOTH).ready.is_readable());
    assert!(!readiness.current(BOTH).ready.is_read_closed());
    theirs.shutdown(std::net::Shutdown::Write).unwrap();
    turn_until(&driver, || readiness.current(BOTH).ready.is_read_closed());
    assert!(!readiness.current(BOTH).ready.is_write_closed());
}

/// The event has been fetched from the system, and its source goes away before it is dispatched.
#[test]
fn a_late_event_does_not_reach_the_next_source() {
    let driver = Driver::new(1).unwrap();
    let (mut old, mut old_peer) = pair();
    let old_registration = driver.register(&mut old, BOTH).unwrap();
    old_peer.write_all(b"x").unwrap();
    let mut seat = driver.try_seat().unwrap();
    let readable = |seat: &SeatGuard<'_>| seat.poller.events.iter().any(|e| e.is_readable());
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

fn first_token(seat: &SeatGuard<'_>) -> Token {
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
        sleep.map(|end| (end.deadline, end.limit))
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
