//! Steps of a worker that a test plays.

use super::super::Shared;
use super::Worker;
use crate::engine::driver::Driver;
use crate::engine::scheduler::policy::{FAIR_INTERVAL, YIELDS_ALONE};
use crate::engine::sync_shim::Arc;
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::{Hot, Runner};
use std::panic::Location;

fn alone() -> (Arc<Shared>, Worker) {
    let shared = Shared::new(1, Driver::new(1).unwrap());
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

/// Ticks without a task, until the next fair turn; returns how many there were.
fn ticks(worker: &Worker) -> u32 {
    let turns = || worker.shared().driver.attendance();
    let before = turns();
    let ticks = (1..).find(|_| worker.next_task().is_none() && turns() != before);
    ticks.expect("a fair turn comes")
}

#[test]
fn a_sample_moves_no_fair_turn_and_may_be_any_tick() {
    let (_shared, worker) = alone();
    ticks(&worker);
    let samples = &worker.records.samples;
    let mut chosen = std::collections::BTreeSet::new();
    while chosen.len() < FAIR_INTERVAL as usize {
        let missing = (1..FAIR_INTERVAL).find(|after| !chosen.contains(after)).unwrap_or(1);
        samples.plan(u64::from(FAIR_INTERVAL - missing));
        // Fewer if the system has not let this thread run, so that the ticks seem to be long.
        let interval = worker.policy.interval();
        assert_eq!(ticks(&worker), interval);
        chosen.insert(worker.policy.after_chosen());
        // There was no task that could be measured.
        samples.forget();
        worker.update_recorded();
    }
}

/// Runs `tasks` tasks, one after the other, and times one of their polls.
fn polls(shared: &Arc<Shared>, worker: &Worker, tasks: u32) {
    worker.records.samples.plan(shared.slots.get(0).running.polls() + u64::from(tasks / 2));
    for _ in 0..tasks {
        worker.spawned(new_task(shared));
        let task = worker.next_task().expect("it was spawned");
        if worker.own.flags.is_any_set() {
            worker.found(task.identity());
        }
        worker.run(task);
    }
}

#[test]
fn polls_of_earlier_workers_in_the_slot_are_counted_once() {
    let (shared, mut worker) = alone();
    let shared = &shared;
    for _ in 0..3 {
        polls(shared, &worker, 10 * FAIR_INTERVAL);
        let _ = worker.hand_over();
        worker.leave();
        worker = Worker::new(shared.clone(), 0);
    }
    let polls = shared.slots.get(0).running.polls();
    let [times, waits] = shared.histograms().map(|counts| counts.buckets.iter().sum::<u64>());
    assert!((1..=polls).contains(&times), "{times} of {polls}");
    assert!(waits <= polls, "{waits} of {polls}");
}
