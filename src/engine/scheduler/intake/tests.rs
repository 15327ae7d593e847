use super::*;
use proptest::prelude::*;

/// A look at an injector that holds `outside` tasks, with `queued` in the deque and `channel` in the channel.
/// Returns how many came from the injector.
fn look(intake: &Intake, queued: usize, channel: usize, outside: usize) -> usize {
    let room = intake.begin_look(queued);
    let brought = outside.min(room);
    if room != 0 {
        intake.brought(room, brought, queued + channel + brought);
    }
    intake.end_look(room, brought, channel + brought);
    brought
}

fn pauses(intake: &Intake) -> usize {
    (0..).take_while(|_| intake.pauses()).count()
}

#[test]
fn the_next_look_comes_after_as_many_ticks_as_the_last_one_brought() {
    for (channel, outside, pause) in
        [(0, 0, 0), (0, 7, 7), (3, 0, 3), (3, 7, 10), (0, 9_999, INTAKE)]
    {
        let intake = Intake::new();
        look(&intake, 5, channel, outside);
        assert_eq!(pauses(&intake), pause, "{channel} from the channel, {outside} outside");
    }
}

#[test]
fn a_pass_brings_in_so_many_and_ends_when_its_tasks_are_popped() {
    let intake = Intake::new();
    assert_eq!(look(&intake, 10, 0, 9_999), INTAKE);
    // All that was in the deque after the look, less one.
    for _ in 0..10 + INTAKE - 1 {
        intake.popped(true);
    }
    assert_eq!(look(&intake, 40, 0, 9_999), 0, "the pass lasts");
    assert_eq!(pauses(&intake), 0, "it ends with the next pop");
    intake.popped(true);
    assert_eq!(look(&intake, 40, 0, 9_999), INTAKE, "the next pass");
}

#[test]
fn a_pass_without_room_lasts_for_so_many_ticks_between_two_looks_at_the_most() {
    let intake = Intake::new();
    look(&intake, 0, 0, 9_999);
    look(&intake, INTAKE, 0, 9_999);
    assert_eq!(pauses(&intake), FAIR_INTERVAL as usize - 1);
}

#[test]
fn a_small_rest_of_the_room_is_left() {
    let intake = Intake::new();
    assert_eq!(look(&intake, 0, 0, INTAKE / 2), INTAKE / 2);
    assert_eq!(look(&intake, INTAKE / 2, 0, 9_999), INTAKE / 2);
    assert_eq!(look(&intake, INTAKE, 0, 9_999), 0);
    let intake = Intake::new();
    assert_eq!(look(&intake, 0, 0, INTAKE / 2 + 1), INTAKE / 2 + 1);
    assert_eq!(look(&intake, INTAKE, 0, 9_999), 0);
}

#[test]
fn a_deque_that_thieves_have_emptied_ends_the_pass_and_the_pause() {
    let intake = Intake::new();
    look(&intake, 10, 0, 9_999);
    assert!(!intake.is_due(10));
    assert!(intake.is_due(0));
    assert_eq!(look(&intake, 0, 0, 9_999), INTAKE);
    let intake = Intake::new();
    look(&intake, 10, 0, 9_999);
    intake.popped(false);
    assert_eq!(look(&intake, 40, 0, 9_999), INTAKE);
}

proptest! {
    /// What the bound in worker.rs rests on: whatever comes from outside and whatever thieves take, the deque
    /// holds no more than the worker's own tasks and two passes' intake.
    #[test]
    fn the_deque_holds_the_own_tasks_and_two_passes_at_the_most(
        own in 0usize..2_000,
        steps in prop::collection::vec((0usize..700, 0usize..1_500, 0usize..50), 1..60),
    ) {
        let intake = Intake::new();
        // The deque is FIFO: own tasks (`true`) come back to its end after a pop, others do not.
        let mut deque: std::collections::VecDeque<bool> = (0..own).map(|_| true).collect();
        for (pops, outside, stolen) in steps {
            for _ in 0..pops {
                if !intake.pauses() {
                    let brought = look(&intake, deque.len(), 0, outside);
                    deque.extend((0..brought).map(|_| false));
                }
                let task = deque.pop_front();
                intake.popped(task.is_some());
                if task == Some(true) {
                    deque.push_back(true);
                }
                prop_assert!(deque.len() <= own + 2 * INTAKE, "{} of {own}", deque.len());
            }
            deque.drain(..stolen.min(deque.len()));
        }
    }
}
