//! What a worker does while events are recorded, or some are measured: the same steps, with a record of each.
//!
//! A worker that is not recorded pays as little as can be: its loop asks at each step whether it stays and is
//! not recorded, which is one comparison (`PoolSize::stays_unrecorded`). A poll, a wake and a spawn look at
//! one byte of the worker's own ([`WorkerFlags`]), which also says that one of them is measured (samples.rs).
//! Before a poll the worker looks at that byte in any case. Rejected: a second loop, whose polls are
//! recorded, so that a poll need not look. The compiler then puts fewer of the worker's functions in line,
//! and a yield takes 252 instructions instead of 207.
//!
//! [`WorkerFlags`]: super::super::enqueue::WorkerFlags

use super::Worker;
use super::samples::Samples;
use crate::engine::recorder::{Event, Ring};
use crate::engine::scheduler::recorder::Recording;
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::{Polled, RunningTask};
use std::cell::{Cell, RefCell};
use std::time::Instant;

#[cfg(all(test, liten_loom))]
mod loom;

/// Where a worker's records go.
pub(super) struct Records {
    ring: RefCell<Option<(Arc<Recording>, Arc<Ring>)>>,
    /// The poll began then.
    polled_at: Cell<Instant>,
    pub(super) samples: Samples,
}

impl Records {
    /// For a worker in whose slot `polls` polls have been made before.
    pub(super) fn new(worker: usize, polls: u64) -> Self {
        let polled_at = Cell::new(clock::now());
        Self { ring: RefCell::new(None), polled_at, samples: Samples::new(worker, polls) }
    }

    fn begin(&self, recording: Arc<Recording>, worker: usize) {
        let ring = recording.ring(worker);
        *self.ring.borrow_mut() = Some((recording, ring));
    }

    fn end(&self) {
        *self.ring.borrow_mut() = None;
    }

    #[cold]
    fn push(&self, since: Instant, now: Instant, event: impl FnOnce(u64) -> Event) {
        if let Some((recording, ring)) = &*self.ring.borrow() {
            ring.push(recording.record(since, now, event));
        }
    }
}

impl Worker {
    /// After a change of what is recorded or measured.
    pub(super) fn update_recorded(&self) {
        let records = &self.records;
        self.own.flags.set_recorded(records.samples.is_on() || records.ring.borrow().is_some());
    }

    /// Notes that the worker has slept.
    #[inline]
    pub(super) fn note_sleep(&self, since: Instant, now: Instant) {
        if self.own.flags.is_recorded() {
            self.records.samples.slept(self.own.slot.running.polls());
            self.records.push(since, now, |duration| Event::Sleep { duration });
            self.update_recorded();
        }
    }

    /// Notes what has just happened.
    #[inline]
    pub(super) fn note_now(&self, event: impl FnOnce() -> Event) {
        if self.own.flags.is_recorded() {
            self.push_now(event);
        }
    }

    #[cold]
    fn push_now(&self, event: impl FnOnce() -> Event) {
        let (now, event) = (clock::now(), event());
        if let Event::Wake(task) | Event::Spawn(task) = event {
            self.records.samples.ready(task.id(), now);
        }
        self.records.push(now, now, |_| event);
    }

    /// Notes the panic of a task that is polled on this thread. `false`: this worker does not record yet.
    pub(in crate::engine::scheduler) fn note_panic(&self, event: impl FnOnce() -> Event) -> bool {
        let is_recorded = self.records_current();
        if is_recorded {
            let now = clock::now();
            self.records.push(now, now, |_| event());
        }
        is_recorded
    }

    /// Calls `wake`, which calls `wakers` wakers, and notes that.
    pub(super) fn note_turn(&self, wakers: usize, fired: usize, wake: impl FnOnce()) {
        let since = (wakers != 0 && self.own.flags.is_recorded()).then(clock::now);
        wake();
        let Some(since) = since else { return };
        let [wakers, fired] = [wakers, fired].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        self.records.push(since, clock::now(), |duration| Event::Turn { duration, wakers, fired });
    }

    /// Asked at each step while a recording may be under way: takes part in it. Returns whether the worker
    /// stays.
    #[cold]
    #[inline(never)]
    pub(super) fn stays_recorded(&self) -> bool {
        let stays = !self.is_surplus();
        if stays && !self.records_current() {
            // The recording may be over before the number that says so.
            match self.shared.recorder.current() {
                Some(recording) => self.records.begin(recording, self.own.index),
                None => self.records.end(),
            }
            self.update_recorded();
        }
        stays
    }

    fn records_current(&self) -> bool {
        let ring = self.records.ring.borrow();
        ring.as_ref().is_some_and(|(recording, _)| self.shared.recorder.is_current(recording))
    }

    /// A poll begins. The clock is not read where the last poll ended: a wake may have come since, and the
    /// poll that it leads to is found by the times of both.
    pub(super) fn begin_poll(&self, task: RunningTask) {
        let now = clock::now();
        self.records.polled_at.set(now);
        self.records.samples.poll_begins(task.id(), now, &self.own.slot);
    }

    /// Notes the poll that has just ended, before it leaves the note of what runs.
    #[cold]
    #[inline(never)]
    pub(super) fn note_poll(&self, outcome: Polled) {
        let (since, now) = (self.records.polled_at.get(), clock::now());
        if self.records_current() {
            if let Some(task) = self.own.slot.running.read() {
                self.records.push(since, now, |duration| Event::Poll { task, duration, outcome });
            }
        } else {
            self.records.end();
        }
        let queued = self.own.ready.len();
        let time = now.saturating_duration_since(since);
        self.records.samples.poll_ends(time, &self.own.slot, queued);
        self.update_recorded();
    }
}
