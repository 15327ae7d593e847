//! Which of a worker's own queues is next: the next slot, the tasks that are ready, or those that have
//! yielded. Pure: it is told what happened, and reads no queue.

use super::intake::INTAKE;
use std::cell::Cell;

/// How many tasks in a row may come from the next slot (tokio: 3). More favours pairs that wake each
/// other over all others.
pub(super) const NEXT_CAP: u32 = 3;

/// How many tasks that have yielded run, with no other task ready, before the driver is polled. A task that
/// yields until an event has come then finds the event after a few yields, and not after those of 200 µs.
///
/// At most once in a row of yields: the poll is a call to the system, which a task that yields for long pays
/// as often as `pace` says. A pop of the ready deque, and a park, begin a new row; a task from the next slot
/// does not. tokio polls its driver at each of these yields.
pub(super) const YIELDS_ALONE: usize = 4;

/// The state in which such a row begins.
const ROW: usize = INTAKE + YIELDS_ALONE;

/// What to do before a task that has yielded runs, when no task is ready.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Alone {
    /// Nothing.
    Run,
    /// A poll of the driver, after which something may be ready.
    PollDriver,
}

#[derive(Debug)]
pub(super) struct NextQueue {
    /// Polls in a row that came from the next slot.
    next_polls: Cell<u32>,
    /// One number with three meanings, because each tick with a task reads it:
    ///
    /// | number | meaning |
    /// |---|---|
    /// | below [`INTAKE`] | pops of ready tasks until one that has yielded runs in spite of them |
    /// | `INTAKE` | in a row of yields, the driver has been polled; or a ready task is popped next |
    /// | above | pops of tasks that have yielded until the driver is polled, plus `INTAKE` |
    until_yielded: Cell<usize>,
}

impl NextQueue {
    pub(super) fn new() -> Self {
        Self { next_polls: Cell::new(0), until_yielded: Cell::new(ROW) }
    }

    /// The worker is about to park: a row of yields begins anew after that.
    pub(super) fn reset(&self) {
        self.until_yielded.set(ROW);
    }

    /// Whether the task from the next slot may run at once, and counts it: at most [`NEXT_CAP`] run in a row.
    #[inline]
    pub(super) fn take_next_turn(&self) -> bool {
        let polls = self.next_polls.get();
        if polls < NEXT_CAP {
            self.next_polls.set(polls + 1);
        }
        polls < NEXT_CAP
    }

    /// The next task comes from another queue.
    #[inline]
    pub(super) fn leave_next_slot(&self) {
        self.next_polls.set(0);
    }

    /// Counts a pop of the ready deque. `true`: a task that has yielded runs before that.
    #[inline]
    pub(super) fn is_yielded_due(&self) -> bool {
        let until_yielded = self.until_yielded.get();
        if until_yielded != 0 {
            self.until_yielded.set(until_yielded.min(INTAKE) - 1);
        }
        until_yielded == 0
    }

    /// A task that has yielded runs in spite of ready ones, with `waiting` of its kind. All of them
    /// will have had one when [`INTAKE`] ready tasks have run, or as many ready tasks as there are of them.
    pub(super) fn begin_yielded_turn(&self, waiting: usize) {
        self.until_yielded.set((INTAKE / waiting.max(1)).max(1));
    }

    /// Whether tasks that have yielded run without a poll of the driver, because it was polled in this row.
    #[inline]
    pub(super) fn is_row_over(&self) -> bool {
        self.until_yielded.get() == INTAKE
    }

    /// A task that has yielded is to run, and no other is ready.
    pub(super) fn yielded_alone(&self) -> Alone {
        let state = self.until_yielded.get();
        // Up to `INTAKE`, the ready deque has been looked at since the last one.
        let next = if state > INTAKE { state } else { ROW } - 1;
        self.until_yielded.set(next);
        if next == INTAKE { Alone::PollDriver } else { Alone::Run }
    }

    /// The driver was polled, and nothing is ready. The look at the ready deque does not begin another row.
    pub(super) fn end_row(&self) {
        self.until_yielded.set(INTAKE);
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_next_slot_is_left_after_so_many_tasks() {
        let next = NextQueue::new();
        let polls = || (0..2 * NEXT_CAP).take_while(|_| next.take_next_turn()).count();
        assert_eq!(polls(), NEXT_CAP as usize);
        assert_eq!(polls(), 0);
        next.leave_next_slot();
        assert_eq!(polls(), NEXT_CAP as usize);
    }

    #[test]
    fn a_task_that_has_yielded_has_its_turn_among_ready_ones() {
        // With one that waits, with many, and with more than a pass brings in.
        for (waiting, ready) in
            [(1, INTAKE), (2, INTAKE / 2), (100, 5), (INTAKE, 1), (9_999, 1), (0, INTAKE)]
        {
            let next = NextQueue::new();
            next.begin_yielded_turn(waiting);
            let popped = (0..).take_while(|_| !next.is_yielded_due()).count();
            assert_eq!(popped, ready, "{waiting} that have yielded");
        }
    }

    #[test]
    fn the_driver_is_polled_once_in_a_row_of_yields() {
        let next = NextQueue::new();
        let row = || (0..YIELDS_ALONE).map(|_| next.yielded_alone()).collect::<Vec<_>>();
        let expected = [Alone::Run, Alone::Run, Alone::Run, Alone::PollDriver];
        assert!(!next.is_row_over());
        assert_eq!(row(), expected);
        next.end_row();
        assert!(next.is_row_over());
        // A ready task ends the row, and so does a park.
        assert!(!next.is_yielded_due());
        assert!(!next.is_row_over());
        assert_eq!(row(), expected);
        next.end_row();
        next.reset();
        assert_eq!(row(), expected);
    }
}
