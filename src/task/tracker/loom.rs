//! Models of the tracker: no wait misses an end, also if the end lasts for a moment only.

use super::*;
use crate::engine::sync_shim::thread;
use crate::runtime::block_on::wait_outside;

/// Two tasks end on two threads, one of which has closed the tracker: the wait beside them ends.
#[test]
fn a_wait_beside_the_last_tasks_ends() {
    ::loom::model(|| {
        let tracker = TaskTracker::new();
        let [first, second] = [tracker.token(), tracker.token()];
        let ends = {
            let tracker = tracker.clone();
            thread::spawn(move || {
                tracker.close();
                drop(first);
            })
        };
        drop(second);
        wait_outside("a model", tracker.wait());
        ends.join().expect("no panic");
        assert!(tracker.is_empty() && tracker.counts.lock().is_empty());
    });
}

/// A wait is there before the end, and is polled before, within or after it.
#[test]
fn a_wait_does_not_miss_an_end_that_is_over() {
    ::loom::model(|| {
        let tracker = TaskTracker::new();
        let wait = tracker.wait();
        let ends = {
            let tracker = tracker.clone();
            thread::spawn(move || {
                tracker.close();
                tracker.reopen();
            })
        };
        wait_outside("a model", wait);
        ends.join().expect("no panic");
        assert!(tracker.counts.lock().is_empty());
    });
}
