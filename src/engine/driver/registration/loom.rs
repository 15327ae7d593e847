//! Models of the table of sources: an event finds the source it is for or none, and no source is forgotten by
//! the close; and of the first write that finds no room, beside room that comes.

use super::*;
use crate::engine::driver::readiness::{Direction, Ready};
use crate::engine::sync_shim::{Mutex, block_on, both_ways, thread};
use crate::engine::wakers::wake_all;
use std::future::poll_fn;
use std::task::{Context, Poll, Waker};

/// A source that the system knows nothing of: the models are about the table.
struct Nothing;

impl Source for Nothing {
    fn register(&mut self, _: &mio::Registry, _: Token, _: mio::Interest) -> io::Result<()> {
        Ok(())
    }

    fn reregister(&mut self, _: &mio::Registry, _: Token, _: mio::Interest) -> io::Result<()> {
        Ok(())
    }

    fn deregister(&mut self, _: &mio::Registry) -> io::Result<()> {
        Ok(())
    }
}

/// A source that the system has an event for as soon as it knows of it: says which token that event carries.
struct Eager(Arc<Mutex<Option<Token>>>);

impl Source for Eager {
    fn register(&mut self, _: &mio::Registry, token: Token, _: mio::Interest) -> io::Result<()> {
        *self.0.lock() = Some(token);
        Ok(())
    }

    fn reregister(&mut self, _: &mio::Registry, _: Token, _: mio::Interest) -> io::Result<()> {
        Ok(())
    }

    fn deregister(&mut self, _: &mio::Registry) -> io::Result<()> {
        Ok(())
    }
}

fn driver() -> Arc<Driver> {
    Driver::new(1).expect("a selector")
}

fn register(driver: &Arc<Driver>) -> io::Result<Registration> {
    driver.register(&mut Nothing, mio::Interest::READABLE)
}

/// Nothing is ready any more.
fn drain(registration: &Registration) {
    let readiness = registration.readiness();
    let event = readiness.current(mio::Interest::READABLE);
    readiness.clear_would_block(event, Direction::Read);
}

/// The dispatch of an event for `token`, which the holder of the seat fetched before. Returns how many tasks
/// it wakes; `None`: it finds no source.
fn dispatch(driver: &Driver, token: Token) -> Option<usize> {
    let mut wakes = Vec::new();
    let sources = driver.sources.lock();
    let found = sources.find(token).map(|readiness| readiness.set(Ready::READABLE, &mut wakes));
    drop(sources);
    let woken = wakes.len();
    wakes.into_iter().for_each(Waker::wake);
    found.map(|()| woken)
}

/// The first event of a source is dispatched before its registration has returned: it is not lost.
#[test]
fn an_event_may_come_before_the_registration_returns() {
    ::loom::model(|| {
        let driver = driver();
        let token = Arc::new(Mutex::new(None));
        let holder = {
            let (driver, token) = (driver.clone(), token.clone());
            thread::spawn(move || {
                loop {
                    let told = *token.lock();
                    match told {
                        Some(token) => break dispatch(&driver, token),
                        None => thread::yield_now(),
                    }
                }
            })
        };
        let source = driver.register(&mut Eager(token), mio::Interest::READABLE).expect("open");
        assert_eq!(holder.join().expect("no panic"), Some(0));
        assert!(source.readiness().current(mio::Interest::READABLE).ready.is_readable());
    });
}

/// An event has been fetched for a source that goes away, and whose place another one takes: the event
/// reaches the old source or none.
#[test]
fn a_late_event_never_reaches_the_next_source_in_the_place() {
    both_ways(|way| {
        let driver = driver();
        let old = register(&driver).expect("open");
        let token = Token(old.key.to_usize());
        let holder = {
            let driver = driver.clone();
            thread::spawn(move || dispatch(&driver, token))
        };
        way.here();
        old.deregister(&mut Nothing).expect("the source takes all");
        let new = register(&driver).expect("open");
        assert_eq!(new.key.index(), old.key.index(), "it is the same place");
        drain(&new);
        holder.join().expect("no panic");
        assert!(new.readiness().current(mio::Interest::READABLE).ready.is_empty());
    });
}

/// A source goes away, with its waiter, while an event is dispatched to it: the waiter is woken or dropped,
/// and the table is empty.
#[test]
fn a_source_that_goes_during_its_event_leaves_nothing() {
    both_ways(|way| {
        let driver = driver();
        let source = register(&driver).expect("open");
        drain(&source);
        let token = Token(source.key.to_usize());
        let waker = Waker::noop();
        let mut cx = Context::from_waker(waker);
        assert!(source.readiness().poll_ready(&mut cx, Direction::Read).is_pending());
        let holder = {
            let driver = driver.clone();
            thread::spawn(move || dispatch(&driver, token))
        };
        way.here();
        drop(source);
        assert!(holder.join().expect("no panic").is_none_or(|woken| woken == 1));
        assert_eq!(driver.sources.lock().table.len(), 0);
    });
}

/// A source is registered while the driver closes: it is refused, or its waits end with an error.
#[test]
fn a_source_registered_during_the_close_is_told() {
    both_ways(|way| {
        let driver = driver();
        let closer = {
            let driver = driver.clone();
            thread::spawn(move || driver.close(&mut Vec::new()))
        };
        way.here();
        let registered = register(&driver);
        closer.join().expect("no panic");
        if let Ok(source) = registered {
            drain(&source);
            let mut cx = Context::from_waker(Waker::noop());
            let polled = source.readiness().poll_ready(&mut cx, Direction::Read);
            assert!(matches!(polled, std::task::Poll::Ready(Err(_))), "it would wait for ever");
        }
    });
}

/// The program says that nothing is to be read of a socket whose peer has closed: the end stays, because the
/// system says otherwise. It says the same of room, which goes.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[test]
fn an_end_stays_whatever_the_program_says() {
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    ::loom::model(|| {
        let driver = driver();
        let (ours, theirs) = UnixStream::pair().expect("two sockets");
        drop(theirs);
        let source = register(&driver).expect("open");
        source.note_descriptor(Some(ours.as_raw_fd()));
        source.readiness().set(Ready::READ_CLOSED | Ready::ERROR, &mut Vec::new());
        let all = Ready::READABLE | Ready::READ_CLOSED | Ready::ERROR;
        let event = source.readiness().current(all);
        source.clear_by_program(event, all);
        assert_eq!(source.readiness().current(all).ready, Ready::READ_CLOSED);
        source.clear_after_try_io(event, all).expect("room need not be reported");
        assert_eq!(source.readiness().current(all).ready, Ready::READ_CLOSED);
    });
}

/// The only descriptor.
const DESCRIPTOR: i32 = 0;

/// A connection without room.
struct Connection {
    write_interest: WriteInterest,
    readiness: Readiness,
    system: Mutex<System>,
}

/// The state that the system has of it.
#[derive(Default)]
struct System {
    has_room: bool,
    reports_room: bool,
}

impl Connection {
    fn new() -> Arc<Self> {
        let both = mio::Interest::READABLE | mio::Interest::WRITABLE;
        Arc::new(Self {
            write_interest: WriteInterest::new(DESCRIPTOR, both),
            readiness: Readiness::new(both),
            system: Mutex::new(System::default()),
        })
    }

    /// Changes what the system knows, and delivers the event of the change, if there is one.
    fn change(&self, change: impl FnOnce(&mut System)) {
        let mut system = self.system.lock();
        change(&mut system);
        let is_event = system.has_room && system.reports_room;
        drop(system);
        if is_event {
            let mut wakes = Vec::new();
            self.readiness.set(Ready::WRITABLE, &mut wakes);
            wake_all(&mut wakes);
        }
    }

    /// Writes when there is room.
    fn write(&self) {
        block_on(poll_fn(|cx| {
            loop {
                let event = match self.readiness.poll_ready(cx, Direction::Write) {
                    Poll::Ready(event) => event.expect("no driver is gone"),
                    Poll::Pending => return Poll::Pending,
                };
                if self.system.lock().has_room {
                    return Poll::Ready(());
                }
                let register = |descriptor, interest: mio::Interest| {
                    assert_eq!(descriptor, DESCRIPTOR);
                    self.change(|system| system.reports_room = interest.is_writable());
                    Ok(())
                };
                let all = Direction::Write.all();
                let cleared =
                    self.write_interest.report_then_clear(&self.readiness, event, all, register);
                cleared.expect("`register` does not fail");
            }
        }));
    }
}

/// Two preemptions put any step of one thread between two of another; without a bound the writers' sleeps
/// make these models take hours.
fn room_beside_writers(writers: usize) {
    let mut builder = ::loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(move || {
        let connection = Connection::new();
        let writers: Vec<_> = (0..writers)
            .map(|_| {
                let connection = connection.clone();
                thread::spawn(move || connection.write())
            })
            .collect();
        connection.change(|system| system.has_room = true);
        for writer in writers {
            writer.join().expect("no panic");
        }
    });
}

#[test]
fn room_that_comes_beside_the_first_full_write_is_reported() {
    room_beside_writers(1);
}

#[test]
fn room_that_comes_beside_two_full_writes_is_reported_to_both() {
    room_beside_writers(2);
}
