//! Models of a worker beside recordings that start and stop (recorder.rs).

use crate::engine::scheduler::Shared;
use crate::engine::scheduler::loom::{bounded, scheduler, worker};
use crate::engine::sync_shim::{Arc, thread};
use crate::observe::slow_polls::SlowPolls;
use crate::observe::{Observer, Recording};
use std::num::NonZeroUsize;
use std::time::Duration;

/// Starts a recording with small rings.
fn start(observer: &Observer, shared: &Shared) -> Arc<Recording> {
    let records = NonZeroUsize::new(2);
    observer.start_recording(shared, records).expect("the runtime is not closed")
}

/// One recording ends and the next begins beside a worker. Whatever the worker saw of the first one, from its
/// next step on it records for the second, and nothing once that has ended.
#[test]
fn a_worker_takes_part_in_the_recording_that_is_under_way() {
    bounded(|way| {
        let shared = scheduler(1);
        let slow_polls = Arc::new(SlowPolls::new(Duration::MAX, None));
        let observer = std::sync::Arc::new(Observer::new(slow_polls, None));
        shared.set_probe(observer.clone());
        drop(start(&observer, &shared));
        let other = {
            let (observer, shared) = (observer.clone(), shared.clone());
            thread::spawn(move || {
                observer.stop_recording(&shared);
                start(&observer, &shared)
            })
        };
        way.here();
        let worker = worker(&shared, 0);
        worker.observed_step();
        let second = other.join().expect("no panic");
        let ring = second.ring(0);
        let before = ring.written();
        worker.observed_step();
        let (records, numbers) = ring.read(before);
        assert_eq!((records.len(), numbers.start), (1, before));

        observer.stop_recording(&shared);
        assert!(worker.has_no_step_to_report(), "a worker that is not recorded has nothing to ask");
        worker.observed_step();
        let (records, _) = ring.read(numbers.end);
        assert!(records.len() <= 1, "the poll in which it ended");
    });
}
