//! Steps of a worker that a test plays.

use super::super::Shared;
use super::{FAIR_INTERVAL, Pace, Worker};
use crate::engine::driver::Driver;
use crate::engine::park::Parker;
use crate::engine::scheduler::turns::YIELDS_ALONE;
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::cell::new_send_task;
use crate::engine::task::header::{Hot, Runner};
use std::panic::Location;
use std::time::Duration;

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

/// Whether the worker polls the driver at a fair turn, after so many tasks in that time.
fn polls_at_fair_turn(worker: &Worker, tasks: u32, time: Duration) -> bool {
    let mut pace = Pace::new();
    let now = clock::now();
    pace.ran(0, now.checked_sub(time).expect("the clock is older"));
    worker.pace.set(pace);
    worker.paced_at.set(tasks);
    let before = worker.shared().driver.attendance();
    worker.fair_turn();
    worker.shared().driver.attendance() != before
}

#[test]
fn a_worker_that_computes_leaves_the_driver_to_a_helper_that_is_awake() {
    let (shared, worker) = alone();
    let long = Duration::from_millis(1);
    assert!(polls_at_fair_turn(&worker, 1, long), "there is no helper");
    shared.size.set_staying(2);
    assert!(polls_at_fair_turn(&worker, 1, long), "there is no watchdog");
    let _ = shared.watchdog.unparker.set(Parker::new().unparker());
    assert!(!polls_at_fair_turn(&worker, 1, long));
    assert!(polls_at_fair_turn(&worker, FAIR_INTERVAL, Duration::ZERO), "its tasks are quick");
    let _ = shared.idle.park(1, false);
    assert!(polls_at_fair_turn(&worker, 1, long), "the helper is parked");
    let _ = shared.idle.unpark_self(1);
    shared.size.block_in_place();
    assert!(polls_at_fair_turn(&worker, 1, long), "the spare replaces a worker");
    shared.size.unblock_in_place();
    worker.helps.set(true);
    shared.size.set_regular(0);
    shared.size.set_staying(2);
    assert!(polls_at_fair_turn(&worker, 1, long), "it is the helper");
}
