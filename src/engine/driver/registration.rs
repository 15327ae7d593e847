//! A source's entry with the driver: the system's selector on one side, the table of sources on the
//! other.
//!
//! A source is registered once, edge-triggered, for all directions it will ever be used in: no
//! system call per wait. Connections and sockets for datagrams are the exception
//! ([below](#room-for-writing)): that one of them has room for writing is reported after a write that found
//! none. The token is the key in the table, with its generation. An event fetched before the deregistration
//! and dispatched after it therefore finds nothing, even if a new source has taken the place (model
//! `a_late_event_never_reaches_the_next_source_in_the_place`).
//!
//! # What clears what
//!
//! epoll reports each change once. So a bit may go when the next change will set it again, and a state
//! that does not change any more must stay, or a reader that comes later never learns of the end. The bits
//! of data, room, urgent data and errors are of the first kind. A *closed* bit (`READ_CLOSED`,
//! `WRITE_CLOSED`) may be of either. It is final where a peer has closed. It is not where the system
//! reports a socket that is not connected yet as hung up, where a datagram was refused, which looks like a
//! closed write side, and where a named pipe has no writer for a moment. If it stayed in these cases, each
//! wait would return at once for ever.
//!
//! | it says that it would block | data, room, urgent, errors | closed |
//! |---|---|---|
//! | a read or write of liten's own | those of its direction go | goes: a side that is closed never says so |
//! | an operation of its ([`clear_after_try_io`]) | those of its interest go | goes, unless still reported |
//! | the program ([`clear_by_program`]) | those that it names go | goes if it is not reported any more |
//! | a short transfer ([`clear_after_short_transfer`]) | those of its direction go | stays |
//! | what is for urgent data or errors alone | urgent data, errors go | stays; this interest waits on |
//!
//! The closure of a program may wait for both directions and try one, or be a call of a TLS library that read
//! because it was asked to write. Then its `WouldBlock` says nothing about the other side, and so the system
//! is asked ([`still_closed`]). The two rows differ where it cannot be asked, because the source's descriptor
//! is not known, or on systems other than Linux and Android. An operation is believed then. The program's own
//! word is not, because it may not have tried anything; tokio, too, keeps all closed bits then.
//!
//! A program may name bits of a direction that it did not wait for. An event shows the program only what it
//! waited for, so an event without closed bits does not mean that the source has none. Each closed bit of the
//! *state* that would go is asked about.
//!
//! A bit is asked about after the operation and cleared only if no event came since before it. So an end that
//! comes during the question is an event of its own, and stays (model
//! `an_end_that_comes_beside_the_question_is_kept`).
//!
//! [`clear_after_try_io`]: Registration::clear_after_try_io
//! [`clear_by_program`]: Registration::clear_by_program
//! [`clear_after_short_transfer`]: Registration::clear_after_short_transfer
//! [`still_closed`]: selector::still_closed
//!
//! # Room for writing
//!
//! The system reports room of a connection, and of a socket for datagrams, only when a write needs it.
//!
//! A new connection has room. A registration for both directions reports that at once: an event that tells
//! nothing, and it wakes the thread that sleeps in the selector. With the report `connect` costs 1.15 times
//! as much as tokio's, where mostly no thread sleeps there; without it 0.85. So a connection is registered
//! for reading, and for both directions when a write finds no room for the first time.
//!
//! A socket for datagrams is registered likewise. Registered for both directions, it would report room again
//! on Linux whenever a receiver takes a datagram that it has sent. Two relays on tokio wait 7.0 times in the
//! poller while they pass a datagram on and its answer back. Here they wait 4.7 times (row `udp_relay`).
//!
//! | room is | the bit of the readiness | becomes |
//! |---|---|---|
//! | not reported | set | reported: by the first write that finds no room, before the bit is cleared |
//! | reported | set or cleared | – |
//!
//! ## No room is overlooked
//!
//! The bit is cleared only while room is reported, so a task waits only then. Room that comes after the
//! change of the registration is an event. Room that came before it, but after the write, is an event too:
//! the system looks when the registration changes. That event has a later tick than the one that the writer
//! names when it clears the bit, or it comes after the clearing and wakes the writer (model
//! `room_that_comes_beside_the_first_full_write_is_reported`).
//!
//! Where the selector is neither epoll nor kqueue, room is always reported: mio changes a registration there
//! through the socket itself, which others may be using.

use super::readiness::{Direction, Readiness, Ready, ReadyEvent};
use super::{Driver, selector};
use crate::engine::slab::Key;
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::{AtomicI32, Ordering};
use mio::Token;
use mio::event::Source;
use std::io;

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;

/// The bits that say that a source has ended, for one interest or another.
const CLOSED: Ready = Ready::READ_CLOSED.or(Ready::WRITE_CLOSED).or(Ready::PRIORITY_CLOSED);

/// A registered source. The source itself is kept by the caller, which deregisters it before it is
/// closed; dropping the registration without that only takes it out of the table.
pub(crate) struct Registration {
    driver: Arc<Driver>,
    key: Key,
    readiness: Arc<Readiness>,
    write_interest: WriteInterest,
}

impl Driver {
    /// Registers a source.
    ///
    /// # Errors
    ///
    /// The driver has been shut down, or the system refuses the source (regular files, for one).
    pub(crate) fn register(
        self: &Arc<Self>,
        source: &mut (impl Source + ?Sized),
        interest: mio::Interest,
    ) -> io::Result<Registration> {
        self.register_for(source, interest, interest, REPORTED)
    }

    /// Registers a source that has room for writing, such as a connection: as [`register`](Self::register)
    /// for `interest`. But where the selector knows sources by their descriptors, of which this one has the
    /// given one, room is reported only after a write that found none.
    ///
    /// # Errors
    ///
    /// As [`register`](Self::register).
    pub(crate) fn register_with_room(
        self: &Arc<Self>,
        source: &mut (impl Source + ?Sized),
        interest: mio::Interest,
        descriptor: Option<i32>,
    ) -> io::Result<Registration> {
        let known = descriptor.filter(|_| selector::KNOWS_DESCRIPTORS);
        let late = known.zip(interest.remove(mio::Interest::WRITABLE));
        let (unreported, reported) = late.unwrap_or((REPORTED, interest));
        let registration = self.register_for(source, interest, reported, unreported)?;
        registration.note_descriptor(descriptor);
        Ok(registration)
    }

    /// Registers a source that is used for `interest`, of which the system reports `reported`. `unreported`:
    /// see [`WriteInterest`].
    fn register_for(
        self: &Arc<Self>,
        source: &mut (impl Source + ?Sized),
        interest: mio::Interest,
        reported: mio::Interest,
        unreported: i32,
    ) -> io::Result<Registration> {
        let write_interest = WriteInterest::new(unreported, interest);
        let readiness = Arc::new(Readiness::new(interest));
        let key = self.sources.lock().insert(readiness.clone())?;
        // From here on the drop of the registration takes the entry out again. Entered in the table before
        // the system knows of it: the first event may come while `register` has not returned. A close in
        // between does no harm: it has shut the readiness down.
        let registration = Registration { driver: self.clone(), key, readiness, write_interest };
        self.registry.register(source, Token(key.to_usize()), reported)?;
        Ok(registration)
    }
}

impl Registration {
    /// Says which number the source has in the process.
    pub(crate) fn note_descriptor(&self, descriptor: Option<i32>) {
        if let Some(descriptor) = descriptor {
            self.readiness.note_descriptor(descriptor);
        }
    }

    pub(crate) fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    /// The system said `WouldBlock` to a read or a write: marks the source as not ready in this direction,
    /// unless something was reported after `event`.
    ///
    /// # Errors
    ///
    /// The system refuses to report room. The source stays marked as ready then: the next write tries again.
    pub(crate) fn clear_would_block(
        &self,
        event: ReadyEvent,
        direction: Direction,
    ) -> io::Result<()> {
        self.clear_bits(event, direction.all())
    }

    /// An operation of the program, which waited for `wanted`, said that it would block: marks the source as
    /// not ready for that, unless something was reported after `event`.
    ///
    /// The caller borrows the source, so that the system can be asked about its descriptor.
    ///
    /// # Errors
    ///
    /// As [`clear_would_block`](Self::clear_would_block).
    pub(crate) fn clear_after_try_io(&self, event: ReadyEvent, wanted: Ready) -> io::Result<()> {
        let kept = self.asked(wanted).unwrap_or(Ready::EMPTY);
        self.clear_bits(
            event,
            bits_to_clear(wanted, kept) | wanted.intersection(Ready::PRIORITY_CLOSED),
        )
    }

    /// The program says that the source is not ready for `bits`: marks it so, unless something was reported
    /// after `event`. If the system refuses to report room, the source stays marked as ready.
    ///
    /// The caller borrows the source, so that the system can be asked about its descriptor.
    pub(crate) fn clear_by_program(&self, event: ReadyEvent, bits: Ready) {
        let kept = self.asked(bits).unwrap_or(CLOSED);
        let _ = self.clear_bits(event, bits_to_clear(bits, kept));
    }

    /// The ends that the system still reports, before `bits` are cleared. `None`: it cannot be asked.
    fn asked(&self, bits: Ready) -> Option<Ready> {
        // The state decides, and not what the program was shown of it. An end that comes after this look is a
        // later event, and then nothing is cleared.
        let endangered = bits_to_clear(bits, Ready::EMPTY).intersection(CLOSED);
        if self.readiness.current(endangered).ready.is_empty() {
            return Some(Ready::EMPTY);
        }
        self.readiness.descriptor().and_then(selector::still_closed)
    }

    fn clear_bits(&self, event: ReadyEvent, bits: Ready) -> io::Result<()> {
        self.write_interest.report_then_clear(
            &self.readiness,
            event,
            bits,
            |descriptor, interest| self.reregister(descriptor, interest),
        )
    }

    /// A transfer in this direction moved fewer bytes than it could have; see [`Readiness::clear_data`].
    pub(crate) fn clear_after_short_transfer(&self, event: ReadyEvent, direction: Direction) {
        let register = |descriptor, interest| self.reregister(descriptor, interest);
        // The bit stays if the system refuses to report room.
        if direction == Direction::Read || self.write_interest.report(register).is_ok() {
            self.readiness.clear_data(event, direction);
        }
    }

    fn reregister(&self, descriptor: i32, interest: mio::Interest) -> io::Result<()> {
        let token = Token(self.key.to_usize());
        selector::reregister(&self.driver.registry, descriptor, token, interest)
    }

    /// For sources that come out of this one, such as accepted connections.
    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Takes the source out of the system's selector and out of the table. Events already fetched
    /// find nothing.
    ///
    /// # Errors
    ///
    /// The system does not know the source (any more). The table entry is gone in any case.
    pub(crate) fn deregister(&self, source: &mut (impl Source + ?Sized)) -> io::Result<()> {
        let deregistered = self.driver.registry.deregister(source);
        self.leave_table();
        deregistered
    }

    fn leave_table(&self) {
        // The guard ends with the statement: dropping the entry may drop wakers, and they may run a
        // task's own code.
        let removed = self.driver.sources.lock().table.remove(self.key);
        drop(removed);
    }
}

impl Drop for Registration {
    /// Without effect after `deregister`: the key is stale then.
    fn drop(&mut self) {
        self.leave_table();
    }
}

/// The bits that go when a source is ready for none of `bits`, and has these ends for certain.
fn bits_to_clear(bits: Ready, kept: Ready) -> Ready {
    let of = |direction: Direction| {
        let mut goes = Ready::EMPTY;
        if bits.intersects(direction.data()) {
            goes |= direction.all().without(direction.closed());
        }
        if bits.intersects(direction.mask()) {
            goes |= direction.closed().without(kept);
        }
        goes
    };
    bits.intersection(Ready::PRIORITY | Ready::ERROR) | of(Direction::Read) | of(Direction::Write)
}

/// In the place of a descriptor, none of which is negative.
const REPORTED: i32 = -1;

/// Whether room for writing is reported for one source.
struct WriteInterest {
    /// The descriptor of a source whose room is not reported; otherwise `REPORTED`.
    unreported: AtomicI32,
    /// For what it is registered when room is reported.
    interest: mio::Interest,
}

impl WriteInterest {
    fn new(unreported: i32, interest: mio::Interest) -> Self {
        Self { unreported: AtomicI32::new(unreported), interest }
    }

    /// The source is not ready for any of `bits`: clears them, unless something was reported after `event`.
    /// `register` changes the registration of a descriptor.
    ///
    /// The caller borrows the source, so the descriptor is still the source's.
    ///
    /// # Errors
    ///
    /// The errors of `register`. The bits are kept then: the next write tries again.
    fn report_then_clear(
        &self,
        readiness: &Readiness,
        event: ReadyEvent,
        bits: Ready,
        register: impl FnOnce(i32, mio::Interest) -> io::Result<()>,
    ) -> io::Result<()> {
        if bits.intersects(Ready::WRITABLE) {
            self.report(register)?;
        }
        readiness.clear_bits(event, bits);
        Ok(())
    }

    /// Has room reported from now on.
    fn report(
        &self,
        register: impl FnOnce(i32, mio::Interest) -> io::Result<()>,
    ) -> io::Result<()> {
        // Ordering: Acquire pairs with the Release store of `REPORTED`: a writer that finds it waits for
        // events of the changed registration.
        let descriptor = self.unreported.load(Ordering::Acquire);
        if descriptor != REPORTED {
            // Two writers may do this at once. The second change is one system call too many, and is in
            // order: neither waits before the registration was changed.
            register(descriptor, self.interest)?;
            // Ordering: Release pairs with the Acquire load of the next writer: the registration was changed
            // before.
            self.unreported.store(REPORTED, Ordering::Release);
        }
        Ok(())
    }
}
