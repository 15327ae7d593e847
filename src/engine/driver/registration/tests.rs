use std::io::Write;
#[cfg(unix)]
use std::net::Shutdown;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use mio::Token;
use mio::net::TcpListener;

use super::Registration;
use crate::engine::driver::Driver;
use crate::engine::driver::readiness::Direction;
#[cfg(unix)]
use crate::engine::driver::readiness::Ready;
use crate::engine::driver::tests::{BOTH, pair, turn};

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap()
}

#[test]
fn ten_thousand_registrations_leave_nothing() {
    let driver = Driver::new(1).unwrap();
    let mut source = listener();
    let mut tokens = Vec::new();
    for _ in 0..10_000 {
        let registration = driver.register(&mut source, BOTH).unwrap();
        tokens.push(registration.key.to_usize());
        registration.deregister(&mut source).unwrap();
    }
    assert_eq!(driver.sources.lock().table.len(), 0);
    assert_eq!(Arc::strong_count(&driver), 1);
    // Each had a token of its own, although all of them had the same place.
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 10_000);
}

#[test]
fn a_token_finds_nothing_after_the_deregistration() {
    let driver = Driver::new(1).unwrap();
    let mut source = listener();
    let registration = driver.register(&mut source, BOTH).unwrap();
    let token = Token(registration.key.to_usize());
    assert!(driver.sources.lock().find(token).is_some());
    registration.deregister(&mut source).unwrap();
    assert!(driver.sources.lock().find(token).is_none());

    // Nor after the place has been given away, and nothing can deregister the successor with it.
    let successor = driver.register(&mut source, BOTH).unwrap();
    assert!(driver.sources.lock().find(token).is_none());
    drop(registration);
    assert!(driver.sources.lock().find(Token(successor.key.to_usize())).is_some());
}

#[test]
fn a_source_can_be_registered_again() {
    let driver = Driver::new(1).unwrap();
    let (mut ours, mut theirs) = pair();
    let registration = driver.register(&mut ours, BOTH).unwrap();
    assert!(driver.register(&mut ours, BOTH).is_err(), "registered twice at once");
    assert_eq!(driver.sources.lock().table.len(), 1, "a refused registration stays in the table");
    registration.deregister(&mut ours).unwrap();
    assert!(registration.deregister(&mut ours).is_err(), "deregistered twice");

    let registration = driver.register(&mut ours, BOTH).unwrap();
    let readiness = registration.readiness();
    readiness.clear_would_block(readiness.current(BOTH), Direction::Read);
    theirs.write_all(b"x").unwrap();
    while !readiness.current(BOTH).ready.is_readable() {
        turn(&driver, Duration::from_secs(5));
    }
}

#[test]
fn a_dropped_registration_leaves_the_table() {
    let driver = Driver::new(1).unwrap();
    let mut source = listener();
    drop(driver.register(&mut source, BOTH).unwrap());
    assert_eq!(driver.sources.lock().table.len(), 0);
}

/// A task that owns another source; the drop of its waker drops both.
struct Owner {
    _owned: Mutex<Registration>,
}

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

/// Waits for the source, and only its readiness keeps it from then on.
fn wait_owning(registration: &Registration, owned: Registration) {
    let readiness = registration.readiness();
    readiness.clear_would_block(readiness.current(BOTH), Direction::Read);
    let waker = Waker::from(Arc::new(Owner { _owned: Mutex::new(owned) }));
    let cx = &mut Context::from_waker(&waker);
    assert!(readiness.poll_ready(cx, Direction::Read).is_pending());
}

#[test]
fn a_deregistration_may_drop_a_task_that_owns_another_source() {
    let driver = Driver::new(1).unwrap();
    let mut sources = [listener(), listener(), listener()];
    let [first, second, third] =
        sources.each_mut().map(|source| driver.register(source, BOTH).unwrap());
    wait_owning(&second, third);
    wait_owning(&first, second);
    drop(first);
    assert_eq!(driver.sources.lock().table.len(), 0);
}

/// The program waited for room, was shown that alone, and says that the source is ready for nothing at all.
/// The end, which no event will report again, stays; also if the system cannot be asked about it.
#[cfg(unix)]
#[test]
fn an_end_stays_that_the_program_was_not_shown() {
    use std::os::fd::AsRawFd;

    for knows_descriptor in [true, false] {
        let driver = Driver::new(1).unwrap();
        let (mut ours, theirs) = pair();
        let registration = driver.register(&mut ours, BOTH).unwrap();
        registration.note_descriptor(knows_descriptor.then(|| ours.as_raw_fd()));
        theirs.shutdown(Shutdown::Write).unwrap();
        let readiness = registration.readiness();
        while !readiness.current(BOTH).ready.is_read_closed() {
            turn(&driver, Duration::from_secs(5));
        }
        let shown = readiness.current(mio::Interest::WRITABLE);
        assert_eq!(shown.ready, Ready::WRITABLE);
        registration.clear_by_program(shown, Ready::ALL);
        assert_eq!(readiness.current(BOTH).ready, Ready::READ_CLOSED, "{knows_descriptor}");
        registration.deregister(&mut ours).unwrap();
    }
}
