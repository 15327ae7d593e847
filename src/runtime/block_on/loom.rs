//! A model of a root future's thread.

use super::*;
use crate::engine::wakers::loom::Awaited;

/// The habit outlives a round of a model, and would make the rounds differ.
pub(in crate::runtime) fn forget_habit() {
    HABIT.set(Habit::NONE);
}

/// The root is woken while it is polled, or while its thread goes to sleep: it is polled again, and sees what
/// was written before.
#[test]
fn a_wake_of_the_root_is_not_lost_while_its_thread_lies_down() {
    ::loom::model(|| {
        forget_habit();
        let awaited = Awaited::new();
        let other = awaited.wake_beside();
        run(pin!(awaited.wait()), None);
        other.join().expect("no panic");
    });
}
