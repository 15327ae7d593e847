//! Connections whose room is reported late, over the system's selector.

use crate::engine::driver::Driver;
use crate::engine::driver::readiness::Direction;
use crate::engine::driver::registration::Registration;
use crate::engine::driver::tests::{BOTH, pair, turn_until};
use mio::Interest;
use mio::net::TcpStream;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn is_writable(registration: &Registration) -> bool {
    registration.readiness().current(Interest::WRITABLE).ready.is_writable()
}

/// Takes the seat for one turn that does not wait.
fn look(driver: &Arc<Driver>) {
    driver.try_seat().unwrap().turn(Some(Duration::ZERO), &mut Vec::new());
}

#[test]
fn the_room_of_a_new_connection_is_no_event() {
    let driver = Driver::new(1).unwrap();
    for (descriptor, is_event) in [(true, false), (false, true)] {
        let (mut ours, _theirs) = pair();
        let descriptor = descriptor.then(|| ours.as_raw_fd());
        let registration = driver.register_with_room(&mut ours, BOTH, descriptor).unwrap();
        assert!(is_writable(&registration));
        let before = registration.readiness().current(BOTH);
        look(&driver);
        // Has no effect if there was an event meanwhile.
        registration.readiness().clear_would_block(before, Direction::Write);
        assert_eq!(is_writable(&registration), is_event);
        registration.deregister(&mut ours).unwrap();
    }
}

/// Writes until there is no room, and none comes although the peer's system takes what is under way. Returns
/// the number of bytes.
fn fill(driver: &Arc<Driver>, ours: &mut TcpStream, registration: &Registration) -> usize {
    let mut written = 0;
    while is_writable(registration) {
        let before = registration.readiness().current(BOTH);
        let error = loop {
            match ours.write(&[7; 4096]) {
                Ok(bytes) => written += bytes,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        registration.clear_would_block(before, Direction::Write).unwrap();
        look(driver);
    }
    written
}

fn drain(theirs: &mut TcpStream, mut bytes: usize) {
    while bytes > 0 {
        match theirs.read(&mut [0; 4096]) {
            Ok(read) => bytes -= read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_connection_that_was_full_is_reported_when_it_has_room() {
    let driver = Driver::new(1).unwrap();
    let (mut ours, mut theirs) = pair();
    let descriptor = Some(ours.as_raw_fd());
    let registration = driver.register_with_room(&mut ours, BOTH, descriptor).unwrap();
    // The second time room is reported anyway.
    for _ in 0..2 {
        let written = fill(&driver, &mut ours, &registration);
        drain(&mut theirs, written);
        turn_until(&driver, || is_writable(&registration));
    }
}

#[test]
fn a_connection_that_the_system_refuses_to_report_stays_ready() {
    let driver = Driver::new(1).unwrap();
    let (mut ours, _theirs) = pair();
    let registration = driver.register_with_room(&mut ours, BOTH, Some(i32::MAX)).unwrap();
    let before = registration.readiness().current(BOTH);
    // Reading has nothing to do with it.
    registration.clear_would_block(before, Direction::Read).unwrap();
    for _ in 0..2 {
        registration.clear_would_block(before, Direction::Write).unwrap_err();
        registration.clear_after_short_transfer(before, Direction::Write);
        assert!(is_writable(&registration));
    }
}
