//! What waits for a source: two short lines of wakers, and the keyed waiters of `ready()` futures.
//!
//! No lock in here and no waker is cloned, called or dropped, as in a [`Line`]. The vectors keep their
//! capacity, so that a source in use allocates nothing.

use std::mem;
use std::task::Waker;

use super::ready::{Direction, Ready};
use crate::engine::wakers::Line;

/// The next free entry's index if there is none.
const NO_ENTRY: usize = usize::MAX;

pub(super) struct Waiters {
    readers: Line,
    writers: Line,
    keyed: KeyedWaiters,
}

impl Waiters {
    pub(super) fn new() -> Self {
        Self { readers: Line::new(), writers: Line::new(), keyed: KeyedWaiters::new() }
    }

    /// The poll-style waiters of one direction.
    pub(super) fn line(&mut self, direction: Direction) -> &mut Line {
        match direction {
            Direction::Read => &mut self.readers,
            Direction::Write => &mut self.writers,
        }
    }

    pub(super) fn keyed(&mut self) -> &mut KeyedWaiters {
        &mut self.keyed
    }

    /// Moves out all wakers that these bits concern.
    pub(super) fn take(&mut self, ready: Ready, wakes: &mut Vec<Waker>) {
        for direction in [Direction::Read, Direction::Write] {
            if ready.intersects(direction.mask()) {
                self.line(direction).take(wakes);
            }
        }
        self.keyed.take(ready, wakes);
    }

    #[cfg(all(test, not(liten_shuttle)))]
    pub(super) fn len(&self) -> usize {
        self.readers.len() + self.writers.len() + self.keyed.live
    }

    /// Entries of all vectors, used or not.
    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    pub(super) fn capacity(&self) -> usize {
        self.readers.capacity() + self.writers.capacity() + self.keyed.entries.capacity()
    }
}

/// Waiters that belong to one future each and leave with it.
///
/// An entry is freed by its future alone, never by an event: so a plain index is a safe key, and the
/// generational slab (whose chunks are large, and there is one of these per source) is not needed.
pub(super) struct KeyedWaiters {
    entries: Vec<Entry>,
    /// Head of the chain of free entries.
    free: usize,
    live: usize,
    /// Entries that hold a waker; an event need not look through the others.
    armed: usize,
}

enum Entry {
    Free { next: usize },
    Taken { mask: Ready, waker: Option<Waker> },
}

impl KeyedWaiters {
    fn new() -> Self {
        Self { entries: Vec::new(), free: NO_ENTRY, live: 0, armed: 0 }
    }

    /// Adds a waiter for any of these bits and returns its key.
    #[must_use]
    pub(super) fn insert(&mut self, mask: Ready, waker: Waker) -> usize {
        let taken = Entry::Taken { mask, waker: Some(waker) };
        self.live += 1;
        self.armed += 1;
        let key = self.free;
        let Some(entry) = self.entries.get_mut(key) else {
            self.entries.push(taken);
            return self.entries.len() - 1;
        };
        if let Entry::Free { next } = mem::replace(entry, taken) {
            self.free = next;
        }
        key
    }

    /// Whether the waker is in the entry, from which an event may have taken it.
    pub(super) fn holds(&mut self, key: usize, waker: &Waker) -> bool {
        self.stored(key).as_ref().is_some_and(|stored| stored.will_wake(waker))
    }

    /// Puts the waker into an entry. Returns the waker it replaces, to be dropped without the lock.
    #[must_use]
    pub(super) fn rearm(&mut self, key: usize, waker: Waker) -> Option<Waker> {
        let replaced = self.stored(key).replace(waker);
        if replaced.is_none() {
            self.armed += 1;
        }
        replaced
    }

    fn stored(&mut self, key: usize) -> &mut Option<Waker> {
        let Some(Entry::Taken { waker, .. }) = self.entries.get_mut(key) else {
            unreachable!("a keyed waiter's entry was freed before its future");
        };
        waker
    }

    /// Frees the entry. Returns the waker in it, to be dropped without the lock.
    #[must_use]
    pub(super) fn remove(&mut self, key: usize) -> Option<Waker> {
        let freed = mem::replace(&mut self.entries[key], Entry::Free { next: self.free });
        let Entry::Taken { waker, .. } = freed else {
            unreachable!("a keyed waiter left twice");
        };
        self.free = key;
        self.live -= 1;
        self.armed -= usize::from(waker.is_some());
        if self.live == 0 {
            // Events walk the entries, so a crowd of waiters long gone must not lengthen the walk.
            self.entries.clear();
            self.free = NO_ENTRY;
        }
        waker
    }

    /// Moves out the wakers of all futures that wait for one of these bits; the entries stay with the
    /// futures.
    fn take(&mut self, ready: Ready, wakes: &mut Vec<Waker>) {
        if self.armed == 0 {
            return;
        }
        for entry in &mut self.entries {
            if let Entry::Taken { mask, waker } = entry {
                if waker.is_some() && ready.intersects(*mask) {
                    wakes.extend(waker.take());
                    self.armed -= 1;
                }
            }
        }
    }
}
