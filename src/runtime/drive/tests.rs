//! Blocking work that ends while the thread looks whether everything waits.

use super::*;
use crate::engine::driver::readiness::Direction;
use crate::engine::driver::timers::TimerEntry;
use crate::engine::park::Unpark;
use crate::engine::wakers::tests::Count;
use mio::Interest;
use std::future::Future;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::pin::pin;

const HOUR: Duration = Duration::from_secs(3_600);

/// A driver whose clock stands still, and a timer that waits for the clock to jump.
fn still() -> (Arc<Driver>, TimerEntry) {
    let driver = Driver::new(1).unwrap();
    driver.stop_clock().unwrap();
    let shard = driver.timers().shard(0).clone();
    let mut timer = TimerEntry::new(shard, driver.clock().now() + HOUR);
    assert!(timer.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    (driver, timer)
}

#[test]
fn the_clock_stands_when_work_ends_and_wakes_a_task() {
    let (driver, _timer) = still();
    let (start, parker, mut wakes) = (driver.clock().now(), Parker::new(), Vec::new());
    let ends = || {
        assert_eq!(parker.unparker().unpark(), Unpark::Done);
        OthersIdle::alone(true)
    };
    idle_turn(&driver, &parker, &ends, &mut Patience::new(), &mut wakes);
    assert_eq!(driver.clock().now(), start);
    parker.take_token();
    idle_turn(&driver, &parker, &|| OthersIdle::alone(true), &mut Patience::new(), &mut wakes);
    assert_eq!(driver.clock().now(), start + HOUR, "no task is awake any more");
}

#[test]
fn the_clock_stands_when_work_ends_and_has_written_to_a_socket() {
    let (driver, _timer) = still();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (ours, _) = listener.accept().unwrap();
    let seen = ours.try_clone().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut ours = mio::net::TcpStream::from_std(ours);
    let registration = driver.register(&mut ours, Interest::READABLE).unwrap();
    let readiness = registration.readiness();
    readiness.clear_would_block(readiness.current(Interest::READABLE), Direction::Read);
    let (count, waker) = Count::new();
    assert!(readiness.poll_ready(&mut Context::from_waker(&waker), Direction::Read).is_pending());

    let start = driver.clock().now();
    let ends = || {
        (&theirs).write_all(b"x").unwrap();
        // Until it has arrived, which takes no time on most systems.
        while seen.peek(&mut [0]).is_err() {}
        OthersIdle::alone(true)
    };
    idle_turn(&driver, &Parker::new(), &ends, &mut Patience::new(), &mut Vec::new());
    assert_ne!(count.get(), 0, "the event is there");
    assert_eq!(driver.clock().now(), start);
}

#[test]
fn a_quiescent_point_waits_for_roots_of_other_threads_but_not_for_ever() {
    let (driver, _timer) = still();
    let (start, mut wakes, mut patience) = (driver.clock().now(), Vec::new(), Patience::new());
    let (count, waker) = Count::new();
    let (points, mut cx) = (driver.quiescent_points(), Context::from_waker(&waker));
    let mut first = pin!(points.wait(0));
    let awake = || OthersIdle { roots: false, all: false };
    for _ in 0..LOOKS {
        assert!(first.as_mut().poll(&mut cx).is_pending());
        idle_turn(&driver, &Parker::new(), &awake, &mut patience, &mut wakes);
        assert_eq!(count.get(), 0);
    }
    idle_turn(&driver, &Parker::new(), &awake, &mut patience, &mut wakes);
    assert_eq!(count.get(), 1, "they have been waited for long enough");
    let mut second = pin!(points.wait(points.count()));
    assert!(second.as_mut().poll(&mut cx).is_pending());
    // Blocking work keeps the clock where it is, and holds up no quiescent point.
    let works = || OthersIdle::alone(false);
    idle_turn(&driver, &Parker::new(), &works, &mut patience, &mut wakes);
    assert_eq!((count.get(), driver.clock().now()), (2, start));
}
