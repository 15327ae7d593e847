//! What a worker does while events are recorded: the same steps, with a record of each.
//!
//! A worker that is not recorded pays nothing per poll. Its loop asks at each step whether it stays
//! (`PoolSize::is_plain`), and the same word says that a recording is under way. Then the worker goes on in
//! [`Worker::work_recorded`], whose polls are timed. A wake and a spawn look at [`Records::is_on`].

use super::Worker;
use crate::engine::recorder::{Event, Ring};
use crate::engine::scheduler::recorder::Recording;
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::header::Hot;
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// Where a worker's records go.
pub(super) struct Records {
    /// Whether there is a ring. On its own, so that a wake looks at one byte.
    is_on: Cell<bool>,
    ring: RefCell<Option<(Arc<Recording>, Arc<Ring>)>>,
}

impl Records {
    pub(super) fn new() -> Self {
        Self { is_on: Cell::new(false), ring: RefCell::new(None) }
    }

    fn begin(&self, recording: Arc<Recording>, worker: usize) {
        let ring = recording.ring(worker);
        *self.ring.borrow_mut() = Some((recording, ring));
        self.is_on.set(true);
    }

    fn end(&self) {
        self.is_on.set(false);
        *self.ring.borrow_mut() = None;
    }

    /// Notes what lasted from `since` to `now`; `event` is given the time in nanoseconds.
    #[inline]
    pub(super) fn note(&self, since: Instant, now: Instant, event: impl FnOnce(u64) -> Event) {
        if self.is_on.get() {
            self.push(since, now, event);
        }
    }

    /// Notes what has just happened.
    #[inline]
    pub(super) fn note_now(&self, event: impl FnOnce() -> Event) {
        if self.is_on.get() {
            let now = clock::now();
            self.push(now, now, |_| event());
        }
    }

    /// Calls `wake`, which calls so many wakers, and notes that.
    pub(super) fn note_turn(&self, wakers: usize, fired: usize, wake: impl FnOnce()) {
        if wakers == 0 || !self.is_on.get() {
            return wake();
        }
        let since = clock::now();
        wake();
        let [wakers, fired] = [wakers, fired].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let event = |duration| Event::Turn { duration, wakers, fired };
        self.note(since, clock::now(), event);
    }

    #[cold]
    fn push(&self, since: Instant, now: Instant, event: impl FnOnce(u64) -> Event) {
        if let Some((recording, ring)) = &*self.ring.borrow() {
            ring.push(recording.record(since, now, event));
        }
    }
}

impl Worker {
    /// Goes on until the recording is over, and for one step at least: the recording may be over before
    /// the word that says so.
    #[cold]
    #[inline(never)]
    pub(super) fn work_recorded(&self, arrived: &mut bool) {
        let recording = self.shared.recorder.current();
        if let Some(recording) = &recording {
            self.records.begin(recording.clone(), self.own.index);
        }
        loop {
            self.step(arrived, |task| self.run_recorded(task));
            let lasts = recording.as_ref().is_some_and(|it| self.shared.recorder.is_current(it));
            if !lasts || self.is_surplus() {
                break;
            }
        }
        self.records.end();
    }

    fn run_recorded(&self, task: Hot) {
        let (since, task_run) = (clock::now(), task.identity());
        let outcome = self.run(task);
        self.records.note(since, clock::now(), |duration| Event::Poll {
            task: task_run,
            duration,
            outcome,
        });
    }
}
