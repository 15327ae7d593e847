//! What a worker does while events are recorded, or some are measured: the same steps, with a record of each.
//!
//! A worker that is not recorded pays as little as can be: its loop asks at each step whether it stays
//! (`PoolSize::is_plain`), and the same word says that a recording is under way. A poll, a wake and a spawn
//! look at one byte of the worker's own ([`Records::are_on`]), which also says that one of them is measured
//! (samples.rs). Rejected: a second loop, whose polls are recorded, so that a poll need not look. The
//! compiler then puts fewer of the worker's functions in line, and a yield takes 252 instructions instead
//! of 207.

use super::Worker;
use super::samples::Samples;
use crate::engine::recorder::{Event, Ring};
use crate::engine::scheduler::recorder::Recording;
use crate::engine::scheduler::slots::Slot;
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::header::Polled;
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// Where a worker's records go.
pub(super) struct Records {
    /// Whether there is a ring, or something is measured. On its own, so that a wake looks at one byte.
    are_on: Cell<bool>,
    ring: RefCell<Option<(Arc<Recording>, Arc<Ring>)>>,
    /// The poll began then.
    polled_at: Cell<Instant>,
    pub(super) samples: Samples,
}

impl Records {
    pub(super) fn new(worker: usize) -> Self {
        let polled_at = Cell::new(clock::now());
        let samples = Samples::new(worker);
        Self { are_on: Cell::new(false), ring: RefCell::new(None), polled_at, samples }
    }

    /// After a change of what `are_on` stands for.
    pub(super) fn look_again(&self) {
        self.are_on.set(self.samples.is_on() || self.ring.borrow().is_some());
    }

    #[inline]
    pub(super) fn are_on(&self) -> bool {
        self.are_on.get()
    }

    fn begin(&self, recording: Arc<Recording>, worker: usize) {
        let ring = recording.ring(worker);
        *self.ring.borrow_mut() = Some((recording, ring));
        self.look_again();
    }

    fn end(&self) {
        *self.ring.borrow_mut() = None;
        self.look_again();
    }

    /// Notes what lasted from `since` to `now`; `event` is given the time in nanoseconds.
    #[inline]
    pub(super) fn note(&self, since: Instant, now: Instant, event: impl FnOnce(u64) -> Event) {
        if self.are_on.get() {
            self.push(since, now, event);
        }
    }

    /// The worker has slept.
    #[inline]
    pub(super) fn note_sleep(&self, since: Instant, now: Instant, slot: &Slot) {
        if self.are_on.get() {
            self.samples.slept(slot.running.polls());
            self.push(since, now, |duration| Event::Sleep { duration });
            self.look_again();
        }
    }

    /// Notes what has just happened.
    #[inline]
    pub(super) fn note_now(&self, event: impl FnOnce() -> Event) {
        if self.are_on.get() {
            self.push_now(event);
        }
    }

    #[cold]
    fn push_now(&self, event: impl FnOnce() -> Event) {
        let (now, event) = (clock::now(), event());
        if let Event::Wake(task) | Event::Spawn(task) = event {
            self.samples.ready(task.id(), now);
        }
        self.push(now, now, |_| event);
    }

    /// Calls `wake`, which calls so many wakers, and notes that.
    pub(super) fn note_turn(&self, wakers: usize, fired: usize, wake: impl FnOnce()) {
        let since = (wakers != 0 && self.are_on.get()).then(clock::now);
        wake();
        let Some(since) = since else { return };
        let [wakers, fired] = [wakers, fired].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        self.note(since, clock::now(), |duration| Event::Turn { duration, wakers, fired });
    }

    #[cold]
    fn push(&self, since: Instant, now: Instant, event: impl FnOnce(u64) -> Event) {
        if let Some((recording, ring)) = &*self.ring.borrow() {
            ring.push(recording.record(since, now, event));
        }
    }
}

impl Worker {
    /// Asked at each step while a recording may be under way: takes part in it. Returns whether the worker
    /// stays.
    #[cold]
    #[inline(never)]
    pub(super) fn stays_recorded(&self) -> bool {
        let stays = !self.is_surplus();
        if stays && !self.records_current() {
            // The recording may be over before the word that says so.
            match self.shared.recorder.current() {
                Some(recording) => self.records.begin(recording, self.own.index),
                None => self.records.end(),
            }
        }
        stays
    }

    fn records_current(&self) -> bool {
        let ring = self.records.ring.borrow();
        ring.as_ref().is_some_and(|(recording, _)| self.shared.recorder.is_current(recording))
    }

    /// A poll begins. The clock is not read where the last poll ended: a wake may have come since, and the
    /// poll that it leads to is found by the times of both.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_poll(&self) {
        let (now, slot) = (clock::now(), &self.own.slot);
        self.records.polled_at.set(now);
        self.records.samples.poll_begins(slot.running.read().map(|task| task.id()), now, slot);
    }

    /// Notes the poll that has just ended, before it leaves the note of what runs.
    #[cold]
    #[inline(never)]
    pub(super) fn note_poll(&self, outcome: Polled) {
        let (since, now) = (self.records.polled_at.get(), clock::now());
        if self.records_current() {
            if let Some(task) = self.own.slot.running.read() {
                self.records.note(since, now, |duration| Event::Poll { task, duration, outcome });
            }
        } else {
            self.records.end();
        }
        let queued = self.own.ready.len();
        let time = now.saturating_duration_since(since);
        self.records.samples.poll_ends(time, &self.own.slot, queued);
        self.records.look_again();
    }
}
