//! The task that a thread is running at the moment, for other threads to read.
//!
//! A worker that is held up by a long poll cannot say so itself. So it notes, before each poll, which task
//! comes, in a few words that others may read at any time. The note is a seqlock whose version is the count
//! of polls: the writer counts first and writes then; a reader that finds the same count before and after
//! has read words of one poll. A store each, no RMW: it is written once per poll.
#![allow(unsafe_code)]

#[cfg(all(test, liten_loom))]
mod loom;

use super::id::TaskId;
use crate::engine::sync_shim::atomic::{AtomicPtr, AtomicU64, Ordering};
use crate::short::{Place, short};
use std::fmt;
use std::panic::Location;
use std::ptr;

/// A task, or blocking work, that a thread was running at the time of the look.
///
/// It may have ended since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RunningTask {
    id: TaskId,
    spawned_at: &'static Location<'static>,
}

impl RunningTask {
    pub(crate) fn new(id: TaskId, spawned_at: &'static Location<'static>) -> Self {
        Self { id, spawned_at }
    }

    /// Returns the task's id, which is also its [`JoinHandle`](super::JoinHandle)'s.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Returns the place in the source from which the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }
}

impl fmt::Display for RunningTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NamedTask(*self, None).fmt(f)
    }
}

/// A task, to be shown with its name if that is known.
pub(crate) struct NamedTask<'a>(pub(crate) RunningTask, pub(crate) Option<&'a str>);

impl fmt::Display for NamedTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(RunningTask { id, spawned_at }, name) = self;
        write!(f, "task {id}")?;
        if let Some(name) = name {
            write!(f, " {:?}", short(name))?;
        }
        write!(f, ", spawned at {}", Place(spawned_at))
    }
}

/// The note of one thread.
#[derive(Debug)]
pub(crate) struct Running {
    polls: AtomicU64,
    /// 0: between two polls.
    id: AtomicU64,
    spawned_at: AtomicLocation,
}

impl Running {
    pub(crate) fn new() -> Self {
        Self { polls: AtomicU64::new(0), id: AtomicU64::new(0), spawned_at: AtomicLocation::new() }
    }

    /// A poll of `task` begins. For the owner of the note only.
    #[inline]
    pub(crate) fn begin(&self, RunningTask { id, spawned_at }: RunningTask) {
        // Ordering: Relaxed for the own count. Release for the three stores: a reader that has seen one of
        // them sees those before it.
        self.polls.store(self.polls.load(Ordering::Relaxed) + 1, Ordering::Release);
        self.spawned_at.store(Some(spawned_at), Ordering::Release);
        self.id.store(id.to_bits(), Ordering::Release);
    }

    /// The poll is over. For the owner of the note only.
    #[inline]
    pub(crate) fn end(&self) {
        // Ordering: Release pairs with `is_between_polls`.
        self.id.store(0, Ordering::Release);
    }

    /// Whether the owner is between two polls. To a thread that has seen something of a poll, that poll is
    /// over then, with all that its owner has done in it.
    pub(crate) fn is_between_polls(&self) -> bool {
        // Ordering: Acquire pairs with `end`.
        self.id.load(Ordering::Acquire) == 0
    }

    /// How many polls have begun.
    pub(crate) fn polls(&self) -> u64 {
        // Ordering: Acquire, see `begin`.
        self.polls.load(Ordering::Acquire)
    }

    /// Returns the task that runs now; `None` between two polls, and if the owner is too quick for the
    /// reader: then it is not held up.
    pub(crate) fn read(&self) -> Option<RunningTask> {
        // Ordering: Acquire pairs with the stores of `begin`: if the id is of a later poll than the count,
        // the second look at the count, which comes after, shows it. If the id is not of an earlier poll,
        // neither is the place. And the id of an earlier poll was cleared before this count.
        let before = self.polls();
        let id = self.id.load(Ordering::Acquire);
        let spawned_at = self.spawned_at.load(Ordering::Acquire);
        // Ordering: Relaxed, kept behind by the two above.
        let after = self.polls.load(Ordering::Relaxed);
        let id = TaskId::from_bits(id)?;
        let spawned_at = spawned_at?;
        (before == after).then_some(RunningTask { id, spawned_at })
    }
}

/// A place in the source, or none.
#[derive(Debug)]
pub(crate) struct AtomicLocation(AtomicPtr<Location<'static>>);

impl AtomicLocation {
    /// Returns one without a place.
    pub(crate) fn new() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    pub(crate) fn store(&self, place: Option<&'static Location<'static>>, ordering: Ordering) {
        self.0.store(place.map_or(ptr::null(), ptr::from_ref).cast_mut(), ordering);
    }

    #[inline]
    pub(crate) fn load(&self, ordering: Ordering) -> Option<&'static Location<'static>> {
        // SAFETY: null, or what `store` has taken from a `&'static Location`.
        unsafe { self.0.load(ordering).as_ref() }
    }
}
