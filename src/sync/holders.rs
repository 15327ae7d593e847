//! Which tasks hold the locks that other tasks wait for, and receive from the full channels.
//!
//! What is said here of a lock and its holder is true of a channel without room and the task that has last
//! waited for one of its messages, too. But such a holder is never certain, and it does not change while
//! futures wait: a receiver that is given away leaves no trace. Channels have a table of their own, because
//! many are full in a healthy program, and would take the places of locks.
//!
//! A lock notes its holder in itself. Code that looks at a waiting task knows the address of the lock, but
//! may not follow it: the lock may be gone, or moved, when the future that waited for it has been forgotten.
//! So while futures wait for a lock, its address stands in a table with its holder, and that is read. A lock
//! that is not waited for costs the table nothing.
//!
//! Semaphores that tasks wait for have a table, too: in the place of the holder it has how many permits there
//! are, and how many of them were forgotten.
//!
//! Each table has a place for 2,048 locks, channels or semaphores. One that finds none where it looks is not
//! entered, and then its holder is not known.
//!
//! | entry | is written by |
//! |---|---|
//! | `lock` | the first future that waits, and the last to leave, under the lock's own lock |
//! | `holder` | the same, and each task that gets or gives up the lock while the entry is there |
//!
//! An entry never speaks of a holder that has released the lock before: the holder clears the entry before it
//! releases. For some instructions after a task got a lock it may say that the holder is not known, and if
//! the first future comes to wait just then, it says so until the lock has the next holder.

use crate::engine::sync_shim::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::engine::task::TaskId;
use crate::engine::task::waiting::{Note, Wait};
use crate::primitive_kind::PrimitiveKind;

/// How many places a lock looks at for one that is free.
const LOOKS: usize = 8;

const CERTAIN: u64 = 1;

/// A task that holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) task: TaskId,
    /// The guard cannot have left the task: see [`word`].
    pub(crate) is_certain: bool,
}

/// A holder as a number; 0 if none is known. `is_certain` says that the guard borrows the lock, and therefore
/// stays with the task.
#[inline]
pub(crate) fn word(task: Option<TaskId>, is_certain: bool) -> u64 {
    task.map_or(0, |task| task.to_bits() << 1 | u64::from(is_certain))
}

fn holder(word: u64) -> Option<Holder> {
    let task = TaskId::from_bits(word >> 1)?;
    Some(Holder { task, is_certain: word & CERTAIN != 0 })
}

/// How many permits a semaphore has, with those that are out, and how many of them were forgotten and have
/// not been added again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) all: u64,
    pub(crate) forgotten: u64,
}

impl Counted {
    const BITS: u32 = 30;
    /// More are counted as so many.
    pub(super) const MOST: u64 = (1 << Self::BITS) - 1;

    pub(super) fn of_word(word: u64) -> Self {
        Self { all: word & Self::MOST, forgotten: word >> Self::BITS }
    }

    pub(super) fn word(self) -> u64 {
        self.forgotten.min(Self::MOST) << Self::BITS | self.all.min(Self::MOST)
    }
}

struct Entry {
    lock: AtomicUsize,
    holder: AtomicU64,
}

/// The table, or in models and tests a small one.
struct Holders<'a>(&'a [Entry]);

/// A static cannot have the models' atomics, so the locks of other models have no table.
#[cfg(any(liten_loom, liten_shuttle))]
fn table(_: PrimitiveKind) -> Option<Holders<'static>> {
    None
}

/// The table with things of that kind; `None` if they have no holders.
#[cfg(not(any(liten_loom, liten_shuttle)))]
fn table(kind: PrimitiveKind) -> Option<Holders<'static>> {
    /// How many locks there may be that tasks wait for, and how many channels.
    const PLACES: usize = 2048;
    const fn empty() -> Entry {
        Entry { lock: AtomicUsize::new(0), holder: AtomicU64::new(0) }
    }
    static LOCKS: [Entry; PLACES] = [const { empty() }; PLACES];
    static CHANNELS: [Entry; PLACES] = [const { empty() }; PLACES];
    static SEMAPHORES: [Entry; PLACES] = [const { empty() }; PLACES];
    match kind {
        PrimitiveKind::Mutex | PrimitiveKind::RwLock | PrimitiveKind::RwLockWrite => {
            Some(Holders(&LOCKS))
        }
        PrimitiveKind::Sender => Some(Holders(&CHANNELS)),
        PrimitiveKind::Semaphore => Some(Holders(&SEMAPHORES)),
        _ => None,
    }
}

impl Holders<'_> {
    fn places(&self, lock: usize) -> impl Iterator<Item = &Entry> {
        // Addresses differ in the middle bits; the multiplication brings them to the top.
        let hash = (lock as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let places = self.0.len();
        (0..LOOKS.min(places)).map(move |look| &self.0[(hash as usize).wrapping_add(look) % places])
    }

    fn of(&self, lock: usize) -> Option<&Entry> {
        // Ordering: Acquire pairs with the Release in `leave`, which cleared the holder of the lock that had
        // the place before; the exchange in `enter` goes on with that release sequence. So the holder that is
        // read is not one of that lock.
        self.places(lock).find(|entry| entry.lock.load(Ordering::Acquire) == lock)
    }

    /// The first future comes to wait for `lock`, which `holder` holds. The caller has the lock's own lock.
    fn enter(&self, lock: usize, holder: u64) {
        let free = |entry: &&Entry| {
            // Ordering: Acquire pairs with the Release in `leave`, which has cleared the holder before.
            entry.lock.compare_exchange(0, lock, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        // One that a forgotten future has left there is used again.
        if let Some(entry) = self.of(lock).or_else(|| self.places(lock).find(free)) {
            // Ordering: Release pairs with the Acquire in `find`: of a task that is seen here, what it has
            // done before is seen.
            entry.holder.store(holder, Ordering::Release);
        }
    }

    /// `lock` has another holder, or none. The caller has the lock's own lock.
    fn set(&self, lock: usize, holder: u64) {
        if let Some(entry) = self.of(lock) {
            // Ordering: Release pairs with the Acquire in `find`, as that in `enter` does.
            entry.holder.store(holder, Ordering::Release);
        }
    }

    /// No future waits for `lock` any more. The caller has the lock's own lock.
    fn leave(&self, lock: usize) {
        if let Some(entry) = self.of(lock) {
            // Ordering: Relaxed, published by the next store.
            entry.holder.store(0, Ordering::Relaxed);
            // Ordering: Release pairs with the Acquire in `enter`.
            entry.lock.store(0, Ordering::Release);
        }
    }

    /// The word beside `lock`; `None` if it is not in the table.
    fn word(&self, lock: usize) -> Option<u64> {
        let entry = self.of(lock)?;
        // Ordering: Acquire pairs with the Release of the stores.
        let found = entry.holder.load(Ordering::Acquire);
        // Ordering: Relaxed, after the Acquire: if that has read the holder of a lock that has got the place
        // meanwhile, this reads that lock.
        (entry.lock.load(Ordering::Relaxed) == lock).then_some(found)
    }

    fn find(&self, lock: usize) -> Option<Holder> {
        holder(self.word(lock)?)
    }
}

/// See [`Holders::enter`].
#[cold]
pub(crate) fn enter<T>(kind: PrimitiveKind, lock: *const T, holder: u64) {
    if let Some(table) = table(kind) {
        table.enter(lock.addr(), holder);
    }
}

/// See [`Holders::set`].
#[cold]
pub(crate) fn set<T>(kind: PrimitiveKind, lock: *const T, holder: u64) {
    if let Some(table) = table(kind) {
        table.set(lock.addr(), holder);
    }
}

/// See [`Holders::leave`].
#[cold]
pub(crate) fn leave<T>(kind: PrimitiveKind, lock: *const T) {
    if let Some(table) = table(kind) {
        table.leave(lock.addr());
    }
}

/// The task that holds the lock of which `note` says that a task waits for it, or receives from the channel,
/// if that is known.
pub(crate) fn find(note: Note) -> Option<Holder> {
    match note.wait()? {
        Wait::Join | Wait::Primitive(PrimitiveKind::Semaphore) => None,
        Wait::Primitive(kind) => table(kind)?.find(note.address()),
    }
}

/// The permits of the semaphore of which `note` says that a task waits for it.
pub(crate) fn counted(note: Note) -> Option<Counted> {
    let is_semaphore = note.wait()? == Wait::Primitive(PrimitiveKind::Semaphore);
    table(PrimitiveKind::Semaphore)
        .filter(|_| is_semaphore)?
        .word(note.address())
        .map(Counted::of_word)
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::{AtomicU64, AtomicUsize, Entry, Holder, Holders, word};
    use crate::engine::task::TaskId;

    #[test]
    fn a_lock_is_found_while_it_is_waited_for() {
        let empty = || Entry { lock: AtomicUsize::new(0), holder: AtomicU64::new(0) };
        let entries: [Entry; 16] = std::array::from_fn(|_| empty());
        let holders = Holders(&entries);
        let task = TaskId::next();
        let (lock, other) = (0x1000, 0x2000);
        let found = |is_certain| Some(Holder { task, is_certain });
        assert_eq!(holders.find(lock), None);
        holders.set(lock, word(Some(task), true));
        assert_eq!(holders.find(lock), None, "not entered");
        holders.enter(lock, word(Some(task), true));
        holders.enter(other, word(Some(task), false));
        assert_eq!((holders.find(lock), holders.find(other)), (found(true), found(false)));
        holders.set(lock, word(None, true));
        assert_eq!(holders.find(lock), None, "nothing is known of it");
        holders.leave(lock);
        holders.leave(lock);
        assert_eq!((holders.find(lock), holders.find(other)), (None, found(false)));
        for lock in 1..100 {
            holders.enter(lock, word(Some(task), true));
        }
        let there = (1..100).filter(|&lock| holders.find(lock).is_some()).count();
        assert!((8..=15).contains(&there), "the others have found no place: {there}");
    }
}
