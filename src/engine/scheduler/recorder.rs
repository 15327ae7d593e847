//! Recording what the threads of a runtime do: start, stop, and the rings of all threads.
//!
//! # From start to stop
//!
//! The thread that starts or stops a recording holds the lock of the threads, so there is one at a time, and
//! the number of workers does not change meanwhile.
//!
//! | step | start | stop |
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
    current: Option<Arc<Recording>>,
}

/// One recording: the rings of the threads that take part.
pub(crate) struct Recording {
    number: u64,
    pub(crate) begin: Instant,
    /// By the index of the worker.
    workers: Mutex<Vec<Option<Arc<Ring>>>>,
    /// That of all other threads, which write under this lock.
    others: Mutex<Ring>,
    ring_size: usize,
}

/// What one thread, or all that are no workers, have recorded.
#[derive(Default)]
pub(crate) struct Track {
    /// The oldest first.
    pub(crate) records: Vec<Record>,
    /// How many earlier ones are lost.
    pub(crate) lost: u64,
    /// When the poll that is under way began, if there is one: at the end of what the thread did before.
    /// Wakes and spawns do not count, because they may be those of the poll itself. 0 if there is no record.
    pub(crate) poll_from: u64,
}

/// How far the records of a recording have been read. By default not at all.
#[derive(Default)]
pub(crate) struct NextRecords {
    /// By the index of the worker.
    workers: Vec<NextRecord>,
    others: NextRecord,
}

/// How far those of one ring have been read.
#[derive(Clone, Default)]
struct NextRecord {
    number: u64,
    poll_from: Option<u64>,
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
            // Read under the lock, so that the records are in order.
            let others = recording.others.lock();
            let now = clock::now();
            others.push(recording.record(now, now, |_| event));
        }
    }

    /// `None`: one is under way.
    pub(super) fn start(&self, workers: usize) -> Option<Arc<Recording>> {
        let mut recordings = self.recordings.lock();
        if recordings.current.is_some() {
            return None;
        }
        recordings.count += 1;
        let recording = Arc::new(Recording::new(recordings.count, workers));
        recordings.current = Some(recording.clone());
        // Ordering: Relaxed, see `is_current` and `note`.
        self.number.store(recording.number, Ordering::Relaxed);
        Some(recording)
    }

    pub(super) fn stop(&self) {
        let mut recordings = self.recordings.lock();
        // Ordering: Relaxed, as in `start`.
        self.number.store(0, Ordering::Relaxed);
        recordings.current = None;
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
            others: Mutex::new(ring()),
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

    /// What the workers have recorded since the last look, by their index.
    pub(crate) fn workers(&self, next: &mut NextRecords) -> Vec<Track> {
        let rings = self.workers.lock().clone();
        next.workers.resize(rings.len(), NextRecord::default());
        let read = |(ring, next): (&Option<Arc<Ring>>, &mut NextRecord)| match ring {
            Some(ring) => Track::read(ring, next),
            None => Track::default(),
        };
        rings.iter().zip(&mut next.workers).map(read).collect()
    }

    /// What all other threads have recorded since the last look: wakes and spawns.
    pub(crate) fn others(&self, next: &mut NextRecords) -> Track {
        Track::read(&self.others.lock(), &mut next.others)
    }
}

/// In 64 bits, which last for 584 years.
fn nanoseconds(time: Duration) -> u64 {
    time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos())
}

impl Track {
    /// The records from `next` on, which then stands behind the last of them.
    fn read(ring: &Ring, next: &mut NextRecord) -> Self {
        let (records, numbers) = ring.read(next.number);
        let lost = numbers.start - next.number;
        let mut ends = records.iter().rev().filter(|record| !is_made_in_polls(record.event));
        let end = ends.next().map(|record| record.at).or(next.poll_from);
        *next = NextRecord { number: numbers.end, poll_from: end };
        let poll_from = end.or(records.first().map(|record| record.at)).unwrap_or(0);
        Self { records, lost, poll_from }
    }
}

/// Whether the event may be a part of a poll. The others are over when a poll begins.
fn is_made_in_polls(event: Event) -> bool {
    matches!(event, Event::Wake(_) | Event::Spawn(_))
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::engine::task::{RunningTask, TaskId};
    use std::panic::Location;

    #[test]
    fn a_poll_under_way_began_before_what_it_has_woken() {
        let (ring, mut next) = (Ring::new(8), NextRecord::default());
        let wake = |at| {
            let task = RunningTask::new(TaskId::next(), Location::caller());
            ring.push(Record { at, event: Event::Wake(task) });
        };
        let sleep = |at| ring.push(Record { at, event: Event::Sleep { duration: 1 } });
        assert_eq!(Track::read(&ring, &mut next).poll_from, 0);
        wake(20);
        wake(30);
        assert_eq!(Track::read(&ring, &mut next).poll_from, 20);
        sleep(40);
        wake(50);
        assert_eq!(Track::read(&ring, &mut next).poll_from, 40);
        wake(60);
        assert_eq!(Track::read(&ring, &mut next).poll_from, 40, "read in an earlier part");
        sleep(70);
        assert_eq!(Track::read(&ring, &mut next).poll_from, 70);
    }
}
