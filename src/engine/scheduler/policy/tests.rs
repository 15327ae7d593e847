use super::*;
use proptest::prelude::*;

#[test]
fn the_next_slot_is_left_after_so_many_tasks() {
    let next = Policy::new();
    let polls = || (0..2 * NEXT_CAP).take_while(|_| next.may_run_from_next_slot()).count();
    assert_eq!(polls(), NEXT_CAP as usize);
    assert_eq!(polls(), 0);
    next.leave_next_slot();
    assert_eq!(polls(), NEXT_CAP as usize);
}

#[test]
fn a_task_that_has_yielded_has_its_turn_among_ready_ones() {
    // With one that waits, with many, and with more than a pass brings in.
    for (waiting, ready) in
        [(1, INTAKE), (2, INTAKE / 2), (100, 5), (INTAKE, 1), (9_999, 1), (0, INTAKE)]
    {
        let next = Policy::new();
        next.yielded_runs(waiting);
        let popped = (0..).take_while(|_| !next.is_yielded_due()).count();
        assert_eq!(popped, ready, "{waiting} that have yielded");
    }
}

/// Also if it was the only one of its kind: the ready tasks before it have begun another row.
#[test]
fn a_turn_among_ready_tasks_does_not_end_a_row_of_yields() {
    for waiting in [0, 1, 2] {
        let next = Policy::new();
        next.end_row();
        while !next.is_yielded_due() {}
        next.yielded_runs(waiting);
        assert!(!next.is_row_over(), "{waiting} that have yielded");
        let polled = (1..).find(|_| next.yielded_alone());
        assert_eq!(polled, Some(YIELDS_ALONE));
    }
}

#[test]
fn the_driver_is_polled_once_in_a_row_of_yields() {
    let next = Policy::new();
    let row = || (0..YIELDS_ALONE).map(|_| next.yielded_alone()).collect::<Vec<_>>();
    let expected = [false, false, false, true];
    assert!(!next.is_row_over());
    assert_eq!(row(), expected);
    next.end_row();
    assert!(next.is_row_over());
    // A ready task ends the row, and so does a park.
    assert!(!next.is_yielded_due());
    assert!(!next.is_row_over());
    assert_eq!(row(), expected);
    next.end_row();
    next.begin_row();
    assert_eq!(row(), expected);
}

const SECOND: Duration = Duration::from_secs(1);

fn in_64_bits(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).expect("a short time")
}

/// Runs as many tasks as the last answer said, in that time.
fn next(pace: &Policy, time: Duration) -> u32 {
    pace.ran(pace.interval(), in_64_bits(time));
    pace.interval()
}

#[test]
fn tasks_that_become_long_are_noticed_at_once_and_short_ones_step_by_step() {
    let pace = Policy::new();
    let after = |time| next(&pace, time);
    assert_eq!(after(Duration::ZERO), FAIR_INTERVAL);
    assert_eq!(after(WANTED), FAIR_INTERVAL);
    assert_eq!(after(10 * WANTED), FAIR_INTERVAL / 10);
    assert_eq!(after(Duration::from_secs(1)), 1);
    assert_eq!(after(Duration::from_secs(1)), 1);
    assert_eq!([0; 7].map(|_| after(WANTED / 2)), [2, 4, 8, 16, 32, FAIR_INTERVAL, FAIR_INTERVAL]);
}

#[test]
fn a_core_is_offered_by_a_worker_that_computes_and_once_in_a_while() {
    let (pace, mut now) = (Policy::new(), Instant::now());
    let mut offers = |time| {
        now += time;
        next(&pace, time);
        pace.offers(now)
    };
    assert_eq!([0; 4].map(|_| offers(WANTED)), [false; 4], "short tasks");
    assert_eq!([0; 4].map(|_| offers(WANTED / 10)), [false; 4], "shorter ones");
    offers(Duration::from_secs(1));
    let part = OFFER / 4;
    let offered = [0; 9].map(|_| offers(part));
    assert_eq!(offered, [false, false, false, true, false, false, false, true, false]);
}

#[test]
fn a_sleep_is_no_long_task() {
    let pace = Policy::new();
    pace.ran(1, 0);
    pace.end_sleep();
    assert_eq!(pace.interval(), FAIR_INTERVAL);
    pace.ran(FAIR_INTERVAL, in_64_bits(2 * WANTED));
    assert_eq!(pace.interval(), FAIR_INTERVAL / 2);
    // Nothing ran, or what blocked in place: that says nothing about the tasks.
    pace.ran(0, in_64_bits(SECOND));
    pace.blocked_in_place();
    pace.ran(1, in_64_bits(SECOND));
    assert_eq!(pace.interval(), FAIR_INTERVAL / 2);
}

#[test]
fn a_worker_knows_which_tasks_are_worth_a_peer() {
    let pace = Policy::new();
    pace.ran(1, 0);
    assert!(pace.are_soon_done(FAIR_INTERVAL as usize) && !pace.are_cheap(1), "not known");
    assert!(!pace.are_soon_done(FAIR_INTERVAL as usize + 1));
    let cost = |each: Duration| {
        // Until it is known, which takes several readings for shorter ones.
        for _ in 0..10 {
            pace.ran(10, in_64_bits(10 * each));
        }
    };
    cost(CHEAP / 2);
    assert!(pace.are_cheap(2_000) && !pace.are_cheap(2_001));
    cost(CHEAP);
    assert!(!pace.are_cheap(1));
    cost(SECOND);
    assert!(!pace.are_soon_done(2));
    cost(WANTED / 4);
    assert!(pace.are_soon_done(4) && !pace.are_soon_done(5));
    assert!(!pace.are_soon_done(usize::MAX));
    cost(SECOND);
    assert!(!pace.is_short_pair(2));
    (0..CALM / 10).for_each(|_| cost(PAIR / 2));
    assert!(!pace.is_short_pair(2), "not for long enough");
    cost(PAIR / 2);
    assert!(pace.is_short_pair(2) && !pace.is_short_pair(3));
    cost(PAIR);
    assert!(pace.is_short_pair(1) && !pace.is_short_pair(2));
    cost(PAIR / 2);
    pace.ran(1, in_64_bits(2 * PAIR));
    cost(PAIR / 2);
    assert!(!pace.is_short_pair(2), "one was long lately");
}

/// A look at an injector that holds `injected` tasks, with `queued` in the deque and `channel` in the
/// channel. Returns how many came from the injector.
fn look(intake: &Policy, queued: usize, channel: usize, injected: usize) -> usize {
    let room = intake.begin_intake(queued);
    let brought = injected.min(room);
    if room != 0 {
        intake.brought(room, brought, queued + channel + brought);
    }
    intake.end_intake(room, brought, channel + brought);
    brought
}

fn pauses(intake: &Policy) -> usize {
    (0..).take_while(|_| intake.pauses()).count()
}

#[test]
fn the_next_look_comes_after_as_many_ticks_as_the_last_one_brought() {
    for (channel, injected, pause) in
        [(0, 0, 0), (0, 7, 7), (3, 0, 3), (3, 7, 10), (0, 9_999, INTAKE)]
    {
        let intake = Policy::new();
        look(&intake, 5, channel, injected);
        assert_eq!(
            pauses(&intake),
            pause,
            "{channel} from the channel, {injected} from the injector"
        );
    }
}

#[test]
fn a_pass_brings_in_so_many_and_ends_when_its_tasks_are_popped() {
    let intake = Policy::new();
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
    let intake = Policy::new();
    look(&intake, 0, 0, 9_999);
    look(&intake, INTAKE, 0, 9_999);
    assert_eq!(pauses(&intake), FAIR_INTERVAL as usize - 1);
}

#[test]
fn a_small_rest_of_the_room_is_left() {
    let intake = Policy::new();
    assert_eq!(look(&intake, 0, 0, INTAKE / 2), INTAKE / 2);
    assert_eq!(look(&intake, INTAKE / 2, 0, 9_999), INTAKE / 2);
    assert_eq!(look(&intake, INTAKE, 0, 9_999), 0);
    let intake = Policy::new();
    assert_eq!(look(&intake, 0, 0, INTAKE / 2 + 1), INTAKE / 2 + 1);
    assert_eq!(look(&intake, INTAKE, 0, 9_999), 0);
}

#[test]
fn a_deque_that_thieves_have_emptied_ends_the_pass_and_the_pause() {
    let intake = Policy::new();
    look(&intake, 10, 0, 9_999);
    assert!(!intake.is_intake_due(10));
    assert!(intake.is_intake_due(0));
    assert_eq!(look(&intake, 0, 0, 9_999), INTAKE);
    let intake = Policy::new();
    look(&intake, 10, 0, 9_999);
    intake.popped(false);
    assert_eq!(look(&intake, 40, 0, 9_999), INTAKE);
}

proptest! {
    /// The bound in worker/next_task.rs rests on this: whatever comes from the injector and whatever thieves
    /// take, the deque holds no more than the worker's own tasks and two passes' intake.
    #[test]
    fn the_deque_holds_the_own_tasks_and_two_passes_at_the_most(
        own in 0usize..2_000,
        steps in prop::collection::vec((0usize..700, 0usize..1_500, 0usize..50), 1..60),
    ) {
        let intake = Policy::new();
        // The deque is FIFO: own tasks (`true`) come back to its end after a pop, others do not.
        let mut deque: std::collections::VecDeque<bool> = (0..own).map(|_| true).collect();
        for (pops, injected, stolen) in steps {
            for _ in 0..pops {
                if !intake.pauses() {
                    let brought = look(&intake, deque.len(), 0, injected);
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
