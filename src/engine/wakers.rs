//! Keeping, calling and dropping wakers that other code has made.
//!
//! | part | what it keeps | used by |
//! |---|---|---|
//! | [`WaitList`] | waiting futures, with places in them; a future can leave | see there |
//! | [`Line`] | wakers without a future, for `poll_` functions; no waker can leave | sources |
//! | [`WakeList`] | wakers taken out under a lock, until they are called without it | `WaitList` |
//! | [`Signal`] | futures that wait for a flag, in a `WaitList` | cancellation, a runtime's end |
//!
//! Two other things keep many wakers, each at a place of its own: a timer in its wheel, and a pollable of
//! WASI beside its entry in the poller. What only one future at a time waits for keeps a single waker: a task
//! for its `JoinHandle`, a oneshot channel, the receiving half of an mpsc channel. Standard input keeps its
//! wakers by itself, because a forked child must forget those of its parent.
//!
//! A waker is user code, so it may panic. Such a panic must neither reach the thread that calls the waker nor
//! keep other wakers from being called.

mod line;
mod signal;
mod wait_list;

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
pub(crate) use self::line::LINE_STEP;
pub(crate) use self::line::Line;
pub(crate) use self::signal::Signal;
pub(crate) use self::wait_list::{Locked, Place, WaitList, is_before};

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// How many places a vector keeps that is used again and again: more than one round brings, unless very many
/// tasks wait for the same moment.
const MOST_PLACES: usize = 1024;

/// Wakes all of `wakers`, in order. The vector is empty then, and keeps its memory if that is not much.
pub(crate) fn wake_all(wakers: &mut Vec<Waker>) {
    for waker in wakers.drain(..) {
        guard(|| waker.wake());
    }
    wakers.shrink_to(MOST_PLACES);
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

#[cfg(all(test, liten_loom))]
pub(crate) mod loom;
#[cfg(all(test, not(liten_shuttle)))]
pub(crate) mod tests;
