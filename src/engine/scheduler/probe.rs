//! Where the scheduler is observed: what its threads report, and to whom.
//!
//! Nothing else in the scheduler exists in order to be looked at. Whoever makes it may attach one [`Probe`],
//! which makes a [`WorkerProbe`] for each worker. The implementation is `crate::observe`.
//!
//! | a worker reports | when |
//! |---|---|
//! | its fair turns, and a tick that its probe has chosen in one | always |
//! | polls, wakes, spawns, sleeps and rounds of the driver | while [`WorkerProbe::is_on`] |
//! | each step | from `Shared::begin_observation` to `Shared::end_observation` |
//!
//! Threads that are no workers report wakes, spawns and panics from `begin_observation` to `end_observation`.
//! The watchdog reports each of its looks, and polls that block the last free worker. What a look finds, the
//! probe reads by `Shared::worker_entries`.
//!
//! # What it costs
//!
//! A worker whose probe is off pays as little as can be. Its loop asks at each step whether it stays and is
//! not observed, which is one comparison (`PoolSize::stays_unobserved`). A poll, a wake and a spawn look at
//! one byte of the worker's own (`WorkerFlags`), and before a poll the worker looks at that byte in any case.
//! Rejected: a second loop, whose polls are observed, so that a poll need not look. The compiler then puts
//! fewer of the worker's functions in line, and a yield takes 252 instructions instead of 207.

use super::shared::Shared;
use crate::engine::task::{Polled, RunningTask};
use std::time::{Duration, Instant};

/// Observes one scheduler. Any thread may call it, also in the middle of a poll: it must not block for long.
pub(crate) trait Probe: Send + Sync {
    /// Returns the probe of the worker that starts in slot `worker`, in which earlier workers have made
    /// `polls` polls.
    fn worker(&self, worker: usize, polls: u64) -> Box<dyn WorkerProbe>;

    /// Something has happened on a thread that is no worker of this scheduler.
    fn happened_outside(&self, event: TaskEvent);

    /// The watchdog has looked at all workers, as it does while one of them is busy. It calls nothing else of
    /// a probe than this and [`Probe::blocked`].
    fn looked(&self, scheduler: &Shared, now: Instant) -> AfterReport;

    /// A poll of `worker` has lasted for `time`, tasks wait, and no other worker is free. Told once a poll.
    fn blocked(&self, scheduler: &Shared, worker: usize, time: Duration);
}

/// What the watchdog does after it has reported a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum AfterReport {
    /// It sleeps, if there is nothing else to do.
    MaySleep,
    /// It looks again soon: the probe waits for the end of something.
    LookAgain,
}

/// Observes one worker, on the worker's thread. `polls` is always the number of polls that have begun in the
/// worker's slot.
pub(crate) trait WorkerProbe {
    /// Whether the worker reports polls, wakes, spawns, sleeps and rounds of the driver from now on. The
    /// worker asks after each of the calls that may change it, which are those that return nothing.
    fn is_on(&self) -> bool;

    /// A step begins, and the scheduler is being observed.
    fn step(&self);

    /// A fair turn has come, and the next one is `interval` ticks away. `Some(n)`, with `n` below `interval`:
    /// the worker calls [`WorkerProbe::chosen_tick`] before the `n`th tick from here.
    fn fair_turn(&self, now: Instant, polls: u64, interval: u32) -> Option<u32>;

    /// The tick comes that the last fair turn has chosen.
    fn chosen_tick(&self);

    /// Something has happened in a poll of this worker, or while it called wakers.
    fn happened(&self, event: TaskEvent);

    /// A poll of `task` begins, and is not among `polls` yet.
    fn poll_begins(&self, task: RunningTask, polls: u64);

    /// The poll of `task` has ended. `None`: the task has completed in a way that leaves no identity.
    fn poll_ends(&self, task: Option<RunningTask>, outcome: Polled, polls: u64, queued: usize);

    /// The worker has slept.
    fn slept(&self, since: Instant, now: Instant, polls: u64);

    /// The worker has called `wakers` wakers since then, of which `fired` were those of timers.
    fn round_ended(&self, since: Instant, wakers: usize, fired: usize);
}

/// What happened to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskEvent {
    Woken(RunningTask),
    Spawned(RunningTask),
    Panicked(RunningTask),
}
