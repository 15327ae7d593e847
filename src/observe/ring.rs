//! The last records of one thread, for other threads to read while it goes on.
//!
//! | step | writer | reader |
//! |---|---|---|
//! | 1 | reads `written` = n, its own | reads `written` = m: the records below m are there |
//! | 2 | stores the words of entry n mod length | copies the entries of the last records below m |
//! | 3 | stores `written` = n + 1 | reads `written` again = k: those below k + 1 − length may be torn |
//!
//! A record is torn if the reader has seen a word of record n in the entry of record n − length. Then it has
//! synchronised with that word's store, before which the writer had stored `written` = n. So k is at least n
//! in step 3, and record n − length is among those that are thrown away (model
//! `a_look_sees_whole_records_only`). No step waits, and the writer executes plain stores only.

use super::record::{Record, Words};
use crate::engine::sync_shim::atomic::{AtomicU64, Ordering};
use crate::engine::task::current::AtomicLocation;
use std::iter;
use std::ops::Range;

#[cfg(all(test, liten_loom))]
mod loom;

pub(crate) struct Ring {
    /// How many records have been written.
    written: AtomicU64,
    /// A power of two.
    entries: Box<[Entry]>,
}

struct Entry {
    at: AtomicU64,
    what: AtomicU64,
    which: AtomicU64,
    place: AtomicLocation,
}

impl Ring {
    /// A ring for `records` records, rounded up to a power of two.
    pub(crate) fn new(records: usize) -> Self {
        let entries = iter::repeat_with(Entry::new).take(records.next_power_of_two()).collect();
        Self { written: AtomicU64::new(0), entries }
    }

    fn entry(&self, number: u64) -> &Entry {
        // A cast to 32 bits keeps the low bits, which are those that count.
        &self.entries[number as usize & (self.entries.len() - 1)]
    }

    /// Writes a record over the oldest. One thread at a time may do this.
    pub(crate) fn push(&self, record: Record) {
        // Ordering: Relaxed, the writer's own.
        let number = self.written.load(Ordering::Relaxed);
        self.entry(number).store(record.words());
        // Ordering: Release pairs with the first load in `read`.
        self.written.store(number + 1, Ordering::Release);
    }

    /// How many records it keeps. With room for one it keeps none that can be read: the next may be on its
    /// way.
    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    pub(crate) fn room(&self) -> usize {
        self.entries.len()
    }

    /// How many records have been written.
    pub(crate) fn written(&self) -> u64 {
        // Ordering: Relaxed, a number only.
        self.written.load(Ordering::Relaxed)
    }

    /// The last records from number `from` on, the oldest first, and their numbers. Those before are lost.
    pub(crate) fn read(&self, from: u64) -> (Vec<Record>, Range<u64>) {
        let length = self.entries.len() as u64;
        // Ordering: Acquire pairs with `push`: the words of the records below are there.
        let end = self.written.load(Ordering::Acquire);
        let begin = end.saturating_sub(length).max(from);
        let words: Vec<Words> = (begin..end).map(|number| self.entry(number).load()).collect();
        // Ordering: Relaxed, kept behind by the Acquire loads of the words.
        let now = self.written.load(Ordering::Relaxed);
        // The entry of record `now` may be half written, and was that of record `now - length`.
        let whole = begin.max((now + 1).saturating_sub(length)).min(end);
        let kept = words.into_iter().skip((whole - begin) as usize);
        (kept.filter_map(Record::of).collect(), whole..end)
    }
}

impl Entry {
    fn new() -> Self {
        let [at, what, which] = [(); 3].map(|()| AtomicU64::new(0));
        Self { at, what, which, place: AtomicLocation::new() }
    }

    fn store(&self, words: Words) {
        // Ordering: Release: a reader that sees one of these sees how many had been written before.
        self.at.store(words.at, Ordering::Release);
        self.what.store(words.what, Ordering::Release);
        self.which.store(words.which, Ordering::Release);
        self.place.store(words.place, Ordering::Release);
    }

    fn load(&self) -> Words {
        // Ordering: Acquire pairs with `store`.
        let at = self.at.load(Ordering::Acquire);
        let what = self.what.load(Ordering::Acquire);
        let which = self.which.load(Ordering::Acquire);
        let place = self.place.load(Ordering::Acquire);
        Words { at, what, which, place }
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::observe::Event;

    fn sleep(duration: u64) -> Record {
        Record { at: duration, event: Event::Sleep { duration } }
    }

    #[test]
    fn the_last_records_are_kept_and_the_others_counted() {
        let ring = Ring::new(4);
        assert_eq!(ring.read(0), (vec![], 0..0));
        (0..3).for_each(|number| ring.push(sleep(number)));
        assert_eq!(ring.read(0), ((0..3).map(sleep).collect(), 0..3));
        (3..10).for_each(|number| ring.push(sleep(number)));
        // One fewer than there are entries: the next record might be on its way.
        assert_eq!(ring.read(0), ((7..10).map(sleep).collect(), 7..10));
    }

    #[test]
    fn a_later_look_begins_where_the_last_has_ended() {
        let ring = Ring::new(4);
        (0..2).for_each(|number| ring.push(sleep(number)));
        assert_eq!(ring.read(1), (vec![sleep(1)], 1..2));
        assert_eq!(ring.read(2), (vec![], 2..2));
        (2..4).for_each(|number| ring.push(sleep(number)));
        assert_eq!(ring.read(2), ((2..4).map(sleep).collect(), 2..4));
        (4..10).for_each(|number| ring.push(sleep(number)));
        assert_eq!(ring.read(4), ((7..10).map(sleep).collect(), 7..10));
        assert_eq!(ring.read(9), (vec![sleep(9)], 9..10));
        assert_eq!(ring.written(), 10);
    }

    /// With real threads, and a writer that goes round many times during a look.
    #[test]
    fn a_writer_that_overtakes_the_reader_tears_no_record() {
        let ring = Ring::new(64);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..300_000).for_each(|number| ring.push(sleep(number))));
            let mut last = 0;
            while last < 300_000 {
                let (records, numbers) = ring.read(last);
                assert!(numbers.start >= last);
                last = numbers.end;
                assert_eq!(records, numbers.map(sleep).collect::<Vec<_>>());
            }
        });
    }
}
