//! Recording what the threads of a runtime do: start, stop, and the rings of all threads.
//!
//! # From start to stop
//!
//! There is one recording at a time. Those that start while one is under way share it, each from its own
//! start on, and the last one to stop ends it. The thread that starts or stops holds the lock of the threads,
//! so the number of workers does not change meanwhile.
//!
//! | step | first start | last stop |
//! |---|---|---|
//! | 1 | sets `current` | clears `number` |
//! | 2 | sets `number` | clears `current` |
//! | 3 | inverts the word that the workers read at each step | sets it back |
//!
//! A worker that finds the word inverted takes the recording, and writes to its ring until `number` has
//! changed. If the recording is over already, it goes on without a ring and looks at the word again. A worker
//! in a long poll or in its sleep takes no part before that has ended, and may write to its ring after the
//! stop: the ring is shared, and nothing reads it then.

use crate::engine::recorder::{Event, Record, Ring};
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, clock};
use std::time::{Duration, Instant};

/// How many records the rings of the workers that there are at the start keep together, 32 bytes each.
const RECORDS: usize = 1 << 17;
/// How many one ring keeps at the least, and at the most.
const LEAST: usize = 1 << 8;
const MOST: usize = 1 << 15;

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
    begin: Instant,
    /// By the index of the worker.
    workers: Mutex<Vec<Option<Arc<Ring>>>>,
    /// That of all other threads, which write under the lock. To read it takes none.
    others: Ring,
    others_write: Mutex<()>,
    ring_size: usize,
}

/// How far the rings of a recording have been read.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    /// When its owner started, in the time of the recording.
    begin: u64,
    workers: Vec<u64>,
    others: u64,
}

/// What one thread, or all that are no workers, have recorded.
pub(crate) struct Track {
    /// The oldest first.
    pub(crate) records: Vec<Record>,
    /// How many earlier ones are lost.
    pub(crate) lost: u64,
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

    /// Notes an event on a thread that is no worker, if a recording is under way.
    #[inline]
    pub(super) fn note(&self, event: impl FnOnce() -> Event) {
        // Ordering: Relaxed, the recording itself is found under its lock.
        if self.number.load(Ordering::Relaxed) != 0 {
            self.note_outside(event());
        }
    }

    #[cold]
    fn note_outside(&self, event: Event) {
        if let Some(recording) = self.current() {
            let _writes = recording.others_write.lock();
            // Read under the lock, so that the records are in order.
            let now = clock::now();
            recording.others.push(recording.record(now, now, |_| event));
        }
    }

    /// Shares the one that is under way.
    pub(super) fn start(&self, workers: usize) -> Arc<Recording> {
        let mut recordings = self.recordings.lock();
        recordings.users += 1;
        if let Some(current) = &recordings.current {
            return current.clone();
        }
        recordings.count += 1;
        let recording = Arc::new(Recording::new(recordings.count, workers));
        recordings.current = Some(recording.clone());
        // Ordering: Relaxed, see `is_current` and `note`.
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
    fn new(number: u64, workers: usize) -> Self {
        let ring_size = (RECORDS / workers.max(1)).clamp(LEAST, MOST);
        let ring = || Ring::new(ring_size);
        Self {
            number,
            begin: clock::now(),
            workers: Mutex::new((0..workers).map(|_| Some(Arc::new(ring()))).collect()),
            others: ring(),
            others_write: Mutex::new(()),
            ring_size,
        }
    }

    /// The ring of worker `index`.
    pub(super) fn ring(&self, index: usize) -> Arc<Ring> {
        let mut workers = self.workers.lock();
        if workers.len() <= index {
            workers.resize(index + 1, None);
        }
        workers[index].get_or_insert_with(|| Arc::new(Ring::new(self.ring_size))).clone()
    }

    pub(super) fn record(
        &self,
        since: Instant,
        now: Instant,
        event: impl FnOnce(u64) -> Event,
    ) -> Record {
        // Not before the recording, which a poll or a sleep may be older than.
        let duration = now.saturating_duration_since(since.max(self.begin));
        Record { at: self.time(now), event: event(nanoseconds(duration)) }
    }

    fn time(&self, now: Instant) -> u64 {
        nanoseconds(now.saturating_duration_since(self.begin))
    }

    /// How long it has lasted, in nanoseconds.
    pub(crate) fn length(&self) -> u64 {
        self.time(clock::now())
    }

    /// Where one begins to read that starts now.
    pub(crate) fn cursor(&self) -> Cursor {
        let rings = self.workers.lock().clone();
        let written = |ring: &Option<Arc<Ring>>| ring.as_ref().map_or(0, |ring| ring.written());
        Cursor {
            begin: self.length(),
            workers: rings.iter().map(written).collect(),
            others: self.others.written(),
        }
    }

    /// What the workers have recorded since then, by their index, and all other threads: wakes and spawns.
    /// Times are those since the start of the cursor's owner.
    pub(crate) fn read_on(&self, cursor: &mut Cursor) -> (Vec<Track>, Track) {
        let rings = self.workers.lock().clone();
        cursor.workers.resize(rings.len(), 0);
        let workers = rings.iter().zip(&mut cursor.workers);
        let workers = workers.map(|(ring, from)| match ring {
            Some(ring) => Track::of(ring, from, cursor.begin),
            None => Track::empty(),
        });
        (workers.collect(), Track::of(&self.others, &mut cursor.others, cursor.begin))
    }
}

impl Cursor {
    /// When its owner started, in nanoseconds since the recording began.
    pub(crate) fn begin(&self) -> u64 {
        self.begin
    }
}

/// In 64 bits, which last for 584 years.
fn nanoseconds(time: Duration) -> u64 {
    time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos())
}

impl Track {
    fn empty() -> Self {
        Self { records: Vec::new(), lost: 0 }
    }

    fn of(ring: &Ring, from: &mut u64, begin: u64) -> Self {
        let (mut records, lost) = ring.read(from);
        records.iter_mut().for_each(|record| record.begin_at(begin));
        Self { records, lost }
    }
}
