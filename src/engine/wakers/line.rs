//! A line of tasks that wait for the same thing.
//!
//! The line has no lock of its own; its owner keeps it under one. Cloning, calling and dropping a waker may
//! run user code, so nothing in here does any of these: the caller brings a clone, and gets back the wakers
//! that have to be called or dropped.
//!
//! Rejected: a [`WaitList`](super::WaitList). A function that polls has no memory for a place, so the source
//! would own the places. The ends of a chain, one place inline and a vector of boxed ones are 88 bytes for
//! each of the two directions of a socket, and a line is 48.

use std::task::Waker;

/// The length at which a line is swept for the first time; see [`Line::join`].
pub(crate) const LINE_STEP: usize = 32;

/// Wakers in the order in which they came. The first one is kept inline: mostly one task waits per direction,
/// and an idle connection then costs no allocation for its waker.
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
        self.iter().any(|other| other.will_wake(waker))
    }

    /// Adds a waker that the line does not hold. The caller calls [`holds`](Self::holds) first, then releases
    /// its lock to make the clone, and calls `holds` again under the lock. To clone at once would cost every
    /// repeated poll a clone that is thrown away.
    ///
    /// No task can leave the line when it does not wait any more, so a source that never gets an event would
    /// collect the wakers of tasks that have long ended. A line at its limit is therefore swept: all wakers
    /// move into `swept`, to be woken, and the tasks that still wait join again. The limit grows with each
    /// sweep, because all of them may still wait. With a fixed limit, more tasks than that would sweep each
    /// other out of the line for ever.
    pub(crate) fn join(&mut self, waker: Waker, swept: &mut Vec<Waker>) {
        let len = self.len();
        if len >= self.limit {
            self.take(swept);
            self.limit = len + LINE_STEP;
        }
        if self.first.is_none() {
            self.first = Some(waker);
        } else {
            self.rest.push(waker);
        }
    }

    /// Moves all wakers out, in the order in which they came.
    pub(crate) fn take(&mut self, wakes: &mut Vec<Waker>) {
        // As many tasks may join again, and must not be swept at once.
        self.limit = LINE_STEP.max(2 * self.len());
        wakes.extend(self.first.take());
        wakes.append(&mut self.rest);
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
