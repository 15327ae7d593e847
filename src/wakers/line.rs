//! A line of tasks that wait for the same thing.
//!
//! No lock in here and no waker is cloned, called or dropped: what is left here comes as a clone, and what
//! has to be woken or dropped is handed out, because all three may run a task's own code.

use std::task::Waker;

/// A line this long is swept; see [`Line::join`].
pub(crate) const LINE_STEP: usize = 32;

/// Wakers without a key. The first one lies inline: one task per direction is the rule, and an idle
/// connection then costs no allocation for its waiter.
pub(crate) struct Line {
    first: Option<Waker>,
    rest: Vec<Waker>,
    limit: usize,
}

impl Line {
    pub(crate) fn new() -> Self {
        Self { first: None, rest: Vec::new(), limit: LINE_STEP }
    }

    /// Whether the waker's task stands in the line.
    pub(crate) fn holds(&self, waker: &Waker) -> bool {
        self.first.iter().chain(&self.rest).any(|other| other.will_wake(waker))
    }

    /// Adds a waker that the line does not hold. The caller asks first, then leaves its lock to make the
    /// clone, and asks once more: to clone before the first question would cost every repeated poll a clone
    /// that is thrown away.
    ///
    /// No task can leave the line when it has lost interest, so a source that never gets an event
    /// would collect the wakers of tasks long gone. A line at its limit is therefore swept: all in
    /// it move into `swept`, to be woken, and queue again if they still care. The limit grows with
    /// each sweep, since they may all care: under a fixed one, a larger crowd would wake each other
    /// in turn for ever.
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
        // As many may come back, and should then find room.
        self.limit = LINE_STEP.max(2 * self.len());
        wakes.extend(self.first.take());
        wakes.append(&mut self.rest);
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    /// Places beside the one that is inline, used or not.
    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    pub(crate) fn capacity(&self) -> usize {
        self.rest.capacity()
    }
}
