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
//! stop: the ring is shared, and nothing reads it then. Model:
//! `a_worker_takes_part_in_the_recording_that_is_under_way`.
//!
//! # Bounds
//!
//! The workers that there are at the start share room for [`RECORDS`], or each has as many as the start asks
//! for. Workers that come later, in slots that had none, share as much again, or [`LATE_RINGS`] rings of that
//! size: each takes a ring as large as the others, while that is no more than half of what is left, and then
//! half of it. When too little is left, a worker gets a ring with room for one record, which is overwritten
//! before it can be read. So such a worker runs as the others do, and all that it does is counted as lost.

use crate::engine::nanos::nanos;
use crate::engine::recorder::{Event, Record, Ring};
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::sync_shim::{Arc, Mutex, clock};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// How many records the rings of the workers that there are at the start keep together, 32 bytes each, if
/// nothing else is asked for.
const RECORDS: usize = 1 << 17;
/// How many one ring keeps at the least, and at the most.
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
    /// The ring of all other threads. Writers take the lock; readers do not.
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

/// How far one that started a recording has read it.
#[derive(Debug, Clone)]
pub(crate) struct NextRecords {
    /// When its owner started, in the time of the recording.
    begin: u64,
    /// The next record of each worker, at the index of the worker.
    workers: Vec<NextRecord>,
    others: NextRecord,
}

/// How far the records of one ring have been read. By default not at all.
#[derive(Debug, Clone, Default)]
struct NextRecord {
    number: u64,
    /// As in [`Track`], if something says so.
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
    fn new(number: u64, workers: usize, records: Option<NonZeroUsize>) -> Self {
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
    pub(super) fn ring(&self, index: usize) -> Arc<Ring> {
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

    /// Where one begins to read that starts now.
    pub(crate) fn next_records(&self) -> NextRecords {
        let begin = self.length();
        let rings = self.workers.lock().rings.clone();
        let next = |ring: &Option<Arc<Ring>>| {
            ring.as_deref().map_or_else(Default::default, NextRecord::of)
        };
        let workers = rings.iter().map(next).collect();
        NextRecords { begin, workers, others: NextRecord::of(&self.others) }
    }

    /// What has been recorded from `next` on, which then stands behind the last of it: by the workers, by
    /// their index, and by all other threads, which wake and spawn. Times are those since the start of the
    /// owner of `next`.
    pub(crate) fn read(&self, next: &mut NextRecords) -> (Vec<Track>, Track) {
        let others = Track::read(&self.others, &mut next.others, next.begin);
        let rings = self.workers.lock().rings.clone();
        next.workers.resize(rings.len(), NextRecord::default());
        let workers = rings.iter().zip(&mut next.workers).map(|(ring, of_ring)| match ring {
            Some(ring) => Track::read(ring, of_ring, next.begin),
            None => Track::default(),
        });
        (workers.collect(), others)
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

impl NextRecords {
    /// When its owner started, since the recording began.
    pub(crate) fn begin(&self) -> Duration {
        Duration::from_nanos(self.begin)
    }
}

impl NextRecord {
    /// Behind all that are in the ring. What the thread did before has ended before its owner starts.
    fn of(ring: &Ring) -> Self {
        let number = ring.written();
        Self { number, poll_from: (number != 0).then_some(0) }
    }
}

impl Track {
    /// The records from `next` on, which then stands behind the last of them. Times are those since `begin`.
    fn read(ring: &Ring, next: &mut NextRecord, begin: u64) -> Self {
        let (mut records, numbers) = ring.read(next.number);
        records.iter_mut().for_each(|record| record.begin_at(begin));
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
    matches!(event, Event::Wake(_) | Event::Spawn(_) | Event::Panic(_))
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
        assert_eq!(Track::read(&ring, &mut next, 0).poll_from, 0);
        wake(20);
        wake(30);
        assert_eq!(Track::read(&ring, &mut next, 0).poll_from, 20);
        sleep(40);
        wake(50);
        assert_eq!(Track::read(&ring, &mut next, 0).poll_from, 40);
        wake(60);
        assert_eq!(Track::read(&ring, &mut next, 0).poll_from, 40, "read in an earlier part");
        sleep(70);
        assert_eq!(Track::read(&ring, &mut next, 0).poll_from, 70);
    }

    #[test]
    fn one_that_starts_later_reads_what_comes_then_and_counts_time_from_then_on() {
        let recording = Recording::new(1, 1, None);
        let sleep = |at| Record { at, event: Event::Sleep { duration: 30 } };
        recording.ring(0).push(sleep(40));
        let mut all = NextRecords { begin: 0, workers: Vec::new(), others: NextRecord::default() };
        let mut part = NextRecords { begin: 50, ..recording.next_records() };
        let read = |next: &mut NextRecords| recording.read(next).0.remove(0);
        assert_eq!(read(&mut part.clone()).poll_from, 0);
        recording.ring(0).push(sleep(70));
        assert_eq!(read(&mut all).records, [sleep(40), sleep(70)]);
        let track = read(&mut part);
        let cut_off = Record { at: 20, event: Event::Sleep { duration: 20 } };
        assert_eq!((track.records, track.lost, track.poll_from), (vec![cut_off], 0, 20));
        // A worker that has come since.
        recording.ring(1).push(sleep(90));
        let (workers, _) = recording.read(&mut part);
        assert_eq!(workers[1].records.len(), 1);
        assert_eq!((workers[0].records.len(), workers[0].poll_from), (0, 20));
    }

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

    #[test]
    fn a_worker_without_room_has_all_its_records_counted_as_lost() {
        let recording = Recording::new(1, 1, None);
        let mut next = recording.next_records();
        (1..100).for_each(|index| drop(recording.ring(index)));
        let sleep = |at| Record { at, event: Event::Sleep { duration: 1 } };
        (0..10).for_each(|at| recording.ring(99).push(sleep(at)));
        let (workers, _) = recording.read(&mut next);
        assert_eq!((workers[99].records.len(), workers[99].lost), (0, 10));
        recording.ring(99).push(sleep(10));
        let (workers, _) = recording.read(&mut next);
        assert_eq!((workers[99].records.len(), workers[99].lost), (0, 1));
    }
}
