//! Models of the ring: a look at any time sees whole records, and each of them in its place.

use super::Ring;
use crate::engine::sync_shim::{Arc, thread};
use crate::observe::{Event, Record};

/// A record all of whose words tell its number. As a turn it has no place, which is a word of its own.
fn record(number: u32) -> Record {
    let duration = u64::from(number);
    Record { at: duration, event: Event::Turn { duration, wakers: number, fired: number } }
}

/// The looking thread is the spawned one, so that the writes come first in the first order that is tried:
/// then each load may return what has been there before.
fn look_while_written(length: usize, records: u32) {
    ::loom::model(move || {
        let ring = Arc::new(Ring::new(length));
        let theirs = ring.clone();
        let look = thread::spawn(move || {
            let (seen, numbers) = theirs.read(0);
            for (number, seen) in numbers.zip(seen) {
                assert_eq!(seen, record(number as u32));
            }
        });
        (0..records).for_each(|number| ring.push(record(number)));
        look.join().expect("no panic");
    });
}

/// The writer comes round to entries that the look has not copied yet, or is about to.
#[test]
fn a_look_sees_whole_records_only() {
    look_while_written(2, 3);
}

/// Before the ring is full.
#[test]
fn a_look_sees_what_was_written_before() {
    look_while_written(4, 2);
}
