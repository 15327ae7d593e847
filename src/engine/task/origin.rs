//! The identity of a task: its id, the place of its spawn, and its name if it was given one.
//!
//! A task without a name has no memory for one: the type of the name is a part of the type of the task's
//! cell, and that of no name takes no bytes. Rejected: a field of the header, which every task would pay for;
//! and a table of names by id, which would cost a lock at the start and at the end of a named task.
//!
//! An id is unique in the process, and cheap to make: each thread takes a range of ids at a time, so that a
//! spawn costs an addition and not a contended RMW on a line that every core writes. Ids are therefore unique
//! but not ordered by time of spawn.

use crate::engine::sync_shim::thread_local;
use crate::engine::tokio_note::TASK_ID;
use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The place and the name that the caller of a spawn gives to the task.
pub trait Origin {
    /// The type of the name, as the task keeps it.
    type Name: Name;

    /// The type that the program has spawned, if the task polls an `F`: the lists of tasks show its name and
    /// its size.
    type Future<F>;

    /// Returns the place of the spawn, and the name.
    fn into_parts(self) -> (&'static Location<'static>, Self::Name);
}

/// The name of a task, as it lies in the task's memory. Its destructor calls no user code.
pub trait Name: Send + Sync + 'static {
    /// Returns the name, if the task was given one.
    fn get(&self) -> Option<Arc<str>>;
}

/// A task without a name.
impl Origin for &'static Location<'static> {
    type Name = ();
    type Future<F> = F;

    #[inline]
    fn into_parts(self) -> (&'static Location<'static>, ()) {
        (self, ())
    }
}

impl Name for () {
    fn get(&self) -> Option<Arc<str>> {
        None
    }
}

/// How many ids a thread takes at once. 2^64 / 1024 ranges last for centuries of thread creation.
const RANGE: u64 = 1024;

static NEXT_RANGE: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The next id of this thread's range and the end of the range.
    static IDS: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Identifies a task among all tasks of the process, finished ones included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(NonZeroU64);

impl TaskId {
    /// An id that no other task has.
    #[inline]
    pub(crate) fn next() -> Self {
        IDS.with(|ids| {
            let (mut next, mut end) = ids.get();
            if next == end {
                // Ordering: Relaxed, only the uniqueness of the RMW's result counts.
                next = NEXT_RANGE.fetch_add(RANGE, Ordering::Relaxed);
                end = next + RANGE;
            }
            ids.set((next + 1, end));
            Self(NonZeroU64::new(next).expect("ranges begin at 1"))
        })
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The id that [`TaskId::to_bits`] gave, or that is shown as this number. `None` for 0, which no id is.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        NonZeroU64::new(bits).map(Self)
    }
}

/// The number that [`Display`](fmt::Display) writes.
impl From<TaskId> for u64 {
    fn from(id: TaskId) -> Self {
        id.0.get()
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{TASK_ID}({})", self.0)
    }
}

#[cfg(all(test, not(liten_shuttle)))]
mod tests {
    use super::{RANGE, TaskId};
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_across_threads_and_ranges() {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                std::thread::spawn(|| (0..3 * RANGE).map(|_| TaskId::next()).collect::<Vec<_>>())
            })
            .collect();
        let all: Vec<_> = threads.into_iter().flat_map(|t| t.join().expect("no panic")).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
    }
}
