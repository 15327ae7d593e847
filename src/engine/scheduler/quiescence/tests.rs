//! The order in which the holder of the seat looks.

use super::*;
use crate::engine::driver::Driver;
use crate::engine::driver::readiness::Direction;
use crate::engine::driver::timers::TimerEntry;
use mio::Interest;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::task::Context;

/// The work's last act is to write to a socket.
#[test]
fn the_clock_stands_when_work_ends_and_has_caused_an_event() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (ours, _) = listener.accept().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut source = mio::net::TcpStream::from_std(ours.try_clone().unwrap());

    let shared = Shared::new(1, Driver::new(1).unwrap());
    let driver = shared.driver.clone();
    shared.count_threads(move || {
        (&theirs).write_all(b"x").unwrap();
        // Until it has arrived, which takes no time on most systems.
        while ours.peek(&mut [0]).is_err() {}
        true
    });
    driver.stop_clock().unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    let registration = driver.register(&mut source, Interest::READABLE).unwrap();
    let readiness = registration.readiness();
    readiness.clear_would_block(readiness.current(Interest::READABLE), Direction::Read);
    assert!(readiness.poll_ready(&mut cx, Direction::Read).is_pending());
    let start = driver.clock().now();
    let mut timer =
        TimerEntry::new(driver.timers().shard(0).clone(), start + Duration::from_millis(100));
    assert!(timer.poll(&mut cx).is_pending());

    shared.add_awake();
    let mut wakes = Vec::new();
    shared.turn(&mut driver.try_seat().unwrap(), None, &mut wakes);
    assert_eq!(wakes.len(), 1, "the event's alone");
    assert!(readiness.poll_ready(&mut cx, Direction::Read).is_ready());
    assert_eq!(driver.clock().now(), start);
}
