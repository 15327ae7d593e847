//! Since when tasks are ready that an observer follows from their wake, or their spawn, to their next poll.
//!
//! An observer sets bits in a task's word while the task is polled or new (FOLLOWED in state.rs). Whatever
//! wakes the task next, on any thread, finds the bits and notes the time here. The poll that answers the wake
//! finds them too, on whatever worker, and takes the note out. So what is measured of a followed task depends
//! neither on where it was woken nor on the worker that polls it, and a task that is not followed pays
//! nothing: both read the word anyway.
//!
//! Only tasks that are ready are noted, for as long as they are. There is room for [`ENTRIES`] of them in the
//! whole process. A note for which there is none is lost, and those that are there stay: a new note in the
//! place of an old one would drop the longest waits.
//!
//! Rejected: a time in the header of each task, for which it has no room, and which each wake would write.

use super::origin::TaskId;
use crate::engine::sync_shim::{StaticMutex, clock};
use std::time::Instant;

const ENTRIES: usize = 1 << 12;
/// A note lies in one of so many places, from the one on that its task's number leads to.
const PLACES: usize = 8;

#[derive(Clone, Copy)]
struct Entry {
    task: TaskId,
    since: Instant,
    stands_for: Option<u64>,
}

/// The lock is held for a few comparisons.
static READY: StaticMutex<[Option<Entry>; ENTRIES]> = StaticMutex::new([None; ENTRIES]);

/// A followed task is ready from now on, or from when this was called for it before. Its wait stands for so
/// many, if that is known already.
pub(crate) fn ready(task: TaskId, stands_for: Option<u64>) {
    let since = clock::now();
    let mut ready = READY.lock();
    let is_it = |&place: &usize| ready[place].is_some_and(|entry| entry.task == task);
    let is_free = |&place: &usize| ready[place].is_none();
    let place = places(task).find(is_it).or_else(|| places(task).find(is_free));
    if let Some(place) = place {
        let since = ready[place].map_or(since, |entry| entry.since);
        ready[place] = Some(Entry { task, since, stands_for });
    }
}

/// A poll of the task begins, or it ends without one. Returns since when it was ready, and for how many its
/// wait stands. `None`: nothing has been noted.
pub(crate) fn polled(task: TaskId) -> Option<(Instant, Option<u64>)> {
    let mut ready = READY.lock();
    let is_it = |entry: &Option<Entry>| entry.is_some_and(|entry| entry.task == task);
    let place = places(task).find(|&place| is_it(&ready[place]))?;
    ready[place].take().map(|entry| (entry.since, entry.stands_for))
}

fn places(task: TaskId) -> impl Iterator<Item = usize> {
    let first = (task.to_bits().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
    (0..PLACES).map(move |place| (first + place) % ENTRIES)
}
