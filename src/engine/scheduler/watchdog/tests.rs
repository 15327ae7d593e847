//! How long the watchdog lets a task wait for a quiescent point.

use super::*;
use crate::engine::driver::Driver;
use std::task::Context;

/// A task waits for the next quiescent point.
fn wait(shared: &Shared) -> impl Future<Output = ()> {
    let quiescent_points = shared.driver.quiescent_points();
    let mut waiting = Box::pin(quiescent_points.wait(quiescent_points.count()));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    waiting
}

/// Step after step, each of which is over soon, for longer than any of them may last.
#[test]
fn waits_for_one_quiescent_point_after_the_other_are_not_late() {
    let shared = Shared::new(1, Driver::new(1).unwrap());
    shared.count_threads(|| true);
    let mut thread = WatchdogThread::new(&shared, Parker::new());
    let (mut now, mut wakes) = (clock::now(), Vec::new());
    for _ in 0..10 {
        let _waiting = wait(&shared);
        assert!(!thread.is_quiescent_point_overdue(&shared, now));
        now += LONGEST_WAIT / 2;
        assert!(!thread.is_quiescent_point_overdue(&shared, now));
        shared.driver.quiescent_points().begin(&mut wakes);
    }
    let _waiting = wait(&shared);
    assert!(!thread.is_quiescent_point_overdue(&shared, now));
    assert!(thread.is_quiescent_point_overdue(&shared, now + 2 * LONGEST_WAIT));
}
