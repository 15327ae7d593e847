//! The cold registry: which tasks wait, so that shutdown can find and drop them.
//!
//! One per worker, so that its lock is not contended. A task enters the registry of the worker that
//! first saw it go cold and stays there until it completes, wherever it runs later; a task that never
//! waits never enters one. (tokio takes a lock on each spawn and each completion for the same purpose.)
//! Against the close: models `a_task_that_goes_cold_during_the_close_is_aborted`,
//! `a_task_that_completes_during_the_close_ends_once`.
#![allow(unsafe_code)]

use super::current::RunningTask;
use super::header::{Cold, Header, Hot};
use super::origin::TaskId;
use super::state::Mark;
use super::waiting::Note;
use crate::engine::slab::Slab;
use crate::engine::sync_shim::Mutex;
use std::ptr::NonNull;

/// How many tasks [`Registry::list`] looks at under the lock at most, so that a worker which wants the
/// lock never waits for long. `cargo bench --bench insight`, a million waiting tasks: of the thread's time,
/// half of the calls took up to 1.8 µs, and 99 of 100 up to 7 µs; with 64 tasks each, up to 3 µs and 20 to
/// 31 µs. The whole walk takes as long with 32 as with 64.
const LISTED_AT_ONCE: usize = 32;

/// How many entries, with and without a task, it passes over under the lock at most; so many in a step.
const FREE_AT_ONCE: usize = 2048;
const STEP: usize = 8;

/// How many entries [`Registry::trace`] looks at under the lock at most. To compare an id takes less time
/// than to describe a task.
const TRACED_AT_ONCE: usize = 256;

#[derive(Debug)]
pub(crate) struct Registry {
    entries: Mutex<Entries>,
}

#[derive(Debug)]
struct Entries {
    tasks: Slab<Cold>,
    /// Set by shutdown: a task that enters afterwards is aborted on the way in.
    closed: bool,
}

impl Registry {
    pub(crate) fn new() -> Self {
        Self { entries: Mutex::new(Entries { tasks: Slab::new(), closed: false }) }
    }

    /// Enters a task that its runner still owns; returns its place.
    pub(crate) fn insert(&self, task: Cold) -> u32 {
        let mut entries = self.entries.lock();
        if entries.closed {
            // SAFETY: the runner owns the task's `Hot`, so it is not complete. The task is SCHEDULED:
            // this only sets the bit that the runner sees when the poll is over.
            let hot = unsafe { task.cancel() };
            debug_assert!(hot.is_none());
        }
        entries.tasks.insert(task).index()
    }

    /// Takes out a task that its runner still owns.
    pub(crate) fn remove(&self, index: u32) {
        self.entries.lock().tasks.remove_at(index);
    }

    /// Aborts every task, those that enter later included. Returns the ones that were cold: the caller
    /// runs them. A second call does nothing.
    pub(crate) fn close(&self) -> Vec<Hot> {
        let mut entries = self.entries.lock();
        if std::mem::replace(&mut entries.closed, true) {
            // The thread that holds the `Hot` of one that was not cold then finds it aborted.
            return Vec::new();
        }
        // SAFETY: an entry is taken out, under this lock, before its task completes: each is registered
        // during the call.
        entries.tasks.iter().filter_map(|task| unsafe { task.cancel() }).collect()
    }

    /// Puts the tasks from entry `from` on into `list`, [`LISTED_AT_ONCE`] of them at most. Returns where
    /// to go on, or `None` at the end. `marks`: the walk is the one that
    /// [`State::mark`](super::state::State::mark) speaks of.
    ///
    /// A task that is registered from the first call to the last is seen once, because it does not move. One
    /// that comes or goes in between may be seen or not.
    pub(crate) fn list(
        &self,
        from: usize,
        marks: bool,
        list: &mut Vec<ListEntry>,
    ) -> Option<usize> {
        // Before the lock, or other threads would wait for the allocator.
        list.reserve(LISTED_AT_ONCE);
        let entries = self.entries.lock();
        let (most, mut next) = (list.len() + LISTED_AT_ONCE, from);
        while list.len() + STEP <= most && next - from < FREE_AT_ONCE {
            // SAFETY: the task is registered, and stays so under this lock. So it is not complete, and its
            // live reference keeps the header alive.
            let each = |task: &Cold| list.push(unsafe { ListEntry::of(task.0, marks) });
            next = entries.tasks.list(next, STEP, each)?;
        }
        Some(next)
    }

    /// Asks the tasks of which `wanted` says so for a traced poll; sees those that [`Registry::list`] sees.
    pub(crate) fn trace(&self, wanted: &mut impl FnMut(TaskId) -> bool) {
        let (mut from, mut hot) = (0, Vec::new());
        loop {
            // Before the lock, as in `list`.
            hot.reserve(TRACED_AT_ONCE);
            let entries = self.entries.lock();
            // SAFETY: the task is registered, and stays so under this lock.
            let each = |task: &Cold| hot.extend(unsafe { task.trace(wanted) });
            let next = entries.tasks.list(from, TRACED_AT_ONCE, each);
            // The scheduler may want the lock, to run or cancel them.
            drop(entries);
            hot.drain(..).for_each(Hot::schedule);
            match next {
                Some(next) => from = next,
                None => return,
            }
        }
    }

    /// How many tasks are registered: those that have been cold once and are not complete.
    pub(crate) fn len(&self) -> usize {
        self.entries.lock().tasks.len()
    }
}

/// A live task, as the list of them shows it.
#[derive(Debug, Clone)]
pub(crate) struct ListEntry {
    pub(crate) task: RunningTask,
    pub(crate) name: Option<std::sync::Arc<str>>,
    /// The name of the future's type.
    pub(crate) type_name: &'static str,
    /// The future's size in bytes.
    pub(crate) future_size: usize,
    /// How many wakers of it there are, with the AbortHandles, if it is cold. `None`: it is in a queue, or
    /// running. If there are none it is stuck: see [`State::cold_wakers`](super::state::State::cold_wakers).
    pub(crate) wakers: Option<usize>,
    /// The note of what it waits for, if it is cold and has left one.
    pub(crate) note: Option<Note>,
    /// Whether it is cold, and has been all the time since an earlier walk that marks has met it.
    pub(crate) mark: Mark,
    /// Whether its only waker lies where the note says, for as long as the task is cold.
    pub(crate) is_note_reliable: bool,
}

impl ListEntry {
    /// `marks`: see [`State::mark`](super::state::State::mark).
    ///
    /// # Safety
    ///
    /// `header` heads a live task.
    unsafe fn of(header: NonNull<Header>, marks: bool) -> Self {
        // SAFETY: the caller's promise; the fields that are read here are atomic, or never change.
        let Header { link, state, vtable, id, spawned_at, .. } = unsafe { header.as_ref() };
        let wakers = state.cold_wakers();
        let mut note = link.note().map(Note);
        let mark = if marks { state.mark() } else { state.seen() };
        // The order of the looks makes the proof: see `insight::deadlocks`. The note comes last, because
        // code that takes the waker away forgets the note before.
        let is_note_reliable = match note {
            Some(seen) if wakers == Some(1) && seen.is_reliable() => {
                note = link.note().map(Note);
                note.is_some_and(Note::is_reliable) && mark != Mark::Hot
            }
            _ => false,
        };
        Self {
            task: RunningTask::new(*id, spawned_at),
            // SAFETY: the table is that of this header.
            name: unsafe { (vtable.name)(header) },
            type_name: (vtable.type_name)(),
            future_size: vtable.future_size,
            wakers,
            note: note.filter(|_| wakers.is_some()),
            mark,
            is_note_reliable,
        }
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
