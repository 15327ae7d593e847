//! How long the watchdog lets a task wait for a lull.

use super::*;
use std::task::Context;

/// A task waits for the next lull.
fn wait(shared: &Shared) {
    let lulls = shared.driver.lulls();
    assert!(lulls.poll(lulls.count(), &Context::from_waker(Waker::noop())).is_pending());
}

/// Step after step, each of which is over soon, for longer than any of them may last.
#[test]
fn who_waits_for_one_lull_after_the_other_is_not_late() {
    let shared = Shared::new(1, Driver::new(1).unwrap());
    shared.take_census(|| true);
    let mut watch = Watch::new(&shared, Parker::new());
    let (mut now, mut wakes) = (clock::now(), Vec::new());
    for _ in 0..10 {
        wait(&shared);
        assert!(!watch.is_lull_overdue(&shared, now));
        now += PATIENCE / 2;
        assert!(!watch.is_lull_overdue(&shared, now));
        shared.driver.lulls().begin(&mut wakes);
    }
    wait(&shared);
    assert!(!watch.is_lull_overdue(&shared, now));
    assert!(watch.is_lull_overdue(&shared, now + 2 * PATIENCE));
}
