//! How long the watchdog lets a task wait for a quiescent point.

use super::*;
use crate::engine::driver::Driver;
use std::task::Context;

/// A task waits for the next quiescent point.
fn wait(shared: &Shared) {
    let quiescent_points = shared.driver.quiescent_points();
    assert!(
        quiescent_points
            .poll(quiescent_points.count(), &Context::from_waker(Waker::noop()))
            .is_pending()
    );
}

/// Step after step, each of which is over soon, for longer than any of them may last.
#[test]
fn waits_for_one_quiescent_point_after_the_other_are_not_late() {
    let shared = Shared::new(1, Driver::new(1).unwrap());
    shared.count_threads(|| true);
    let mut thread = WatchdogThread::new(&shared, Parker::new());
    let (mut now, mut wakes) = (clock::now(), Vec::new());
    for _ in 0..10 {
        wait(&shared);
        assert!(!thread.is_quiescent_point_overdue(&shared, now));
        now += PATIENCE / 2;
        assert!(!thread.is_quiescent_point_overdue(&shared, now));
        shared.driver.quiescent_points().begin(&mut wakes);
    }
    wait(&shared);
    assert!(!thread.is_quiescent_point_overdue(&shared, now));
    assert!(thread.is_quiescent_point_overdue(&shared, now + 2 * PATIENCE));
}
