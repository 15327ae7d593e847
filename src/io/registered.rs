//! `Registered`: a source's entry with the driver, and the rules by which it is used.
//!
//! The driver remembers per source what it has reported (a word of bits with a tick); this file decides
//! when to try an operation and when to forget a bit. The source is registered once, edge-triggered, so a
//! bit that is forgotten wrongly is an event lost for ever. The rules:
//!
//! | what happened | bit | why |
//! |---|---|---|
//! | just registered | set | nothing is known, and one try is cheaper than a round through the poller |
//! | event from the driver | set, tick + 1 | |
//! | `WouldBlock` | cleared if the tick is unchanged | the only proof that holds for every source |
//! | `WouldBlock` with another interest | kept | an empty error queue says nothing about data |
//! | short transfer on a stream | cleared likewise; a reported end stays | as good as `WouldBlock` there |
//! | any other error | kept | it says nothing about the next try |
//!
//! What becomes of a reported end in each row stands in `driver/registration.rs`. Where one stays although an
//! operation would block, [`async_io`](Registered::async_io) waits for the next event and not for a bit, so
//! that it does not turn for ever.
//!
//! The last row matters for `accept`: when it fails for want of descriptors, the connection stays in the
//! queue, and no new event would announce it.
//!
//! A connection or a socket for datagrams is registered for writing when a write first says `WouldBlock` or
//! is short, before the bit is cleared (`driver/registration.rs`).
//!
//! An operation runs only while its bit is set: a source known to be empty costs no system call. Flushing is
//! the exception (`poll_first`): what has nothing to flush needs no room. The tick
//! is read before the operation, so an event that comes during it keeps its bit, and the operation runs
//! again.
//!
//! The budget of the task is charged after the readiness check and before the system call. Charging earlier
//! would let 128 waiting sources in one task use up every turn, and the 129th would never be looked at.
//!
//! It knows the source only by the closures that use it. So the types of the package named `tokio`, each of
//! which owns a source of its own, stand on it as [`Async`](super::Async) does. They ask for what tokio
//! promises instead of the first row: a source of theirs counts as ready only when something has said so
//! ([`Registered::unassumed`]).

use super::{Interest, MOST_BYTES, SHORT_TRANSFER_DRAINS};
use crate::engine::driver::Driver;
use crate::engine::driver::readiness::{Direction, Readiness, Ready, ReadyEvent};
use crate::engine::driver::registration::Registration;
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::{AtomicBool, Ordering};
use crate::engine::task::budget;
use crate::impls::impl_debug;
use crate::runtime::Handle;
use crate::runtime::incidents::read_end;
use mio::event::Source;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::task::{Context, Poll, ready};

/// A transfer takes one more unit of the task's budget for each so many bytes: to copy them through a socket
/// takes the system about as long as a small operation, 0.6 µs, so a full budget is 256 KiB and some 80 µs.
///
/// Otherwise a poll that reads or writes blocks of 64 KiB takes milliseconds, and the runtime starts spares,
/// because ready tasks wait. liten's time and processor per KiB / tokio's, with two workers on two cores
/// (medians of three; the differences between the last three rows are noise). 2 KiB is the largest with which
/// such a poll stays below the length at which polls count as long.
///
/// | bytes of a unit | blocks of 1 MiB | both ways | 16 streams |
/// |---|---|---|---|
/// | none | 1.09, 1.07 | 1.11, 1.18 | 1.12, 1.11 |
/// | 4 KiB | 0.91, 0.96 | 1.05, 1.05 | 0.92, 0.95 |
/// | 2 KiB | 0.97, 1.02 | 1.11, 1.05 | 0.90, 0.93 |
/// | 1 KiB | 0.92, 0.96 | 1.17, 1.10 | 0.83, 0.85 |
const BYTES_PER_UNIT: usize = 2 << 10;

/// A source's entry with the driver.
pub struct Registered {
    registration: Registration,
    /// A read has brought nothing.
    has_ended: AtomicBool,
}

impl Registered {
    /// Registers a source that is assumed to be ready for all that it is registered for. `descriptor`: the
    /// number that it has in the process, if that is known.
    pub(super) fn register(
        driver: &Arc<Driver>,
        source: &mut (impl Source + ?Sized),
        interest: mio::Interest,
        descriptor: Option<i32>,
    ) -> io::Result<Self> {
        let registration = driver.register(source, interest)?;
        registration.note_descriptor(descriptor);
        Ok(Self { registration, has_ended: AtomicBool::new(false) })
    }

    /// Registers a source that has room for writing; see [`Driver::register_with_room`].
    pub(super) fn register_with_room(
        driver: &Arc<Driver>,
        source: &mut (impl Source + ?Sized),
        interest: mio::Interest,
        descriptor: Option<i32>,
    ) -> io::Result<Self> {
        let registration = driver.register_with_room(source, interest, descriptor)?;
        Ok(Self { registration, has_ended: AtomicBool::new(false) })
    }

    /// Registers a source with the runtime of `handle`. It is not ready until the system reports readiness.
    /// `descriptor`: the number that it has in the process, if it has one.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if it cannot poll this source, and an error if the runtime
    /// is shutting down.
    pub fn unassumed(
        handle: &Handle,
        source: &mut impl Source,
        interest: mio::Interest,
        descriptor: Option<i32>,
    ) -> io::Result<Self> {
        let registered = Self::register(handle.driver(), source, interest, descriptor)?;
        registered.take_back(interest.into());
        Ok(registered)
    }

    /// Registers a source that has room for writing with the runtime of `handle`, for both directions: a
    /// connection that has been made, or a socket for datagrams. It counts as ready for writing, and for
    /// reading if `is_readable`; otherwise the system has to say so. With its descriptor, where it has one,
    /// writing to it costs no event as long as each write finds room.
    ///
    /// # Errors
    ///
    /// As [`unassumed`](Self::unassumed).
    pub fn with_room(
        handle: &Handle,
        source: &mut impl Source,
        descriptor: Option<i32>,
        is_readable: bool,
    ) -> io::Result<Self> {
        let both = mio::Interest::READABLE | mio::Interest::WRITABLE;
        let registered = Self::register_with_room(handle.driver(), source, both, descriptor)?;
        if !is_readable {
            registered.take_back(Ready::READABLE);
        }
        Ok(registered)
    }

    /// Takes back what a new source is assumed to be ready for.
    fn take_back(&self, assumed: Ready) {
        for direction in [Direction::Read, Direction::Write] {
            if assumed.intersects(direction.data()) {
                self.expect_report(direction);
            }
        }
    }

    /// Takes back what was assumed of a source that has just been registered. What the system has reported
    /// meanwhile stays.
    pub(super) fn expect_report(&self, direction: Direction) {
        let assumed = ReadyEvent::before_the_first(direction.mask());
        self.readiness().clear_would_block(assumed, direction);
    }

    /// Marks the source as ready for what the caller knows it to be ready for.
    pub fn assume(&self, ready: Ready) {
        let mut wakes = Vec::new();
        self.readiness().set(ready, &mut wakes);
        crate::engine::wakers::wake_all(&mut wakes);
    }

    /// Takes the source out of the driver.
    ///
    /// # Errors
    ///
    /// Returns the error of the operating system if it refuses to forget the source.
    pub fn deregister(&self, source: &mut (impl Source + ?Sized)) -> io::Result<()> {
        self.registration.deregister(source)
    }

    /// Returns the driver that reports this source's events.
    pub(super) fn driver(&self) -> &Arc<Driver> {
        self.registration.driver()
    }

    fn readiness(&self) -> &Readiness {
        self.registration.readiness()
    }

    /// Runs `operation` now if the source may be ready for `interest`, without waiting.
    ///
    /// # Errors
    ///
    /// Returns `WouldBlock`, without running `operation`, if the source is known not to be ready; otherwise
    /// what `operation` returns.
    pub fn try_io<R>(
        &self,
        interest: Interest,
        operation: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let event = self.readiness().current(interest);
        if event.ready.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        let result = operation();
        if would_block(&result) {
            self.registration.clear_after_try_io(event, interest.into())?;
        } else if interest.is_writable() && result.is_ok() {
            self.readiness().note_write(event);
        }
        result
    }

    /// Runs `operation` when the source is ready for `interest`, again and again until it does not block.
    ///
    /// # Errors
    ///
    /// Returns what `operation` returns other than `WouldBlock` and `Interrupted`, and an error if the
    /// runtime that drives this source has been shut down.
    pub async fn async_io<R>(
        &self,
        interest: Interest,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        let mut past = None;
        loop {
            let event = self.wait_past(past, interest).await?;
            let result = operation();
            if would_block(&result) {
                self.registration.clear_after_try_io(event, interest.into())?;
                past = Some(event);
            } else if interrupted(&result) {
                past = None;
            } else {
                return result;
            }
        }
    }

    /// Repeats `operation` until it does not block, and registers the task of `cx` where it does.
    ///
    /// # Errors
    ///
    /// As [`async_io`](Self::async_io).
    pub fn poll_io<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        self.poll_io_event(cx, direction, operation).map_ok(|(value, _event)| value)
    }

    /// [`poll_io`](Self::poll_io) for an operation that may have nothing to do: it runs once before anything
    /// is waited for, also in a direction that was not registered.
    pub(super) fn poll_first<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<R>> {
        ready!(budget::poll_proceed(cx));
        let event = self.readiness().current(direction.mask());
        let result = operation();
        if !would_block(&result) && !interrupted(&result) {
            return Poll::Ready(result);
        }
        budget::refund();
        if would_block(&result) {
            self.registration.clear_would_block(event, direction)?;
        }
        self.poll_io(cx, direction, operation)
    }

    /// [`poll_io`](Self::poll_io) for a stream whose buffer is known to be drained (filled) by a transfer
    /// of fewer than `full` bytes: it saves the call that would only say `WouldBlock`. `full` is what the
    /// system was asked to move: of several buffers, only those that one call uses (`MOST_BUFFERS`).
    ///
    /// # Errors
    ///
    /// As [`async_io`](Self::async_io).
    pub fn poll_transfer(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        full: usize,
        operation: impl FnMut() -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        let (moved, event) = ready!(self.poll_io_event(cx, direction, operation))?;
        if SHORT_TRANSFER_DRAINS && 0 < moved && moved < full.min(MOST_BYTES) {
            self.registration.clear_after_short_transfer(event, direction);
        }
        // Ordering: Relaxed, it is only counted.
        let is_end = moved == 0 && direction == Direction::Read;
        if is_end && self.has_ended.swap(true, Ordering::Relaxed) {
            read_end();
        }
        Poll::Ready(Ok(charged(moved)))
    }

    fn poll_io_event<R>(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
        mut operation: impl FnMut() -> io::Result<R>,
    ) -> Poll<io::Result<(R, ReadyEvent)>> {
        loop {
            let event = ready!(self.poll_event(cx, direction))?;
            let result = operation();
            if would_block(&result) {
                self.registration.clear_would_block(event, direction)?;
            } else if !interrupted(&result) {
                if direction == Direction::Write && result.is_ok() {
                    self.readiness().note_write(event);
                }
                return Poll::Ready(result.map(|value| (value, event)));
            }
        }
    }

    /// Polls for readiness in one direction, and returns what has made it ready.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime that drives this source has been shut down.
    pub fn poll_event(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<ReadyEvent>> {
        let event = ready!(self.readiness().poll_ready(cx, direction))?;
        ready!(budget::poll_proceed(cx));
        Poll::Ready(Ok(event))
    }

    /// As [`wait`](Self::wait), and charges the budget of the task nothing, as tokio's `readable` does.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime that drives this source has been shut down.
    pub async fn wait_uncharged(&self, interest: Interest) -> io::Result<ReadyEvent> {
        self.readiness().ready(interest).await
    }

    /// Waits until the source is probably ready for anything in `interest`, and returns
    /// the part of `interest` that is ready.
    ///
    /// # Errors
    ///
    /// Returns an error if the runtime that drives this source has been shut down.
    pub async fn wait(&self, interest: Interest) -> io::Result<ReadyEvent> {
        self.wait_past(None, interest).await
    }

    /// As [`wait`](Self::wait), for an event that comes after `past`, if that is given.
    async fn wait_past(
        &self,
        past: Option<ReadyEvent>,
        interest: Interest,
    ) -> io::Result<ReadyEvent> {
        let event = self.readiness().ready_past(past, interest).await?;
        poll_fn(budget::poll_proceed).await;
        Ok(event)
    }

    /// Marks the source as not ready for `bits`, unless something was reported after `event`. The end of a
    /// direction stays if the system still reports it, or cannot be asked.
    pub fn clear(&self, event: ReadyEvent, bits: Ready) {
        self.registration.clear_by_program(event, bits);
    }
}

impl_debug!([] Registered, "Registered");

/// Takes more of the task's budget for a transfer of so many bytes.
pub(crate) fn charged(moved: usize) -> usize {
    if moved >= BYTES_PER_UNIT {
        budget::charge(moved / BYTES_PER_UNIT);
    }
    moved
}

fn would_block<R>(result: &io::Result<R>) -> bool {
    result.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn interrupted<R>(result: &io::Result<R>) -> bool {
    result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted)
}
