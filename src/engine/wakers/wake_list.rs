//! Wakers that were collected under a lock, to be called after the lock was released.

use super::guard;
use std::task::Waker;

/// How many fit. A larger number of futures is woken in rounds of this size. So the lock is held for a short
/// time in each round, and the wakers need no memory but the caller's stack.
const ROOM: usize = 32;

/// A list of up to [`ROOM`] wakers.
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
