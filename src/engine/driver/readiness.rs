//! The readiness of one source, and the tasks that wait for it.
//!
//! # The state word
//!
//! Eight ready bits (`Ready`), one shutdown bit, and above them a tick that grows with each event. An
//! event that comes before a task waits stays in the word, and the next wait returns at once.
//!
//! | what happens | ready bits | tick | wakes |
//! |---|---|---|---|
//! | registration | assumed: readable and writable, as the interest asks for | 0 | none |
//! | event: `set` | the reported ones are added | +1 | all waiters of its directions |
//! | short count: `clear_data` | data of the direction goes, unless the mark (below) is set | same | none |
//! | `WouldBlock`: `clear_bits` | those that `registration.rs` names go | same | none |
//! | a clear of an older tick | unchanged | same | none |
//! | shutdown (a bit that never goes) | unchanged | same | all tasks, with an error |
//!
//! # Clearing
//!
//! The source is registered edge-triggered: an event lost is lost for good. So the caller that clears names
//! the event that it acted upon, and the bits go only if the tick is still the same, in one
//! compare-and-swap. Had a newer event been written between its system call and the clear, its bits
//! would otherwise vanish although no task has acted on them. An event that the system has raised
//! but the driver not yet written needs no care: `set` comes later and adds its bits again. The
//! tick counts the events of both directions. An event for the other side may thus keep the bits of
//! this one, and costs one more system call that ends in `WouldBlock`; a tick per direction would
//! save it and halve the room for each. Model `clear_never_removes_a_newer_event`.
//!
//! Urgent data and errors belong to no direction. A read that finds no data says nothing about either, and
//! a call that finds no urgent data (`MSG_OOB`) or an empty error queue (`MSG_ERRQUEUE`) says nothing about
//! data. So the interest in each alone is told of it and clears it. Readers have a bit of their own for the
//! place at which a read stops because urgent data lies there: the mark. Tasks that wait for urgent data have
//! one for the end of the stream, which readers must not lose when such a task finds nothing.
//!
//! # No wake is lost
//!
//! The holder of the seat writes the word first and takes the waiters afterwards, under the lock. A waiter
//! reads the word, takes the lock, reads the word *again*, and only then leaves its waker. Two
//! cases: the holder locks after the waiter unlocks, then it finds the waker; or it locks
//! before, then its write happens before the waiter's second read, which sees it. The lock alone
//! carries the argument, no fence is needed. The first read is a short cut. Models: `readiness/loom.rs`, of
//! both kinds of waiters (`event_against_a_new_poll_waiter`, `event_against_a_new_future`).
//!
//! Every event wakes all waiters of its direction. So a waiter that is dropped after it was woken takes
//! nothing from the others, and no wake has to be passed on.
//!
//! Wakers are cloned, called and dropped outside the lock: all three may run a task's own code, and that code
//! may wait for this very source, or drop it. To clone outside takes the lock once more for each waker that
//! is left. A panic of a call or a drop goes no further: it has nothing to do with the task that polls or
//! drops a waiter.

mod ready;

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;

use crate::engine::ended::ended;
use crate::engine::slab::{Key, Slab, TOKEN_CAPACITY};
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use crate::engine::tokio_note;
use crate::engine::wakers::{self, Line, Place, WaitList};
use mio::Token;
use pin_project_lite::pin_project;
use std::future::Future;
use std::io;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub use ready::{Direction, Ready};

/// The driver is gone; follows the eight ready bits.
const SHUTDOWN: u64 = 1 << 8;
/// The tick takes the rest of the word: 55 bits do not come round in the life of a machine.
const TICK_SHIFT: u32 = 9;
const TICK: u64 = 1 << TICK_SHIFT;
/// A tick that no event has: what `past` is where every event will do.
const NO_TICK: u64 = u64::MAX;

/// How many of those that wait for one source are looked at under its lock, which they may want.
const LISTED_WAITERS: usize = 64;

/// The readiness of one source.
pub(crate) struct Readiness {
    state: AtomicU64,
    /// The source's number in the process; negative if it is not known.
    descriptor: AtomicI32,
    /// A count of the writes in 16 bits, and above it 16 bits of the tick that the last one acted upon:
    /// whether the source has reported anything since. Zero: there was none.
    written: AtomicU32,
    waiters: Waiters,
}

/// The bits that were ready at one moment; a clear takes it back to tell that moment from a later one.
#[derive(Clone, Copy, Debug)]
pub struct ReadyEvent {
    tick: u64,
    /// The wanted bits that were ready.
    pub ready: Ready,
}

impl ReadyEvent {
    /// The event that a source which was just registered is assumed to have reported.
    pub(crate) fn before_the_first(ready: Ready) -> Self {
        Self { tick: 0, ready }
    }
}

impl Readiness {
    /// Nothing is known yet, so the first operation in each direction of the interest is assumed to
    /// be worth trying.
    pub(crate) fn new(interest: mio::Interest) -> Self {
        let unknown = Ready::from(interest).intersection(Ready::READABLE | Ready::WRITABLE);
        Self {
            state: AtomicU64::new(unknown.bits()),
            descriptor: AtomicI32::new(-1),
            written: AtomicU32::new(0),
            waiters: Waiters::new(Lines::new()),
        }
    }

    pub(crate) fn note_descriptor(&self, descriptor: i32) {
        // Ordering: Relaxed, it is a number that is only shown, and with which the system is asked.
        self.descriptor.store(descriptor, Ordering::Relaxed);
    }

    /// The source's number, if it is known.
    pub(crate) fn descriptor(&self) -> Option<i32> {
        // Ordering: Relaxed, as in `note_descriptor`.
        Some(self.descriptor.load(Ordering::Relaxed)).filter(|&descriptor| descriptor >= 0)
    }

    /// Calls `each` with the first wakers that wait, and for which bits, [`LISTED_WAITERS`] at most,
    /// under the lock: it calls, clones and drops no waker.
    pub(crate) fn each_waiter(&self, mut each: impl FnMut(&Waker, Ready)) {
        let (mut waiters, mut left) = (self.waiters.lock(), LISTED_WAITERS);
        for direction in [Direction::Read, Direction::Write] {
            for waker in waiters.of(direction).iter().take(left) {
                left -= 1;
                each(waker, direction.mask());
            }
        }
        waiters.each(|word, waker| {
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            each(waker, Ready::from_state(word as u64));
            ControlFlow::Continue(())
        });
    }

    /// How many events there have been.
    pub(crate) fn events(&self) -> u64 {
        // Ordering: Relaxed, a number that is only compared with later ones.
        self.state.load(Ordering::Relaxed) >> TICK_SHIFT
    }

    /// A write has moved something. `event` is what it acted upon, from before it began: so an answer that
    /// comes during the write is a later event.
    pub(crate) fn note_write(&self, event: ReadyEvent) {
        // Ordering: Relaxed, numbers that are only compared with others, and shown. A write of another thread
        // may get lost in between. The count is odd, so that it is never zero.
        let count = (self.written.load(Ordering::Relaxed) | 1).wrapping_add(2) & 0xFFFF;
        self.written.store((event.tick as u32) << 16 | count, Ordering::Relaxed);
    }

    /// A number that changes with each write, if there has been no event since the last one began.
    pub(crate) fn unanswered_writes(&self) -> Option<u32> {
        // Ordering: Relaxed, as in `note_write`.
        let written = self.written.load(Ordering::Relaxed);
        let is_unanswered = written != 0 && (written >> 16) as u16 == self.events() as u16;
        is_unanswered.then_some(written)
    }

    /// Records an event, and moves the wakers of all waiters that it concerns into `wakes`; calls none of
    /// them.
    pub(crate) fn set(&self, ready: Ready, wakes: &mut Vec<Waker>) {
        let ready = ready.with_what_follows();
        // Ordering: read under the lock by the second look of `poll_ready` and `ReadyFuture::poll`,
        // which is the pair that matters; Release is for the first look, which takes no lock, so
        // that it also sees what went before the event.
        let next = |state: u64| Some((state | ready.bits()).wrapping_add(TICK));
        let _ = self.state.fetch_update(Ordering::Release, Ordering::Relaxed, next);
        take(&self.waiters, ready, wakes);
    }

    /// Waits, for futures that are plain `poll_` functions. Any number of tasks may wait in one
    /// direction; if there are many, all are woken now and then, to find out which of them still wait.
    ///
    /// # Errors
    ///
    /// The driver has been shut down.
    pub(crate) fn poll_ready(
        &self,
        cx: &mut Context<'_>,
        direction: Direction,
    ) -> Poll<io::Result<ReadyEvent>> {
        if let Some(answer) = self.answer(direction.mask(), NO_TICK) {
            return Poll::Ready(answer);
        }
        let mut clone = None;
        let swept = loop {
            let mut waiters = self.waiters.lock();
            if let Some(answer) = self.answer(direction.mask(), NO_TICK) {
                return Poll::Ready(answer);
            }
            let line = waiters.of(direction);
            // The clone, because that of a traced poll's waker is another one, which the line may hold.
            if line.holds(clone.as_ref().unwrap_or(cx.waker())) {
                return Poll::Pending;
            }
            if let Some(clone) = clone.take() {
                break line.join(clone);
            }
            drop(waiters);
            // Outside the lock: it may come back here.
            clone = Some(cx.waker().clone());
        };
        if let Some(line) = swept {
            line.wake();
        }
        Poll::Pending
    }

    /// Waits until one of these bits is set. The future's waiter leaves when the future is dropped.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing: readiness stays until it is cleared.
    ///
    /// # Errors
    ///
    /// The driver has been shut down.
    pub(crate) fn ready(&self, wanted: impl Into<Ready>) -> ReadyFuture<'_> {
        self.ready_past(None, wanted)
    }

    /// As [`ready`](Self::ready), and if `past` is given, not before an event has come after that one. For an
    /// operation that was told of bits which did not help it, and which stay.
    pub(crate) fn ready_past(
        &self,
        past: Option<ReadyEvent>,
        wanted: impl Into<Ready>,
    ) -> ReadyFuture<'_> {
        let (mask, past) = (wanted.into(), past.map_or(NO_TICK, |event| event.tick));
        ReadyFuture { readiness: self, mask, past, place: Place::new(mask.bits() as usize) }
    }

    /// Returns what is known of these bits now, without waiting.
    pub(crate) fn current(&self, wanted: impl Into<Ready>) -> ReadyEvent {
        // Ordering: Acquire pairs with the Release in `set`.
        event(self.state.load(Ordering::Acquire), wanted.into())
    }

    /// A read or write moved fewer bytes than it could have: the data, or the room, is used up.
    /// Does nothing if an event came after the given one, or if urgent data may have stopped a read.
    ///
    /// It must not be called for a source on which a short count means nothing, such as a datagram socket,
    /// nor on a system whose selector wants to see `WouldBlock` before it reports again (Windows).
    pub(crate) fn clear_data(&self, event: ReadyEvent, direction: Direction) {
        self.forget(event, direction.data(), direction.mark());
    }

    /// The system said `WouldBlock` to a read or a write. Without effect if an event came after the given
    /// one.
    pub(crate) fn clear_would_block(&self, event: ReadyEvent, direction: Direction) {
        self.clear_bits(event, direction.all());
    }

    /// The source is not ready for any of `bits`. Without effect if an event came after the given one.
    pub(crate) fn clear_bits(&self, event: ReadyEvent, bits: Ready) {
        self.forget(event, bits, Ready::EMPTY);
    }

    fn forget(&self, event: ReadyEvent, bits: Ready, unless: Ready) {
        let is_held = |ready: Ready| ready.intersects(bits) && !ready.intersects(unless);
        let is_due = |state| state >> TICK_SHIFT == event.tick && is_held(Ready::from_state(state));
        // Ordering: Relaxed suffices. Nothing is published; that the tick is still the event's is a
        // matter of this one word, and its modification order decides which came first, `set` or this
        // exchange.
        let _ = self.state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| {
            is_due(state).then_some(state & !bits.bits())
        });
    }

    /// The driver is closed: every waiter, present and future, gets an error. Calls no waker.
    pub(crate) fn shutdown(&self, wakes: &mut Vec<Waker>) {
        // Ordering: Release pairs with the Acquire in `answer`, for a first look without the lock; the second
        // look is ordered by the lock, as for `set`.
        self.state.fetch_or(SHUTDOWN, Ordering::Release);
        take(&self.waiters, Ready::ALL_BITS, wakes);
    }

    /// The answer to a waiter; `None` if it has to wait, for any event of `mask` that is not the one with the
    /// tick `past`.
    fn answer(&self, mask: Ready, past: u64) -> Option<io::Result<ReadyEvent>> {
        // Ordering: Acquire pairs with the Release in `set` and `shutdown`. Under the lock, the
        // lock does it already.
        let state = self.state.load(Ordering::Acquire);
        if state & SHUTDOWN != 0 {
            return Some(Err(shutdown_error()));
        }
        let is_past = past != state >> TICK_SHIFT;
        let is_ready = is_past && Ready::from_state(state).intersects(mask);
        is_ready.then(|| Ok(event(state, mask)))
    }
}

impl Drop for Readiness {
    /// The wakers that are left go one by one: two destructors that panic while a list is dropped would end
    /// the process.
    fn drop(&mut self) {
        let mut left = Vec::new();
        take(&self.waiters, Ready::ALL_BITS, &mut left);
        wakers::drop_all(left);
    }
}

fn event(state: u64, mask: Ready) -> ReadyEvent {
    let ready = Ready::from_state(state).intersection(mask).shown();
    ReadyEvent { tick: state >> TICK_SHIFT, ready }
}

/// Returns the error of every wait and registration once the driver is closed.
#[cold]
pub(crate) fn shutdown_error() -> io::Error {
    ended(tokio_note::SOURCE_ENDED)
}

pin_project! {
    /// Waits for a source with a place of its own; see `Readiness::ready`.
    #[must_use = "futures do nothing unless awaited"]
    pub(crate) struct ReadyFuture<'a> {
        readiness: &'a Readiness,
        mask: Ready,
        past: u64,
        #[pin]
        place: Place,
    }

    impl PinnedDrop for ReadyFuture<'_> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.readiness.waiters.leave(this.place.as_ref());
        }
    }
}

impl Future for ReadyFuture<'_> {
    type Output = io::Result<ReadyEvent>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let look =
            || this.readiness.answer(*this.mask, *this.past).map_or(Poll::Pending, Poll::Ready);
        match look() {
            Poll::Pending => this.readiness.waiters.poll(this.place.as_ref(), cx, |_| look()),
            answer => answer,
        }
    }
}

/// The table from tokens to what is known about their sources.
pub(super) struct Sources {
    pub(super) table: Slab<Arc<Readiness>>,
    closed: bool,
}

impl Sources {
    pub(super) fn new() -> Self {
        Self { table: Slab::for_tokens(), closed: false }
    }

    pub(super) fn insert(&mut self, readiness: Arc<Readiness>) -> io::Result<Key> {
        if self.closed {
            return Err(shutdown_error());
        }
        if self.table.len() >= TOKEN_CAPACITY {
            return Err(io::Error::other("the driver's table of sources is full"));
        }
        Ok(self.table.insert(readiness))
    }

    pub(super) fn find(&self, token: Token) -> Option<&Readiness> {
        self.table.get(Key::from_usize(token.0)).map(|readiness| &**readiness)
    }

    /// From now on nothing can be added. Returns what there was, to be shut down without the lock.
    pub(super) fn close(&mut self) -> Slab<Arc<Readiness>> {
        self.closed = true;
        std::mem::replace(&mut self.table, Slab::for_tokens())
    }
}

/// The waiters of a source: futures, whose words are the bits that they wait for, and beside them two lines
/// of wakers. Their code clones, calls and drops no waker under the lock. The vectors keep their capacity, so
/// that a source in use allocates nothing.
type Waiters = WaitList<Lines>;

/// The tasks that wait by a function that polls.
struct Lines {
    readers: Line,
    writers: Line,
}

impl Lines {
    fn new() -> Self {
        Self { readers: Line::new(), writers: Line::new() }
    }

    fn of(&mut self, direction: Direction) -> &mut Line {
        match direction {
            Direction::Read => &mut self.readers,
            Direction::Write => &mut self.writers,
        }
    }

    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    fn len(&self) -> usize {
        self.readers.len() + self.writers.len()
    }

    /// Entries of both vectors, used or not.
    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    fn capacity(&self) -> usize {
        self.readers.capacity() + self.writers.capacity()
    }
}

/// Moves out all wakers that these bits concern.
fn take(waiters: &Waiters, ready: Ready, wakes: &mut Vec<Waker>) {
    let (mut readers, mut writers) = (None, None);
    let take_lines = |lines: &mut Lines, wakes: &mut Vec<Waker>| {
        if ready.intersects(Direction::Read.mask()) {
            readers = lines.readers.take(wakes);
        }
        if ready.intersects(Direction::Write.mask()) {
            writers = lines.writers.take(wakes);
        }
    };
    let matches = |word| ready.intersects(Ready::from_state(word as u64));
    waiters.take_matching(wakes, take_lines, matches);
    if let Some(mut readers) = readers {
        readers.move_into(wakes);
    }
    if let Some(mut writers) = writers {
        writers.move_into(wakes);
    }
}
