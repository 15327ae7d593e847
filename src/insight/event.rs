//! What a recording has, one by one: for programs that write it in a format of their own.

use crate::engine::task::{Polled, RunningTask};
use crate::impls::impl_display;
use crate::observe::{self, Record};
use std::ops::Range;
use std::time::{Duration, Instant};

/// What a thread did or met while its runtime was recorded. From [`Trace::events`](super::Trace::events).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    worker: Option<usize>,
    begin: Instant,
    end: Instant,
    kind: EventKind,
}

/// What it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The worker polled a task.
    #[non_exhaustive]
    Poll {
        /// The task.
        task: RunningTask,
        /// How the poll ended.
        outcome: PollOutcome,
    },
    /// The thread made a task ready that had waited.
    ///
    /// A wake of a task that is ready or being polled makes no event.
    Wake(RunningTask),
    /// The thread spawned a task.
    Spawn(RunningTask),
    /// A task has panicked on the thread.
    ///
    /// Blocking work is among them, and what [`spawn_pinned`](crate::task::spawn_pinned) has started: the
    /// thread is no worker then. The future of `block_on` is no task.
    Panic(RunningTask),
    /// The worker slept.
    Sleep,
    /// The worker has fetched events, and has called their wakers.
    #[non_exhaustive]
    Turn {
        /// How many wakers there were.
        wakers: u32,
        /// How many of them were those of timers.
        of_timers: u32,
    },
}

/// How a poll ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PollOutcome {
    /// The task waits for something.
    Waits,
    /// The task has yielded, and is ready at once.
    Yielded,
    /// The task has ended, or was cancelled instead of polled.
    Ended,
    /// The poll had not ended when the recording was read. Its begin is the end of what the worker recorded
    /// before.
    UnderWay,
}

impl Event {
    /// What `record` says, of a recording that began at `origin`.
    pub(super) fn recorded(worker: Option<usize>, record: &Record, origin: Instant) -> Self {
        let (kind, duration) = match record.event {
            observe::Event::Poll { task, duration, outcome } => {
                (EventKind::Poll { task, outcome: PollOutcome::of(outcome) }, duration)
            }
            observe::Event::Wake(task) => (EventKind::Wake(task), 0),
            observe::Event::Spawn(task) => (EventKind::Spawn(task), 0),
            observe::Event::Panic(task) => (EventKind::Panic(task), 0),
            observe::Event::Sleep { duration } => (EventKind::Sleep, duration),
            observe::Event::Turn { duration, wakers, fired } => {
                (EventKind::Turn { wakers, of_timers: fired }, duration)
            }
        };
        let instant = |nanoseconds| origin + Duration::from_nanos(nanoseconds);
        let begin = instant(record.at.saturating_sub(duration));
        Self { worker, begin, end: instant(record.at), kind }
    }

    pub(super) fn under_way(worker: usize, task: RunningTask, times: Range<Instant>) -> Self {
        let kind = EventKind::Poll { task, outcome: PollOutcome::UnderWay };
        Self { worker: Some(worker), begin: times.start, end: times.end, kind }
    }

    /// Returns the index of the worker. `None` for any other thread.
    pub fn worker(&self) -> Option<usize> {
        self.worker
    }

    /// Returns when it began. Not before the recording, even if a poll or a sleep is older than that.
    pub fn begin(&self) -> Instant {
        self.begin
    }

    /// Returns when it ended. For a wake, a spawn and a panic that is the begin.
    pub fn end(&self) -> Instant {
        self.end
    }

    /// Returns how long it lasted.
    pub fn duration(&self) -> Duration {
        self.end.saturating_duration_since(self.begin)
    }

    /// Returns what it was.
    pub fn kind(&self) -> EventKind {
        self.kind
    }
}

impl PollOutcome {
    pub(super) fn of(outcome: Polled) -> Self {
        match outcome {
            Polled::Pending => Self::Waits,
            Polled::Yielded => Self::Yielded,
            Polled::Ready => Self::Ended,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Yielded => "yielded",
            Self::Ended => "ended",
            Self::UnderWay => "under way",
        }
    }
}

impl_display!([] PollOutcome, this => this.word());
