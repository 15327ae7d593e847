//! Recording what the threads of a runtime do: start, stop, and the rings of all threads.
//!
//! # From start to stop
//!
//! There is one recording at a time. Those that start while one is under way share it, each from its own
//! start on, and the last one to stop ends it. The scheduler calls [`Recorder::start`] and [`Recorder::stop`]
//! under the lock of its threads. So no thread of a worker is started or retired meanwhile. A worker whose
//! thread has been started, but has not reached its slot, counts as one that is there at the start.
//!
//! | step | first start | last stop |
//! |---|---|---|
//! | 1 | sets `current` | clears `number` |
//! | 2 | sets `number` | clears `current` |
//! | 3 | makes the workers report each step | ends these reports |
//!
//! A worker that reports a step takes the recording, and writes to its ring until `number` has changed. If
//! the recording is over already, it goes on without a ring and reports the next step again. A worker in a
//! long poll or in its sleep takes no part before that has ended, and may write to its ring after the stop:
//! the ring is shared, and nothing reads it then. Model:
//! `a_worker_takes_part_in_the_recording_that_is_under_way`.
//!
//! # Bounds
//!
//! The workers that there are at the start share room for [`RECORDS`], or each has as many as the start asks
//! for. Workers that come later, in slots that had none, share as much again, or [`LATE_RINGS`] rings of that
//! size: each takes a ring as large as the others, while that is no more than half of what is left, and then
//! half of it. When too little is left, a worker gets a ring with room for one record, which is overwritten
//! before it can be read. So such a worker runs as the others do, and all that it does is counted as lost.

use super::record::{Event, Record};
use super::ring::Ring;
use crate::engine::nanos::nanos;
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, clock};
use std::num::NonZeroUsize;
use std::time::Instant;

/// How many records the rings of the workers that there are at the start keep together, 32 bytes each, if
/// nothing else is asked for.
const RECORDS: usize = 1 << 17;
/// How many one ring keeps at the least, and at most.
const LEAST: usize = 1 << 8;
const MOST: usize = 1 << 15;
/// Rings of workers that come later together have as much room as this many of the first rings, and for
/// [`RECORDS`] at the least.
const LATE_RINGS: usize = 4;

pub(super) struct Recorder {
    /// Which recording is under way; 0: none.
    number: AtomicU64,
    recordings: Mutex<Recordings>,
}

#[derive(Default)]
struct Recordings {
    /// How many recordings there have been.
    count: u64,
    /// How many have started `current` and not stopped it.
    users: usize,
    current: Option<Arc<Recording>>,
}

/// One recording: the rings of the threads that take part.
pub(crate) struct Recording {
    number: u64,
    pub(crate) begin: Instant,
    workers: Mutex<Rings>,
    /// The ring of all threads that are no workers, the driver thread among them. A writer takes
    /// `others_write`, and a reader does not. A writer holds the lock for one reading of the clock and one
    /// record, so the driver thread waits long only if the system preempts a writer there.
    others: Ring,
    others_write: Mutex<()>,
}

/// The rings of the workers.
struct Rings {
    /// The ring of each worker, at the index of the worker.
    rings: Vec<Option<Arc<Ring>>>,
    /// How many records those have room for that were there at the start.
    size: usize,
    /// How many records there is room for in rings of workers that come later.
    left: usize,
}

impl Recorder {
    pub(super) fn new() -> Self {
        Self { number: AtomicU64::new(0), recordings: Mutex::new(Recordings::default()) }
    }

    /// The recording that is under way.
    pub(super) fn current(&self) -> Option<Arc<Recording>> {
        self.recordings.lock().current.clone()
    }

    /// Whether `recording` is under way.
    pub(super) fn is_current(&self, recording: &Recording) -> bool {
        // Ordering: Relaxed, the worker leaves the recording a little later if this is stale.
        self.number.load(Ordering::Relaxed) == recording.number
    }

    /// Records what has happened on a thread that is no worker, if a recording is under way.
    pub(super) fn happened_outside(&self, event: Event) {
        if let Some(recording) = self.current() {
            let _writes = recording.others_write.lock();
            // Read under the lock, so that the records are in order.
            let now = clock::now();
            recording.others.push(recording.record(now, now, |_| event));
        }
    }

    /// Shares the one that is under way, whose rings stay as they are. A new one has rings for `records` of
    /// each worker, rounded down to a power of two.
    pub(super) fn start(&self, workers: usize, records: Option<NonZeroUsize>) -> Arc<Recording> {
        let mut recordings = self.recordings.lock();
        recordings.users += 1;
        if let Some(current) = &recordings.current {
            return current.clone();
        }
        recordings.count += 1;
        let recording = Arc::new(Recording::new(recordings.count, workers, records));
        recordings.current = Some(recording.clone());
        // Ordering: Relaxed, see `is_current`.
        self.number.store(recording.number, Ordering::Relaxed);
        recording
    }

    /// Returns whether this was the last one.
    pub(super) fn stop(&self) -> bool {
        let mut recordings = self.recordings.lock();
        recordings.users -= 1;
        if recordings.users != 0 {
            return false;
        }
        // Ordering: Relaxed, as in `start`.
        self.number.store(0, Ordering::Relaxed);
        recordings.current = None;
        true
    }
}

impl Recording {
    pub(crate) fn new(number: u64, workers: usize, records: Option<NonZeroUsize>) -> Self {
        let share = || (RECORDS / workers.max(1)).clamp(LEAST, MOST);
        // A ring takes powers of two, and would round up.
        let size = 1 << records.map_or_else(share, NonZeroUsize::get).ilog2();
        let rings = (0..workers).map(|_| Some(Arc::new(Ring::new(size)))).collect();
        Self {
            number,
            begin: clock::now(),
            workers: Mutex::new(Rings { rings, size, left: (LATE_RINGS * size).max(RECORDS) }),
            others: Ring::new(size),
            others_write: Mutex::new(()),
        }
    }

    /// The ring of worker `index`.
    pub(crate) fn ring(&self, index: usize) -> Arc<Ring> {
        self.workers.lock().ring(index)
    }

    pub(super) fn record(
        &self,
        since: Instant,
        now: Instant,
        event: impl FnOnce(u64) -> Event,
    ) -> Record {
        // A poll or a sleep may be older than the recording: then it counts from the recording's beginning.
        let duration = now.saturating_duration_since(since.max(self.begin));
        Record { at: self.time(now), event: event(nanos(duration)) }
    }

    fn time(&self, now: Instant) -> u64 {
        nanos(now.saturating_duration_since(self.begin))
    }

    /// How long it has lasted, in nanoseconds.
    pub(crate) fn length(&self) -> u64 {
        self.time(clock::now())
    }

    /// The rings of the workers, by their index. A worker that takes no part has none.
    pub(crate) fn rings(&self) -> Vec<Option<Arc<Ring>>> {
        self.workers.lock().rings.clone()
    }

    /// The ring of all other threads, which wake and spawn.
    pub(crate) fn others(&self) -> &Ring {
        &self.others
    }
}

impl Rings {
    fn ring(&mut self, index: usize) -> Arc<Ring> {
        if self.rings.len() <= index {
            self.rings.resize(index + 1, None);
        }
        if let Some(ring) = &self.rings[index] {
            return ring.clone();
        }
        let ring = Arc::new(Ring::new(self.late_size()));
        self.rings[index] = Some(ring.clone());
        ring
    }

    /// How many records the ring of one more worker has room for.
    fn late_size(&mut self) -> usize {
        // The next power of two below a half: a ring takes no other number.
        let half = (self.left / 2).checked_ilog2().map_or(0, |bits| 1 << bits);
        let size = self.size.min(half);
        if size < LEAST.min(self.size) {
            return 1;
        }
        self.left -= size;
        size
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    impl Recording {
        /// How many records all rings have room for, those with room for one left out, which keep none.
        fn room(&self) -> usize {
            let workers = self.workers.lock();
            let rings = workers.rings.iter().flatten().map(|ring| &**ring).chain([&self.others]);
            rings.map(Ring::room).filter(|&room| room > 1).sum()
        }
    }

    #[test]
    fn rings_of_workers_that_come_later_are_bounded() {
        for at_the_start in [0, 1, 2, 4, 5, 64, 512, 4_096] {
            let recording = Recording::new(1, at_the_start, None);
            let at_most = RECORDS.max(LEAST * at_the_start) + RECORDS + MOST;
            for index in 0..8_192 {
                recording.ring(index);
            }
            let room = recording.room();
            assert!(room <= at_most, "{at_the_start} workers at the start: {room} records");
            let first = recording.ring(at_the_start).room();
            assert_eq!(first, recording.workers.lock().size, "there is room for the first to come");
        }
    }

    #[test]
    fn rings_are_as_large_as_is_asked_for_and_so_are_later_ones() {
        for (asked, size) in [(1, 1), (1_000, 512), (1 << 17, 1 << 17)] {
            let recording = Recording::new(1, 2, NonZeroUsize::new(asked));
            assert_eq!([0, 1, 2].map(|index| recording.ring(index).room()), [size; 3]);
            (0..1_000).for_each(|index| drop(recording.ring(index)));
            let at_most = (3 + LATE_RINGS) * size + RECORDS;
            assert!(recording.room() <= at_most, "{asked}: {}", recording.room());
        }
    }
}
