//! What a recording has, thread by thread, and how far one that reads it has come.

use crate::engine::sync_shim::Arc;
use crate::observe::{Event, Record, Recording, Ring};
use std::time::Duration;

/// What one thread, or all that are no workers, have recorded.
#[derive(Default)]
pub(super) struct Track {
    /// The oldest first.
    pub(super) records: Vec<Record>,
    /// How many earlier ones are lost.
    pub(super) lost: u64,
    /// When the poll that is under way began, if there is one: at the end of what the thread did before.
    /// Wakes and spawns do not count, because they may be those of the poll itself. 0 if there is no record.
    pub(super) poll_from: u64,
}

/// How far one that started a recording has read it.
#[derive(Debug, Clone)]
pub(super) struct NextRecords {
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

impl Recording {
    /// Where one begins to read that starts now.
    pub(super) fn next_records(&self) -> NextRecords {
        let begin = self.length();
        let rings = self.rings();
        let next = |ring: &Option<Arc<Ring>>| {
            ring.as_deref().map_or_else(Default::default, NextRecord::of)
        };
        let workers = rings.iter().map(next).collect();
        NextRecords { begin, workers, others: NextRecord::of(self.others()) }
    }

    /// What has been recorded from `next` on, which then stands behind the last of it: by the workers, by
    /// their index, and by all other threads, which wake and spawn. Times are those since the start of the
    /// owner of `next`.
    pub(super) fn read(&self, next: &mut NextRecords) -> (Vec<Track>, Track) {
        let others = Track::read(self.others(), &mut next.others, next.begin);
        let rings = self.rings();
        next.workers.resize(rings.len(), NextRecord::default());
        let workers = rings.iter().zip(&mut next.workers).map(|(ring, of_ring)| match ring {
            Some(ring) => Track::read(ring, of_ring, next.begin),
            None => Track::default(),
        });
        (workers.collect(), others)
    }
}

impl NextRecords {
    /// When its owner started, since the recording began.
    pub(super) fn begin(&self) -> Duration {
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

impl Record {
    /// Counts times from `begin` on. What was before that is cut off.
    fn begin_at(&mut self, begin: u64) {
        self.at = self.at.saturating_sub(begin);
        if let Event::Poll { duration, .. }
        | Event::Sleep { duration }
        | Event::Turn { duration, .. } = &mut self.event
        {
            *duration = (*duration).min(self.at);
        }
    }
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
