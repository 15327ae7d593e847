//! Models of what all threads share: the hint about shared work, the counts, and the threads that wait for
//! them.

use super::*;
use crate::engine::park::Parker;
use crate::engine::scheduler::enqueue::Pusher;
use crate::engine::scheduler::loom::scheduler;
use crate::engine::sync_shim::{both_ways, thread};
use crate::engine::task::cell::new_send_task;
use std::panic::Location;

/// A worker finds no shared work and takes the hint back while a task is pushed: the hint is back, or
/// the push saw that it was gone.
#[test]
fn the_flag_is_not_lowered_over_a_push() {
    both_ways(|way| {
        let shared = scheduler(1);
        // Ordering: Relaxed, no other thread is there yet.
        shared.queues.flag.store(true, Ordering::Relaxed);
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (task, _) = new_send_task(async {}, &shared, Location::caller());
                shared.enqueue(Pusher::Spawner, task);
            })
        };
        way.here();
        shared.queues.lower_flag();
        other.join().expect("no panic");
        assert!(shared.queues.is_flag_raised());
        let task = shared.queues.injector.pop().expect("pushed");
        shared.cancel(task);
    });
}

/// A task spawns another one and ends, while a thread counts: it never counts none, although the two numbers
/// are read one after the other.
#[test]
fn there_is_no_moment_without_a_task_between_a_parent_and_its_child() {
    both_ways(|way| {
        let shared = scheduler(1);
        let stats = &shared.slots.get(0).stats;
        stats.spawned.add(1);
        // The spawned thread counts: one that has yielded is shown no old values.
        let other = {
            let shared = shared.clone();
            thread::spawn(move || assert_ne!(shared.alive_tasks(), 0))
        };
        way.here();
        stats.spawned.add(1);
        stats.completed.add(1);
        other.join().expect("no panic");
    });
}

/// A task ends on a thread that is no worker while another one waits for the last task: that thread sees that
/// it has ended, or is told, and finds the JoinHandle finished.
#[test]
fn the_cancel_of_the_last_task_ends_the_wait_for_it() {
    both_ways(|way| {
        let shared = scheduler(1);
        let join = shared.spawn(async {}, Location::caller());
        let task = shared.queues.injector.pop().expect("just spawned");
        let other = {
            let shared = shared.clone();
            thread::spawn(move || shared.cancel(task))
        };
        way.here();
        shared.wait_until_quiet(&Parker::new());
        assert_eq!(shared.alive_tasks(), 0);
        assert!(join.is_finished());
        other.join().expect("no panic");
    });
}
