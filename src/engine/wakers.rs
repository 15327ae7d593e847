//! Keeping, calling and dropping wakers that other code has made.
//!
//! | part | what it keeps | used by |
//! |---|---|---|
//! | [`WaitList`] | waiting futures, with places in them; a future can leave | see there |
//! | [`Line`] | wakers without a future, for `poll_` functions; no waker can leave | sources |
//! | [`WakeList`] | wakers taken out under a lock, until they are called without it | `WaitList` |
//!
//! Two other things keep many wakers, each at a place of its own: a timer in its wheel, and a pollable of
//! WASI beside its entry in the poller. What only one future at a time waits for keeps a single waker: a task
//! for its `JoinHandle`, a oneshot channel, the receiving half of an mpsc channel. Standard input keeps its
//! wakers by itself, because a forked child must forget those of its parent.
//!
//! A waker is user code, so it may panic. Such a panic must neither reach the thread that calls the waker nor
//! keep other wakers from being called.

mod wait_list;

pub(crate) use self::wait_list::{Locked, Place, WaitList, is_before};

use std::any::Any;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// How many places a vector keeps that is used again and again: more than one round brings, unless very many
/// tasks wait for the same moment.
const MOST_PLACES: usize = 1024;

/// Wakes all of `wakers`, in order. The vector is empty then, and keeps its memory if that is not much.
pub(crate) fn wake_all(wakers: &mut Vec<Waker>) {
    let mut left = wakers.drain(..);
    while !left.as_slice().is_empty() {
        // One guard for all that do not panic.
        guard(|| {
            for waker in left.by_ref() {
                waker.wake();
            }
        });
    }
    drop(left);
    wakers.shrink_to(MOST_PLACES);
}

/// Wakes those of `wakers` that are wanted, in order, and leaves the others in the vector.
pub(crate) fn wake_some(wakers: &mut Vec<Waker>, is_wanted: impl Fn(&Waker) -> bool) {
    wakers.retain_mut(|waker| {
        let is_wanted = is_wanted(waker);
        if is_wanted {
            // By value: a task's wake then releases its reference in the same RMW.
            let waker = std::mem::replace(waker, Waker::noop().clone());
            guard(|| waker.wake());
        }
        !is_wanted
    });
}

/// Drops `wakers`. A panic of a destructor does not reach the caller, because the wakers are not the caller's
/// own.
#[inline]
pub(crate) fn drop_all(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        guard(|| drop(waker));
    }
}

/// Runs user code whose panic must not reach the caller.
pub(crate) fn guard(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        discard(payload);
    }
}

/// Drops the payload of a panic. Its destructor may panic as well. That second payload is leaked, because its
/// destructor might panic, too, and so on for ever.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}

/// How many wakers fit into a [`WakeList`]. A larger number of futures is woken in rounds of this size. So
/// the lock is held for a short time in each round, and the wakers need no memory but the caller's stack.
const ROOM: usize = 32;

/// Up to [`ROOM`] wakers that were collected under a lock, to be called after the lock was released.
pub(crate) struct WakeList {
    wakers: [Option<Waker>; ROOM],
    len: usize,
}

impl WakeList {
    pub(crate) const fn new() -> Self {
        Self { wakers: [const { None }; ROOM], len: 0 }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == ROOM
    }

    /// Adds a waker, if there is one.
    ///
    /// # Panics
    ///
    /// If it is full.
    pub(crate) fn push(&mut self, waker: Option<Waker>) {
        if waker.is_some() {
            self.wakers[self.len] = waker;
            self.len += 1;
        }
    }

    /// Calls all wakers, in order. The list is empty then.
    pub(crate) fn wake(&mut self) {
        let len = std::mem::take(&mut self.len);
        for waker in self.wakers[..len].iter_mut().filter_map(Option::take) {
            guard(|| waker.wake());
        }
    }
}

/// The length at which a line is swept for the first time; see [`Line::join`].
pub(crate) const LINE_STEP: usize = 32;

/// Wakers of tasks that wait for the same thing, in the order in which they came. The first one is kept
/// inline: mostly one task waits per direction, and an idle connection then costs no allocation for its
/// waker.
///
/// If there is no first one, there are no others either.
///
/// The line has no lock of its own; its owner keeps it under one. Cloning, calling and dropping a waker may
/// run user code, so nothing in here does any of these: the caller brings a clone, and gets back the wakers
/// that have to be called or dropped.
///
/// Rejected: a [`WaitList`]. A function that polls has no memory for a place, so the source would own the
/// places. The ends of a chain, one place inline and a vector of boxed ones are 88 bytes for each of the two
/// directions of a socket, and a line is 48.
pub(crate) struct Line {
    first: Option<Waker>,
    rest: Vec<Waker>,
    limit: usize,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { first: None, rest: Vec::new(), limit: LINE_STEP }
    }

    /// Whether the line has a waker of the same task.
    pub(crate) fn holds(&self, waker: &Waker) -> bool {
        // No adapters of iterators, here and below: a task is here before each wait for a source, and in a
        // debug build each of them is a call.
        if self.first.as_ref().is_some_and(|first| first.will_wake(waker)) {
            return true;
        }
        for other in &self.rest {
            if other.will_wake(waker) {
                return true;
            }
        }
        false
    }

    /// Adds a waker that the line does not hold. The caller calls [`holds`](Self::holds) first, then releases
    /// its lock to make the clone, and calls `holds` again under the lock. To clone at once would cost every
    /// repeated poll a clone that is thrown away.
    ///
    /// No task can leave the line when it does not wait any more, so a source that never gets an event would
    /// collect the wakers of tasks that have long ended. A line at its limit is therefore swept: all wakers
    /// are returned, to be woken, and the tasks that still wait join again. The limit grows with each sweep,
    /// because all of them may still wait. With a fixed limit, more tasks than that would sweep each other
    /// out of the line for ever.
    pub(crate) fn join(&mut self, waker: Waker) -> Option<Self> {
        let len = self.len();
        let swept = (len >= self.limit).then(|| self.split_off(len + LINE_STEP));
        if self.first.is_none() {
            self.first = Some(waker);
        } else {
            self.rest.push(waker);
        }
        swept
    }

    /// Moves all wakers into `wakes`, if there is room. Otherwise returns them as a line of its own, whose
    /// wakers the caller moves without its lock: `wakes` has to grow for them.
    pub(crate) fn take(&mut self, wakes: &mut Vec<Waker>) -> Option<Self> {
        if self.first.is_none() {
            self.limit = LINE_STEP;
            return None;
        }
        // As many tasks may join again, and must not be swept at once.
        let (len, limit) = (self.len(), LINE_STEP.max(2 * self.len()));
        if len > wakes.capacity() - wakes.len() {
            return Some(self.split_off(limit));
        }
        self.limit = limit;
        self.move_into(wakes);
        None
    }

    /// Moves all wakers out, in the order in which they came.
    pub(crate) fn move_into(&mut self, wakes: &mut Vec<Waker>) {
        if let Some(first) = self.first.take() {
            wakes.push(first);
            wakes.append(&mut self.rest);
        }
    }

    /// Calls all wakers. One that panics keeps no other from being called, and the panic goes no further.
    pub(crate) fn wake(mut self) {
        let mut wakes = Vec::new();
        self.move_into(&mut wakes);
        wake_all(&mut wakes);
    }

    fn split_off(&mut self, limit: usize) -> Self {
        mem::replace(self, Self { limit, ..Self::new() })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waker> {
        self.first.iter().chain(&self.rest)
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// For how many wakers there is memory beside the one that is inline.
    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    pub(crate) fn capacity(&self) -> usize {
        self.rest.capacity()
    }
}

#[cfg(all(test, liten_loom))]
pub(crate) mod loom;
#[cfg(all(test, not(liten_shuttle)))]
pub(crate) mod tests;
