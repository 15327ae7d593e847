//! Models of a worker beside observations that begin and end, as far as they need no observer.

use super::super::{Shared, Worker};
use crate::engine::scheduler::loom::{close, scheduler, up_to};
use crate::engine::scheduler::probe::TaskEvent;
use crate::engine::sync_shim::{Arc, thread};
use crate::engine::task::{RunningTask, TaskId};
use std::panic::Location;

impl Worker {
    /// One step of [`Worker::work`], as far as a probe is concerned, in which the worker wakes a task.
    pub(crate) fn observed_step(&self) {
        assert!(self.has_no_step_to_report() || self.stays_observed(), "the worker stays");
        let task = RunningTask::new(TaskId::next(), Location::caller());
        self.report_event(|| TaskEvent::Woken(task));
    }

    pub(crate) fn has_no_step_to_report(&self) -> bool {
        self.shared.size.stays_unobserved(self.own.index)
    }
}

/// The end of an observation stores anew that no worker stays, beside a close that has stored it: a worker
/// that leaves because of either knows that the runtime is closed, and does its part of the end.
///
/// The worker is a thread of its own: loom gives a thread no old value that it has seen before a yield.
#[test]
fn a_worker_that_the_end_of_an_observation_sends_away_sees_the_close() {
    fn end(shared: &Arc<Shared>) {
        shared.end_observation(|| true);
    }
    fn leave(shared: &Arc<Shared>) {
        if shared.size.is_surplus(0) {
            assert!(shared.shutdown.is_closed(), "the worker would take itself for a surplus one");
        }
    }
    up_to(3, || {
        let shared = scheduler(1);
        shared.begin_observation(|_| ()).expect("the runtime is not closed");
        let steps = [|shared: &Arc<Shared>| close(shared, 1), end, leave];
        let threads = steps.map(|step| {
            let shared = shared.clone();
            thread::spawn(move || step(&shared))
        });
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert!(shared.size.is_surplus(0) && !shared.size.stays_unobserved(0));
    });
}
