//! What an observer does on a worker's thread: writes to the worker's ring while events are recorded, and
//! measures some polls and waits always.

use super::histogram::Histograms;
use super::record::Event;
use super::recorder::{Recorder, Recording};
use super::ring::Ring;
use super::samples::Samples;
use super::simulation::Simulation;
use crate::engine::scheduler::{TaskEvent, WorkerProbe};
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::header::FutureType;
use crate::engine::task::{Polled, RunningTask, TaskId};
use std::cell::{Cell, RefCell};
use std::time::Instant;

#[cfg(all(test, liten_loom))]
mod loom;

pub(super) struct WorkerObserver {
    recorder: Arc<Recorder>,
    worker: usize,
    ring: RefCell<Option<(Arc<Recording>, Arc<Ring>)>>,
    /// The poll began then.
    polled_at: Cell<Instant>,
    samples: Samples,
    simulation: Simulation,
}

impl WorkerObserver {
    /// For a worker in whose slot `polls` polls have been made before.
    pub(super) fn new(
        recorder: Arc<Recorder>,
        histograms: Arc<Histograms>,
        worker: usize,
        polls: u64,
        simulation: Simulation,
    ) -> Self {
        simulation.worker_begins();
        let samples = Samples::new(histograms, worker, polls);
        let polled_at = Cell::new(clock::now());
        Self { recorder, worker, ring: RefCell::new(None), polled_at, samples, simulation }
    }

    #[cold]
    fn push(&self, since: Instant, now: Instant, event: impl FnOnce(u64) -> Event) {
        if let Some((recording, ring)) = &*self.ring.borrow() {
            ring.push(recording.record(since, now, event));
        }
    }

    /// Whether each poll, wake and spawn of the worker is reported.
    fn reports_all(&self) -> bool {
        self.has_ring() || self.simulation.is_there()
    }

    fn has_ring(&self) -> bool {
        self.ring.borrow().is_some()
    }

    /// Whether the times of the poll under way are of use. A simulation has its own: each reading of the
    /// clock would be a step of it.
    fn is_timed(&self) -> bool {
        self.samples.is_timed() || self.has_ring()
    }

    /// Whether the worker writes to the recording that is under way.
    fn records(&self) -> bool {
        let ring = self.ring.borrow();
        ring.as_ref().is_some_and(|(recording, _)| self.recorder.is_current(recording))
    }
}

impl WorkerProbe for WorkerObserver {
    fn is_on(&self) -> bool {
        self.samples.is_on() || self.reports_all()
    }

    fn next_spawn(&self) -> u64 {
        if self.reports_all() { 0 } else { self.samples.next_spawn() }
    }

    /// Takes part in the recording that is under way.
    fn step(&self) {
        if !self.records() {
            // The recording may be over before the number that says so.
            let recording = self.recorder.current();
            let with_ring = recording.map(|it| (it.clone(), it.ring(self.worker)));
            self.ring.replace(with_ring);
        }
    }

    fn fair_turn(&self, now: Instant, polls: u64, spawned: u64) {
        self.samples.fair_turn(now, polls, spawned);
    }

    fn choose_tick(&self, polls: u64, ticks: u32) -> Option<u32> {
        self.samples.choose_tick(polls, ticks)
    }

    fn chosen_tick(&self) {
        self.samples.begin();
    }

    fn happened(&self, event: TaskEvent) {
        self.simulation.happened(event);
        if matches!(event, TaskEvent::Panicked(_)) && !self.records() {
            // A panic is recorded also in the step in which the recording has begun.
            return self.recorder.happened_outside(Event::of(event));
        }
        if self.has_ring() {
            let now = clock::now();
            self.push(now, now, |_| Event::of(event));
        }
    }

    fn spawned(&self, task: RunningTask, future: FutureType, number: u64) -> Option<u64> {
        self.simulation.spawned(task, future);
        if self.has_ring() {
            let now = clock::now();
            self.push(now, now, |_| Event::Spawn(task));
        }
        self.samples.spawned(number)
    }

    /// The clock is not read where the last poll ended: a wake may have come since, and the poll that it
    /// leads to is found by the times of both.
    fn poll_begins(&self, task: RunningTask, polls: u64) -> Option<u32> {
        self.simulation.poll_begins(task);
        let number = self.samples.poll_begins(task.id(), polls);
        if self.is_timed() {
            self.polled_at.set(clock::now());
        }
        number
    }

    fn followed_poll_begins(&self, task: TaskId) -> bool {
        self.samples.followed_poll_begins(task)
    }

    #[cold]
    fn poll_ends(&self, task: RunningTask, outcome: Polled, polls: u64) {
        if self.is_timed() {
            let (since, now) = (self.polled_at.get(), clock::now());
            if self.records() {
                self.push(since, now, |duration| Event::Poll { task, duration, outcome });
            } else {
                self.ring.replace(None);
            }
            if self.samples.is_timed() {
                self.samples.poll_ends(now, now.saturating_duration_since(since), polls);
            }
        }
        self.simulation.poll_ends(task, outcome);
    }

    fn slept(&self, since: Instant, now: Instant, polls: u64) {
        self.samples.slept(polls);
        self.push(since, now, |duration| Event::Sleep { duration });
    }

    fn round_ended(&self, since: Instant, wakers: usize, fired: usize) {
        let [wakers, fired] = [wakers, fired].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        if self.ring.borrow().is_some() {
            self.push(since, clock::now(), |duration| Event::Turn { duration, wakers, fired });
        }
    }
}
