//! Models of a worker beside recordings that start and stop (recorder.rs).

use super::super::{Shared, Worker};
use crate::engine::recorder::Event;
use crate::engine::scheduler::loom::{bounded, close, scheduler, up_to, worker};
use crate::engine::scheduler::recorder::Recording;
use crate::engine::sync_shim::{Arc, thread};
use crate::engine::task::{RunningTask, TaskId};
use std::num::NonZeroUsize;
use std::panic::Location;

/// Starts a recording with small rings.
fn start(shared: &Shared) -> Arc<Recording> {
    shared.start_recording(NonZeroUsize::new(2)).expect("a runtime that is not closed")
}

impl Worker {
    /// One step of [`Worker::work`], as far as recordings go, in which the worker wakes a task.
    fn step(&self) {
        assert!(self.shared.size.stays_unrecorded(0) || self.stays_recorded(), "the worker stays");
        let task = RunningTask::new(TaskId::next(), Location::caller());
        self.note_now(|| Event::Wake(task));
    }
}

/// One recording ends and the next begins beside a worker. Whatever the worker saw of the first one, from its
/// next step on it records for the second, and nothing once that has ended.
#[test]
fn a_worker_takes_part_in_the_recording_that_is_under_way() {
    bounded(|way| {
        let shared = scheduler(1);
        drop(start(&shared));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.stop_recording();
                start(&shared)
            })
        };
        way.here();
        let worker = worker(&shared, 0);
        worker.step();
        let second = other.join().expect("no panic");
        let ring = second.ring(0);
        let before = ring.written();
        worker.step();
        let (records, numbers) = ring.read(before);
        assert_eq!((records.len(), numbers.start), (1, before));

        shared.stop_recording();
        assert!(
            shared.size.stays_unrecorded(0),
            "a worker that is not recorded has nothing to ask"
        );
        worker.step();
        let (records, _) = ring.read(numbers.end);
        assert!(records.len() <= 1, "the poll in which it ended");
    });
}

/// The last stop stores anew that no worker stays, beside a close that has stored it: a worker that leaves
/// because of either knows that the runtime is closed, and does its part of the end.
///
/// The worker is a thread of its own: loom gives a thread no old value that it has seen before a yield.
#[test]
fn a_worker_that_a_stop_sends_away_sees_the_close() {
    fn stop(shared: &Arc<Shared>) {
        shared.stop_recording();
    }
    fn leave(shared: &Arc<Shared>) {
        if shared.size.is_surplus(0) {
            assert!(shared.shutdown.is_closed(), "the worker would take itself for a surplus one");
        }
    }
    up_to(3, || {
        let shared = scheduler(1);
        drop(start(&shared));
        let steps = [|shared: &Arc<Shared>| close(shared, 1), stop, leave];
        let threads = steps.map(|step| {
            let shared = shared.clone();
            thread::spawn(move || step(&shared))
        });
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(shared.size.is_surplus(0) && !shared.size.stays_unrecorded(0));
    });
}
