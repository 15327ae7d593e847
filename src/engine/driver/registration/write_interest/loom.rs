//! Models of the first write that finds no room, beside room that comes.

use super::WriteInterest;
use crate::engine::driver::readiness::{Direction, Readiness, Ready};
use crate::engine::sync_shim::{Arc, Mutex, block_on, thread};
use crate::engine::wakers::wake_all;
use mio::Interest;
use std::future::poll_fn;
use std::task::Poll;

/// The only descriptor.
const DESCRIPTOR: i32 = 0;

/// A connection without room.
struct Connection {
    write_interest: WriteInterest,
    readiness: Readiness,
    system: Mutex<System>,
}

/// What the system knows of it.
#[derive(Default)]
struct System {
    has_room: bool,
    reports_room: bool,
}

impl Connection {
    fn new() -> Arc<Self> {
        let both = Interest::READABLE | Interest::WRITABLE;
        Arc::new(Self {
            write_interest: WriteInterest::unreported(DESCRIPTOR, both),
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
                let register = |descriptor, interest: Interest| {
                    assert_eq!(descriptor, DESCRIPTOR);
                    self.change(|system| system.reports_room = interest.is_writable());
                    Ok(())
                };
                let all = Direction::Write.all();
                let cleared = self.write_interest.clear_bits(&self.readiness, event, all, register);
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
