//! One thing that happened, and its form in a ring: three numbers and a place.

use crate::engine::scheduler::TaskEvent;
use crate::engine::task::{Polled, RunningTask, TaskId};
use std::panic::Location;

/// What happened, and when. Times are in nanoseconds since the recording began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    /// When it was over.
    pub(crate) at: u64,
    pub(crate) event: Event,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A task was polled.
    Poll { task: RunningTask, duration: u64, outcome: Polled },
    /// A task that waited was made ready.
    Wake(RunningTask),
    /// A task was spawned.
    Spawn(RunningTask),
    /// A task has panicked.
    Panic(RunningTask),
    /// The worker slept.
    Sleep { duration: u64 },
    /// The driver has called `wakers` wakers, of which `fired` were those of timers.
    Turn { duration: u64, wakers: u32, fired: u32 },
}

impl Event {
    pub(super) fn of(event: TaskEvent) -> Self {
        match event {
            TaskEvent::Woken(task) => Self::Wake(task),
            TaskEvent::Panicked(task) => Self::Panic(task),
        }
    }
}

/// A record as a ring keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) at: u64,
    /// The kind in the low 8 bits, above it the duration.
    pub(super) what: u64,
    /// The task's id, or the counts of a turn.
    pub(super) which: u64,
    pub(super) place: Option<&'static Location<'static>>,
}

const PENDING: u64 = 1;
const YIELDED: u64 = 2;
const READY: u64 = 3;
const WAKE: u64 = 4;
const SPAWN: u64 = 5;
const SLEEP: u64 = 6;
const TURN: u64 = 7;
const PANIC: u64 = 8;

const KIND_BITS: u32 = 8;

impl Record {
    pub(super) fn words(self) -> Words {
        let of_task = |kind, duration, task: RunningTask| {
            (kind | duration << KIND_BITS, task.id().to_bits(), Some(task.spawned_at()))
        };
        let (what, which, place) = match self.event {
            Event::Poll { task, duration, outcome } => {
                let kind = match outcome {
                    Polled::Pending => PENDING,
                    Polled::Yielded => YIELDED,
                    Polled::Ready => READY,
                };
                of_task(kind, duration, task)
            }
            Event::Wake(task) => of_task(WAKE, 0, task),
            Event::Spawn(task) => of_task(SPAWN, 0, task),
            Event::Panic(task) => of_task(PANIC, 0, task),
            Event::Sleep { duration } => (SLEEP | duration << KIND_BITS, 0, None),
            Event::Turn { duration, wakers, fired } => {
                let which = u64::from(wakers) | u64::from(fired) << u32::BITS;
                (TURN | duration << KIND_BITS, which, None)
            }
        };
        Words { at: self.at, what, which, place }
    }

    /// `None` if the words are of no record.
    pub(super) fn of(words: Words) -> Option<Self> {
        let Words { at, what, which, place } = words;
        let (kind, duration) = (what & ((1 << KIND_BITS) - 1), what >> KIND_BITS);
        let task = || Some(RunningTask::new(TaskId::from_bits(which)?, place?));
        let poll = |outcome| Some(Event::Poll { task: task()?, duration, outcome });
        let event = match kind {
            PENDING => poll(Polled::Pending)?,
            YIELDED => poll(Polled::Yielded)?,
            READY => poll(Polled::Ready)?,
            WAKE => Event::Wake(task()?),
            SPAWN => Event::Spawn(task()?),
            PANIC => Event::Panic(task()?),
            SLEEP => Event::Sleep { duration },
            TURN => {
                let (wakers, fired) = (which as u32, (which >> u32::BITS) as u32);
                Event::Turn { duration, wakers, fired }
            }
            _ => return None,
        };
        Some(Self { at, event })
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_record_is_what_it_was() {
        let number = 0..1_u64 << 56;
        let place = Location::caller();
        proptest!(|(at: u64, id in 1_u64.., duration in number, wakers: u32, fired: u32)| {
            let task = RunningTask::new(TaskId::from_bits(id).unwrap(), place);
            let poll = |outcome| Event::Poll { task, duration, outcome };
            for event in [
                poll(Polled::Pending),
                poll(Polled::Yielded),
                poll(Polled::Ready),
                Event::Wake(task),
                Event::Spawn(task),
                Event::Panic(task),
                Event::Sleep { duration },
                Event::Turn { duration, wakers, fired },
            ] {
                let record = Record { at, event };
                assert_eq!(Record::of(record.words()), Some(record));
            }
        });
    }

    #[test]
    fn an_entry_that_was_never_written_is_no_record() {
        assert_eq!(Record::of(Words { at: 0, what: 0, which: 0, place: None }), None);
        assert_eq!(Record::of(Words { at: 0, what: WAKE, which: 1, place: None }), None);
    }
}
