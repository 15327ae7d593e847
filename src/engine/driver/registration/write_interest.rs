//! Whether the system reports that a connection, or a socket for datagrams, has room for writing.
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
//! # No room is overlooked
//!
//! The bit is cleared only while room is reported, so a task waits only then. Room that comes after the
//! change of the registration is an event. Room that came before it, but after the write, is an event too:
//! the system looks when the registration changes. That event has a later tick than the one that the writer
//! names when it clears the bit, or it comes after the clearing and wakes the writer (model
//! `room_that_comes_beside_the_first_full_write_is_reported`).
//!
//! Where the selector is neither epoll nor kqueue, room is always reported: mio changes a registration there
//! through the socket itself, which others may be using.

use crate::engine::driver::readiness::{Direction, Readiness, Ready, ReadyEvent};
use crate::engine::sync_shim::atomic::{AtomicI32, Ordering};
use mio::Interest;
use std::io;

/// In the place of a descriptor, none of which is negative.
const REPORTED: i32 = -1;

/// Whether room for writing is reported for one source.
pub(super) struct WriteInterest {
    /// The descriptor of a source whose room is not reported; otherwise `REPORTED`.
    unreported: AtomicI32,
    /// For what it is registered when room is reported.
    interest: Interest,
}

impl WriteInterest {
    pub(super) fn reported(interest: Interest) -> Self {
        Self { unreported: AtomicI32::new(REPORTED), interest }
    }

    /// For a source with room, which will be registered for `interest` when a write finds no room.
    pub(super) fn unreported(descriptor: i32, interest: Interest) -> Self {
        Self { unreported: AtomicI32::new(descriptor), interest }
    }

    /// The source is not ready for any of `bits`: clears them, unless something was reported after `event`.
    /// `register` changes the registration of a descriptor.
    ///
    /// The caller borrows the source, so the descriptor is still the source's.
    ///
    /// # Errors
    ///
    /// The errors of `register`. The bits are kept then: the next write tries again.
    pub(super) fn clear_bits(
        &self,
        readiness: &Readiness,
        event: ReadyEvent,
        bits: Ready,
        register: impl FnOnce(i32, Interest) -> io::Result<()>,
    ) -> io::Result<()> {
        if bits.intersects(Ready::WRITABLE) {
            self.report(register)?;
        }
        readiness.clear_bits(event, bits);
        Ok(())
    }

    /// A transfer moved fewer bytes than it could have: clears the bit of its data, or keeps it if `register`
    /// fails.
    pub(super) fn clear_after_short_transfer(
        &self,
        readiness: &Readiness,
        event: ReadyEvent,
        direction: Direction,
        register: impl FnOnce(i32, Interest) -> io::Result<()>,
    ) {
        if direction == Direction::Read || self.report(register).is_ok() {
            readiness.clear(event, direction);
        }
    }

    /// Has room reported from now on.
    fn report(&self, register: impl FnOnce(i32, Interest) -> io::Result<()>) -> io::Result<()> {
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

#[cfg(all(test, liten_loom))]
mod loom;
