//! What waits for a source: futures, each for some bits, and beside them two lines of wakers.
//!
//! Nothing in here clones, calls or drops a waker under the lock. The vectors keep their capacity, so that a
//! source in use allocates nothing.

use std::ops::ControlFlow;
use std::task::Waker;

use super::ready::{Direction, Ready};
use crate::engine::wakers::{Line, Locked, WaitList};

/// The futures' words are the bits that they wait for.
pub(super) type Waiters = WaitList<Lines>;

/// The tasks that wait by a function that polls.
pub(super) struct Lines {
    readers: Line,
    writers: Line,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self { readers: Line::new(), writers: Line::new() }
    }

    pub(super) fn of(&mut self, direction: Direction) -> &mut Line {
        match direction {
            Direction::Read => &mut self.readers,
            Direction::Write => &mut self.writers,
        }
    }

    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    pub(super) fn len(&self) -> usize {
        self.readers.len() + self.writers.len()
    }

    /// Entries of both vectors, used or not.
    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    pub(super) fn capacity(&self) -> usize {
        self.readers.capacity() + self.writers.capacity()
    }
}

/// Calls `each` with up to `most` wakers, and the bits that they wait for.
pub(super) fn each(
    waiters: &mut Locked<'_, Lines>,
    most: usize,
    mut each: impl FnMut(&Waker, Ready),
) {
    let mut left = most;
    for direction in [Direction::Read, Direction::Write] {
        for waker in waiters.of(direction).iter().take(left) {
            left -= 1;
            each(waker, direction.mask());
        }
    }
    waiters.each(|word, waker| {
        if left == 0 {
            return ControlFlow::Break(());
        }
        left -= 1;
        each(waker, Ready::from_state(word as u64));
        ControlFlow::Continue(())
    });
}

/// Moves out all wakers that these bits concern.
pub(super) fn take(mut waiters: Locked<'_, Lines>, ready: Ready, wakes: &mut Vec<Waker>) {
    if ready.intersects(Direction::Read.mask()) {
        waiters.of(Direction::Read).take(wakes);
    }
    if ready.intersects(Direction::Write.mask()) {
        waiters.of(Direction::Write).take(wakes);
    }
    waiters.take_matching(wakes, |word| ready.intersects(Ready::from_state(word as u64)));
}
