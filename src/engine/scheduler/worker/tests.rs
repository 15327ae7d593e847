//! Steps of a worker that a test plays.

use super::super::Shared;
use super::Worker;
use crate::engine::driver::Driver;
use crate::engine::scheduler::policy::{FAIR_INTERVAL, YIELDS_ALONE};
use crate::engine::scheduler::probe::{AfterReport, Probe, TaskEvent, WorkerProbe};
use crate::engine::sync_shim::Arc;
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::{Hot, Runner};
use crate::engine::task::{Polled, RunningTask};
use std::panic::Location;
use std::time::{Duration, Instant};

fn alone() -> (Arc<Shared>, Worker) {
    alone_with(|_| ())
}

fn alone_with(prepare: impl FnOnce(&Shared)) -> (Arc<Shared>, Worker) {
    let shared = Shared::new(1, Driver::new(1).unwrap());
    prepare(&shared);
    shared.size.set_regular(1);
    let worker = Worker::new(shared.clone(), 0);
    shared.slots.get(0).activate(worker.parker().unparker());
    (shared, worker)
}

fn new_task(shared: &Arc<Shared>) -> Hot {
    new_send_task(async {}, shared, Location::caller()).0
}

/// The task yields and is taken again so often; returns how often the driver was polled.
fn polls_in_yields(worker: &Worker, mut task: Hot, yields: usize) -> (Hot, u64) {
    let before = worker.shared().driver.attendance();
    for _ in 0..yields {
        worker.yielded(task);
        task = worker.take_yielded().expect("it has just yielded");
    }
    (task, worker.shared().driver.attendance() - before)
}

#[test]
fn the_driver_is_polled_once_in_a_row_of_yields() {
    let (shared, worker) = alone();
    let task = new_task(&shared);
    let (task, polls) = polls_in_yields(&worker, task, YIELDS_ALONE - 1);
    assert_eq!(polls, 0);
    let (task, polls) = polls_in_yields(&worker, task, 1);
    assert_eq!(polls, 1);
    let (task, polls) = polls_in_yields(&worker, task, 1_000);
    assert_eq!(polls, 0);
    // A task that was ready ends the row.
    worker.spawned(new_task(&shared));
    shared.cancel(worker.take_ready().expect("it was spawned"));
    let (task, polls) = polls_in_yields(&worker, task, 1_000);
    assert_eq!(polls, 1);
    shared.cancel(task);
}

/// Ticks without a task, until the next fair turn, each with a call of `after_tick`; returns how many there
/// were.
fn ticks(worker: &Worker, mut after_tick: impl FnMut(u32)) -> u32 {
    let turns = || worker.shared().driver.attendance();
    let before = turns();
    let ticks = (1..).find(|&tick| {
        assert!(worker.next_task().is_none(), "there is no task");
        after_tick(tick);
        turns() != before
    });
    ticks.expect("a fair turn comes")
}

/// Chooses a tick of each fair turn, and notes when it has come.
struct Chooser {
    after: Arc<AtomicU32>,
    has_come: Arc<AtomicBool>,
}

impl Probe for Chooser {
    fn worker(&self, _: usize, _: u64) -> Box<dyn WorkerProbe> {
        Box::new(Self { after: self.after.clone(), has_come: self.has_come.clone() })
    }

    fn happened_outside(&self, _: TaskEvent) {}

    fn looked(&self, _: &Shared, _: Instant) -> AfterReport {
        AfterReport::MaySleep
    }

    fn blocked(&self, _: &Shared, _: usize, _: Option<RunningTask>, _: Duration) {}
}

impl WorkerProbe for Chooser {
    fn is_on(&self) -> bool {
        false
    }

    fn step(&self) {}

    fn fair_turn(&self, _: Instant, _: u64, interval: u32) -> Option<u32> {
        Some(self.after.load(Ordering::Relaxed) % interval)
    }

    fn chosen_tick(&self) {
        self.has_come.store(true, Ordering::Relaxed);
    }

    fn happened(&self, _: TaskEvent) {}

    fn poll_begins(&self, _: RunningTask, _: u64) {}

    fn poll_ends(&self, _: RunningTask, _: Polled, _: u64, _: usize) {}

    fn slept(&self, _: Instant, _: Instant, _: u64) {}

    fn round_ended(&self, _: Instant, _: usize, _: usize) {}
}

#[test]
fn a_chosen_tick_moves_no_fair_turn_and_may_be_any_tick() {
    let (after, has_come) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let chooser = Chooser { after: after.clone(), has_come: has_come.clone() };
    let (_shared, worker) = alone_with(|shared| shared.set_probe(std::sync::Arc::new(chooser)));
    for chosen in 1..FAIR_INTERVAL {
        after.store(chosen, Ordering::Relaxed);
        // Until the fair turn that chooses.
        ticks(&worker, |_| ());
        // Fewer if the system has not let this thread run, so that the ticks seem to be long.
        let interval = worker.policy.interval();
        has_come.store(false, Ordering::Relaxed);
        let mut came_at = None;
        let until_next = ticks(&worker, |tick| {
            if tick < interval && has_come.load(Ordering::Relaxed) {
                came_at.get_or_insert(tick);
            }
        });
        assert_eq!(
            (until_next, came_at),
            (interval, Some(chosen % interval).filter(|&it| it != 0))
        );
    }
}
