//! Where the scheduler is observed: what its threads report to a probe.
//!
//! The scheduler calls code for observers nowhere else. Its other parts keep counts and notes, which any
//! thread may read. The code that makes a scheduler may attach one [`Probe`], which makes a [`WorkerProbe`]
//! for each worker. The implementation is `crate::observe`.
//!
//! | a worker reports | when |
//! |---|---|
//! | its fair turns, and ticks that its probe has chosen | always |
//! | the spawns that its probe has chosen, and polls of tasks that it follows | always |
//! | polls, wakes, sleeps and rounds of the driver | while [`WorkerProbe::is_on`] |
//! | each step | from `Shared::begin_observation` to `Shared::end_observation` |
//! | panics of tasks | as above |
//!
//! Other threads report spawns that the probe has chosen, and wakes, spawns and panics from
//! `begin_observation` to `end_observation`. They follow the tasks that they wake while the probe wants it
//! (`Shared::follow_wakes`). A worker that blocks in place is such a thread meanwhile. The watchdog reports
//! each of its looks, and polls that last long while no regular worker is free. What a look finds, the probe
//! reads by `Shared::worker_entries`.
//!
//! # What it costs
//!
//! A worker whose probe is off pays as little as can be. Its loop asks at each step whether it stays and is
//! not observed, which is one comparison (`WorkerCount::stays_unobserved`). A poll, a wake and a spawn look
//! at one byte of the worker's own (`WorkerFlags`), and before a poll the worker looks at that byte in any
//! case. Rejected: a second loop, whose polls are observed, so that a poll need not look. The compiler then
//! puts fewer of the worker's functions in line, and a yield takes 252 instructions instead of 207.

use super::brake::CpuBudget;
use super::shared::Shared;
use crate::engine::sync_shim::Arc;
use crate::engine::task::header::FutureType;
use crate::engine::task::{Polled, RunningTask, TaskId};
use std::time::{Duration, Instant};

/// Observes one scheduler. Any thread may call [`Probe::happened_outside`], also in a poll, so that method
/// must not block for long. The driver thread alone calls [`Probe::looked`] and [`Probe::blocked`]. These may
/// call the program's code, and the driver thread does nothing else meanwhile.
pub(crate) trait Probe: Send + Sync {
    /// Returns the probe of the worker that starts in slot `worker`, in which earlier workers have made
    /// `polls` polls.
    fn worker(&self, worker: usize, polls: u64) -> Box<dyn WorkerProbe>;

    /// Something has happened on a thread that is no worker of this scheduler.
    fn happened_outside(&self, event: TaskEvent);

    /// Such a thread has spawned a task, the `number`th of those outside. Returns which of them is reported
    /// next, at the latest, and for how many spawns this one stands if it is to be followed.
    fn spawned_outside(
        &self,
        task: RunningTask,
        future: FutureType,
        number: u64,
    ) -> (u64, Option<u64>);

    /// The watchdog has looked at all workers. It looks every 0.5 to 4 ms while a worker is busy, and less
    /// often or not at all while none is. Returns whether it may sleep, if there is nothing else to do. If
    /// not, it looks again soon: the probe waits for the end of something.
    #[must_use = "a watchdog that sleeps does not see the end that the probe waits for"]
    fn looked(&self, scheduler: &Shared, now: Instant) -> bool;

    /// Asked at each look, before it: what limits the time that the runtime may use. Meanwhile the probe may
    /// change the number of workers. `None`: nothing.
    fn budget(&self, scheduler: &Arc<Shared>, now: Instant) -> Option<CpuBudget>;

    /// A poll of `worker`, of that task if it is known, has lasted for `time`. No regular worker is free, and
    /// tasks wait or there are spares. The watchdog calls this once for each poll.
    fn blocked(&self, scheduler: &Shared, worker: usize, task: Option<RunningTask>, time: Duration);
}

/// Observes one worker, on the worker's thread. `polls` is always the number of polls that have begun in the
/// worker's slot.
pub(crate) trait WorkerProbe {
    /// Whether the worker reports polls, wakes, sleeps and rounds of the driver from now on. The worker asks
    /// after each of the other calls but [`WorkerProbe::fair_turn`] and [`WorkerProbe::choose_tick`].
    fn is_on(&self) -> bool;

    /// From which number on the worker reports spawns. The worker asks when it asks for `is_on`, after
    /// each fair turn and sleep, and before it reports one.
    fn next_spawn(&self) -> u64;

    /// A step begins. The scheduler is observed, or an observation has just ended, or the number of workers
    /// is being changed.
    fn step(&self);

    /// A fair turn has come. The worker's slot has spawned so many tasks.
    fn fair_turn(&self, now: Instant, polls: u64, spawned: u64);

    /// A fair turn has come, or the poll of a chosen tick has ended, after `polls` polls, and so many ticks
    /// come before the next fair turn. `Some(n)`, with `n` below `ticks`: the worker calls
    /// [`WorkerProbe::chosen_tick`] before the `n`th tick from here. It does not if a sleep comes first after
    /// which the interval is shorter.
    fn choose_tick(&self, polls: u64, ticks: u32) -> Option<u32>;

    /// The tick comes that was chosen.
    fn chosen_tick(&self);

    /// Something has happened on this worker's thread: in a poll, in a waker, in a hook, or in a destructor.
    fn happened(&self, event: TaskEvent);

    /// The worker's slot has spawned a task, its `number`th. Returns for how many spawns this one stands if
    /// it is to be followed.
    fn spawned(&self, task: RunningTask, future: FutureType, number: u64) -> Option<u64>;

    /// A poll of `task` begins, and is not among `polls` yet. Returns the number, below 7, under which the
    /// task is to be followed to its next poll.
    fn poll_begins(&self, task: RunningTask, polls: u64) -> Option<u32>;

    /// A poll begins of a task that is followed. Returns whether the task is followed on.
    fn followed_poll_begins(&self, task: TaskId) -> bool;

    /// The poll of `task` has ended, and is among `polls`.
    fn poll_ends(&self, task: RunningTask, outcome: Polled, polls: u64);

    /// The worker has slept.
    fn slept(&self, since: Instant, now: Instant, polls: u64);

    /// The worker has called `wakers` wakers since then, of which `fired` were those of timers.
    fn round_ended(&self, since: Instant, wakers: usize, fired: usize);
}

/// An event in the life of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskEvent {
    Woken(RunningTask),
    Panicked(RunningTask),
}
