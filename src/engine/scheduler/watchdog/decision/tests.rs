//! The table of `decision.rs`, row by row. Time is a number here: no test waits.

use super::*;

const TICK: Duration = Duration::from_micros(500);
/// At work, with nothing queued.
const BUSY: WorkerSnapshot = WorkerSnapshot {
    progress: 0,
    absent_or_parked: false,
    blocked_in_place: false,
    ready: false,
    yielded: false,
};
const PARKED: WorkerSnapshot = WorkerSnapshot { absent_or_parked: true, ..BUSY };
const READY: WorkerSnapshot = WorkerSnapshot { ready: true, ..BUSY };
const YIELDED: WorkerSnapshot = WorkerSnapshot { yielded: true, ..BUSY };
const BLOCKED: WorkerSnapshot = WorkerSnapshot { blocked_in_place: true, ..BUSY };

/// Looks at a house, one tick after the other.
struct House {
    history: History,
    now: Instant,
    workers: Vec<WorkerSnapshot>,
    regular: usize,
    may_add_spare: bool,
    delivered: bool,
    outside: bool,
    yielded_outside: bool,
    attended: bool,
    attendance: u64,
    closed: bool,
}

impl House {
    fn new(workers: &[WorkerSnapshot]) -> Self {
        let now = Instant::now();
        Self {
            history: History::new(8, 0, now),
            now,
            workers: workers.to_vec(),
            regular: workers.len(),
            may_add_spare: true,
            delivered: false,
            outside: false,
            yielded_outside: false,
            attended: true,
            attendance: 0,
            closed: false,
        }
    }

    /// With spares behind the regular workers.
    fn with_spares(regular: &[WorkerSnapshot], spares: &[WorkerSnapshot]) -> Self {
        Self { regular: regular.len(), ..Self::new(&[regular, spares].concat()) }
    }

    /// The workers at `indices` make `polls` polls each.
    fn polls(&mut self, indices: &[usize], polls: u64) {
        for &index in indices {
            self.workers[index].progress += polls;
        }
    }

    /// What the next look would see.
    fn snapshot(&self) -> Snapshot<'_> {
        Snapshot {
            now: self.now,
            workers: &self.workers,
            regular: self.regular,
            staying: self.workers.len(),
            may_add_spare: self.may_add_spare,
            delivered: self.delivered,
            outside: self.outside,
            yielded_outside: self.yielded_outside,
            parked: self.workers.iter().any(|seen| seen.absent_or_parked && !seen.blocked_in_place),
            closed: self.closed,
            attended: self.attended,
            attendance: self.attendance,
        }
    }

    fn look_after(&mut self, time: Duration) -> Vec<Order> {
        self.now += time;
        let mut orders = Vec::new();
        let mut history = std::mem::replace(&mut self.history, History::new(0, 0, self.now));
        history.decide(&self.snapshot(), &mut orders);
        self.history = history;
        orders
    }

    fn takes_all(&self) -> bool {
        self.history.spares_take_all(&self.snapshot())
    }

    fn look(&mut self) -> Vec<Order> {
        self.look_after(TICK)
    }

    /// Both workers make `polls` polls, then comes a look.
    fn polls_and_looks(&mut self, polls: u64) -> Vec<Order> {
        self.polls(&[0, 1], polls);
        self.look()
    }

    /// Takes `count` looks; returns everything that was ordered, and how often.
    fn looks(&mut self, count: u32) -> Vec<(Order, u32)> {
        let mut sums: Vec<(Order, u32)> = Vec::new();
        for order in (0..count).flat_map(|_| self.look()) {
            match sums.iter_mut().find(|(known, _)| *known == order) {
                Some((_, sum)) => *sum += 1,
                None => sums.push((order, 1)),
            }
        }
        sums
    }
}

#[test]
fn busy_workers_need_nothing() {
    let mut house = House::new(&[READY, YIELDED]);
    for _ in 0..1_000 {
        house.polls(&[0, 1], 20);
        assert_eq!(house.look(), []);
    }
}

/// The pauses before the next looks, each of which sees what `change` has made of the house.
fn pauses(house: &mut House, mut change: impl FnMut(&mut House)) -> [Duration; 5] {
    let mut pause = LOOK;
    [(); 5].map(|()| {
        change(house);
        let orders = house.look_after(pause);
        pause = house.history.next_pause(&house.snapshot(), &orders, pause);
        pause
    })
}

#[test]
fn looks_are_rarer_while_a_worker_is_idle_or_all_are_quick() {
    let [two, four] = [2, 4].map(Duration::from_millis);
    let doubled = |longest: Duration| [2, 4, 8, 16, 32].map(|n| (LOOK * n).min(longest));
    let quick = |house: &mut House| house.polls(&[0, 1], 100);
    let one_quick = |house: &mut House| house.polls(&[0], 100);
    assert_eq!(pauses(&mut House::new(&[BUSY, PARKED]), one_quick), doubled(four));
    assert_eq!(pauses(&mut House::new(&[BLOCKED, PARKED]), |_| {}), doubled(four));
    // An event that is fetched late waits although a worker is idle.
    let mut house = House::new(&[BUSY, PARKED]);
    pauses(&mut house, one_quick);
    assert_eq!(pauses(&mut house, |_| {}), [LOOK; 5]);
    assert_eq!(pauses(&mut House::new(&[BUSY, BUSY]), quick), doubled(two));
    let one_of_them_slow = |house: &mut House| {
        house.polls(&[0], 1);
        house.polls(&[1], 100);
    };
    assert_eq!(pauses(&mut House::new(&[BUSY, BUSY]), one_of_them_slow), doubled(two));
    let mut house = House::new(&[BUSY, BUSY]);
    pauses(&mut house, quick);
    let one_of_them_stalled = |house: &mut House| house.polls(&[1], 100);
    assert_eq!(pauses(&mut house, one_of_them_stalled), [LOOK; 5]);
    let all_slow = |house: &mut House| house.polls(&[0, 1], 1);
    assert_eq!(pauses(&mut house, all_slow), [LOOK; 5]);
    // No order, and no idle worker either: the seat is taken by another thread.
    let mut house = House::new(&[BUSY, BUSY]);
    let empty_seat = |house: &mut House| {
        house.polls(&[0, 1], 100);
        house.attended = false;
    };
    assert_eq!(pauses(&mut house, empty_seat), [LOOK; 5]);
}

#[test]
fn an_empty_seat_is_taken_at_the_second_look_that_finds_it_so() {
    let mut house = House::new(&[BUSY]);
    house.attended = false;
    house.attendance = 1;
    house.polls(&[0], 50);
    assert_eq!(house.look(), [], "a worker has sat there since the last look");
    house.polls(&[0], 50);
    assert_eq!(house.look(), [Order::Fetch]);
    house.polls(&[0], 50);
    house.history.attendance = 5;
    house.attendance = 5;
    assert_eq!(house.look(), [Order::Fetch], "this thread alone has sat there");
    house.polls(&[0], 50);
    house.attended = true;
    assert_eq!(house.look(), []);
}

#[test]
fn a_parked_peer_is_woken_for_what_is_queued_at_a_slow_worker() {
    for queued in [READY, YIELDED] {
        let mut house = House::new(&[PARKED, queued]);
        assert_eq!(house.look(), [], "it may have begun just now");
        assert_eq!(house.look(), [Order::WakePeer(1)]);
        house.polls(&[1], 1);
        assert_eq!(house.look(), [Order::WakePeer(1)], "it moves, and is slow");
        house.polls(&[1], 10);
        assert_eq!(house.look(), [], "it is quick");
    }
    let mut house = House::new(&[PARKED, BUSY]);
    assert_eq!(house.looks(100), [], "nothing is queued");
}

#[test]
fn a_helper_is_not_woken_for_what_it_leaves_to_the_workers() {
    let mut house = House::with_spares(&[YIELDED, BUSY], &[PARKED]);
    let start = house.now;
    loop {
        house.polls(&[1], 10);
        match house.look()[..] {
            [] => {}
            [Order::Rescue] => break,
            ref other => panic!("{other:?}"),
        }
    }
    assert!(house.now - start >= YIELDED_AFTER);
    let mut idle = House::with_spares(&[YIELDED, PARKED], &[PARKED]);
    idle.look();
    assert_eq!(idle.look(), [Order::WakePeer(0)], "a regular worker is idle");
    let mut blocked = House::with_spares(
        &[YIELDED, WorkerSnapshot { absent_or_parked: true, ..BLOCKED }],
        &[PARKED],
    );
    blocked.look();
    assert_eq!(blocked.look(), [], "that one is not");
}

#[test]
fn a_helper_that_is_parked_is_woken_for_what_has_yielded_behind_polls_that_do_not_end() {
    let mut house = House::with_spares(&[BUSY, BUSY], &[PARKED]);
    house.yielded_outside = true;
    let start = house.now;
    while house.look() != [Order::WakePeer(0)] {
        assert!(house.now - start <= YIELDED_AFTER + 2 * TICK);
    }
    assert!(house.now - start >= YIELDED_AFTER);
}

#[test]
fn workers_that_move_take_what_is_ready_at_one_that_does_not() {
    let mut house = House::new(&[BUSY, READY]);
    let mut looks = 0;
    loop {
        house.polls(&[0], 10);
        looks += 1;
        match house.look()[..] {
            [] => assert!(looks < 10),
            [Order::Rescue] => break,
            ref other => panic!("{other:?}"),
        }
    }
    assert!(TICK * (looks - 1) >= SPARE_AFTER, "too early, at look {looks}");
}

#[test]
fn what_has_yielded_waits_longer_for_others() {
    let mut house = House::new(&[BUSY, YIELDED]);
    let start = house.now;
    loop {
        house.polls(&[0], 10);
        if house.look() == [Order::Rescue] {
            break;
        }
    }
    let waited = house.now - start;
    assert!(waited >= YIELDED_AFTER && waited <= YIELDED_AFTER + 2 * TICK, "{waited:?}");
    assert_eq!(house.history.stall(1, house.now), Stall::Long);
    assert_eq!(house.history.stall(0, house.now), Stall::None);
}

#[test]
fn the_first_spare_comes_when_all_are_slow_or_stalled_and_something_waits() {
    let mut house = House::new(&[READY, BUSY]);
    let start = house.now;
    while house.polls_and_looks(2) != [Order::AddSpare] {
        assert!(house.now - start <= SLOW_FOR + 3 * TICK, "slow, and no spare comes");
    }
    let waited = house.now - start;
    assert!(waited >= SLOW_FOR, "slow: {waited:?}");
    let mut house = House::new(&[READY, BUSY]);
    let start = house.now;
    while house.look() != [Order::AddSpare] {
        assert!(house.now - start <= SPARE_AFTER + 2 * TICK, "stalled, and no spare comes");
    }
    let waited = house.now - start;
    assert!(waited >= SPARE_AFTER, "stalled: {waited:?}");
    let mut quick = House::new(&[READY, BUSY]);
    for _ in 0..100 {
        quick.polls(&[0], 2);
        quick.polls(&[1], 20);
        assert_eq!(quick.look(), [], "one of them is quick");
    }
    let mut served = House::new(&[BUSY, BUSY]);
    served.delivered = true;
    let start = served.now;
    while served.polls_and_looks(2) != [Order::AddSpare] {
        assert!(served.now - start < 2 * SLOW_FOR, "events come, and are served between two looks");
    }
    let mut interrupted = House::new(&[READY, READY]);
    for _ in 0..1_000 {
        interrupted.polls_and_looks(2);
        for _ in 0..5 {
            assert_eq!(interrupted.polls_and_looks(20), [], "now and then both are slow");
        }
    }
    let mut calm = House::new(&[BUSY, YIELDED]);
    for _ in 0..1_000 {
        calm.polls(&[0, 1], 2);
        assert_eq!(calm.look(), [], "nothing is ready");
    }
    let mut late = House::new(&[BUSY, BUSY]);
    assert_eq!(late.looks(9), []);
    late.outside = true;
    assert_eq!(late.look(), [Order::AddSpare], "they have been stalled for long");
}

#[test]
fn each_further_spare_waits_twice_as_long_for_those_before_it() {
    let mut before = Duration::ZERO;
    for spares in 1..6 {
        let mut house = House::with_spares(&[READY, BUSY], &vec![BUSY; spares]);
        let start = house.now;
        while !house.look().contains(&Order::AddSpare) {
            assert!(house.now - start < 2 * LONGEST_SPARE_AFTER);
        }
        let waited = house.now - start;
        assert!(waited > before || waited >= LONGEST_SPARE_AFTER, "{spares} spares: {waited:?}");
        before = waited;
    }
    let mut served = House::with_spares(&[READY, BUSY], &[PARKED]);
    served.look();
    assert_eq!(served.look(), [Order::WakePeer(0)], "the spare is free");
    let mut serving = House::with_spares(&[READY, BUSY], &[BUSY]);
    let mut orders = Vec::new();
    for _ in 0..19 {
        serving.polls(&[2], 1);
        orders.extend(serving.look());
    }
    assert!(!orders.contains(&Order::AddSpare), "the spare moves");
    assert!(orders.contains(&Order::Rescue), "and is told to take what waits at the others");
}

#[test]
fn behind_polls_that_do_not_end_a_spare_comes_for_what_has_yielded() {
    let mut house = House::new(&[YIELDED, BUSY]);
    let start = house.now;
    let first = loop {
        let orders = house.look();
        if orders.contains(&Order::AddSpare) {
            break house.now - start;
        }
    };
    assert!(first >= YIELDED_AFTER && first <= YIELDED_AFTER + 2 * TICK, "{first:?}");
}

#[test]
fn the_last_spare_runs_what_has_yielded_as_a_last_resort() {
    for (may_add_spare, limit) in [(true, YIELDED_AFTER), (false, LAST_RESORT)] {
        let mut house = House::with_spares(&[YIELDED, BUSY], &[PARKED]);
        house.may_add_spare = may_add_spare;
        let start = house.now;
        while !house.takes_all() {
            house.look();
            assert!(house.now - start <= limit + 2 * TICK);
        }
        assert!(house.now - start >= limit);
    }
    let mut blocked = House::with_spares(&[BLOCKED, BLOCKED], &[PARKED]);
    blocked.may_add_spare = false;
    blocked.look();
    assert!(blocked.takes_all(), "it is there in their place");
}

#[test]
fn a_failed_start_is_not_repeated_at_once() {
    let mut house = House::new(&[READY]);
    house.looks(3);
    house.history.failed = Some(house.now);
    let start = house.now;
    while !house.look().contains(&Order::AddSpare) {}
    assert!(house.now - start >= RETRY_AFTER);
}

#[test]
fn spares_leave_when_a_worker_has_been_quick_for_a_while() {
    let mut house = House::with_spares(&[BUSY, BUSY], &[PARKED]);
    let mut easy_for = |time: Duration| {
        let end = house.now + time;
        let mut orders = Vec::new();
        while house.now < end {
            house.polls(&[0, 1], 50);
            orders.extend(house.look());
        }
        orders
    };
    assert_eq!(easy_for(RETIRE_AFTER - TICK), []);
    assert_eq!(easy_for(2 * TICK), [Order::RetireSpares(2)]);
    house.look();
    house.look();
    house.polls(&[0, 1], 50);
    assert_eq!(house.look(), [], "all were slow in between");
    house.workers[0] = BLOCKED;
    for _ in 0..2_000 {
        house.polls(&[0, 1], 50);
        assert_eq!(house.look(), [], "a worker blocks in place");
    }
}

/// Spares that replace no worker leave also while others block in place, but for those before a blocked one.
#[test]
fn as_many_spares_stay_as_workers_block_in_place() {
    let retires = |workers: &[WorkerSnapshot]| {
        let mut house = House::with_spares(&workers[..2], &workers[2..]);
        let mut orders = (0..2_000).flat_map(|_| {
            house.polls(&[0, 1], 50);
            house.look()
        });
        orders.find(|order| matches!(order, Order::RetireSpares(_)))
    };
    let stay = |count| Some(Order::RetireSpares(count));
    assert_eq!(retires(&[BUSY, BUSY, PARKED, PARKED]), stay(2));
    assert_eq!(retires(&[BLOCKED, BUSY, PARKED, PARKED, PARKED]), stay(3));
    assert_eq!(retires(&[BUSY, BUSY, PARKED, BLOCKED, PARKED, PARKED]), stay(4));
    assert_eq!(retires(&[BLOCKED, BUSY, PARKED]), None);
    assert_eq!(retires(&[BUSY, BUSY, PARKED, BLOCKED]), None);
}

#[test]
fn a_poll_that_blocks_the_last_worker_is_reported_once() {
    let reported = |house: &mut House| -> Vec<_> {
        let orders = house.looks(100).into_iter();
        orders.filter(|(order, _)| matches!(order, Order::ReportBlocked(_))).collect()
    };
    let both = [(Order::ReportBlocked(0), 1), (Order::ReportBlocked(1), 1)];
    let mut house = House::with_spares(&[READY, BUSY], &[PARKED]);
    assert_eq!(reported(&mut house), both);
    house.polls(&[0, 1], 1);
    assert_eq!(reported(&mut house), both, "other polls");
    assert_eq!(reported(&mut House::new(&[READY, PARKED])), [], "one worker is free");
    assert_eq!(reported(&mut House::new(&[BUSY, BUSY])), [], "nothing waits");
    let mut blocked = House::new(&[READY, BLOCKED]);
    assert_eq!(
        reported(&mut blocked),
        [(Order::ReportBlocked(0), 1)],
        "the other has said so itself"
    );
}

#[test]
fn workers_that_block_in_place_are_reported_when_no_spare_can_come_for_what_waits() {
    // Its slot has no thread that takes tasks.
    let absent = WorkerSnapshot { absent_or_parked: true, ..BLOCKED };
    let mut house = House::with_spares(&[absent], &[absent]);
    house.may_add_spare = false;
    assert_eq!(house.looks(100), [], "nothing waits");
    house.outside = true;
    assert_eq!(house.looks(100), [(Order::ReportBlocked(0), 1), (Order::ReportBlocked(1), 1)]);
    house.workers[0] = BUSY;
    house.polls(&[0], 1);
    house.looks(2);
    house.workers[0] = absent;
    let reported = |orders: &[(Order, u32)]| orders.contains(&(Order::ReportBlocked(0), 1));
    assert!(reported(&house.looks(100)), "another poll");
}

#[test]
fn the_driver_thread_drains_a_closed_runtime_if_no_worker_does() {
    let closed = |workers: &[WorkerSnapshot]| House { closed: true, ..House::new(workers) };
    let absent = WorkerSnapshot { absent_or_parked: true, ..BLOCKED };
    assert_eq!(closed(&[absent, absent]).look(), [Order::Drain]);
    assert_eq!(closed(&[absent, PARKED]).looks(100), [], "the other one is about to drain");
    let mut house = closed(&[BUSY, absent]);
    for _ in 0..100 {
        house.polls(&[0], 1);
        assert_eq!(house.look(), [], "the other one drains");
    }
    let start = house.now;
    while house.look() != [Order::Drain] {
        assert!(house.now - start <= DRAIN_AFTER + TICK);
    }
    assert!(house.now - start >= DRAIN_AFTER);
    let mut open = House::new(&[READY, BUSY]);
    assert!(!open.looks(100).iter().any(|&(order, _)| order == Order::Drain));
}

#[test]
fn a_worker_that_has_slept_is_not_stalled() {
    let mut house = House::new(&[PARKED, PARKED]);
    house.outside = true;
    house.look_after(Duration::from_secs(9));
    house.workers = vec![BUSY, BUSY];
    assert_eq!(house.look(), [], "it may have begun just now");
    assert_eq!(house.history.stall(0, house.now), Stall::None);
    house.look();
    assert_eq!(house.history.stall(0, house.now), Stall::Short);
}

#[test]
fn polls_are_timed_once_ready_tasks_have_waited_for_long_ones_and_while_there_are_spares() {
    let polls_are_long = |house: &House| house.history.polls_are_long(&house.snapshot());
    let mut house = House::new(&[READY, YIELDED]);
    house.polls_and_looks(100);
    assert!(!polls_are_long(&house), "short polls");
    // As a first spare is asked for, whether there may be one or not.
    house.may_add_spare = false;
    for waited in 1..=SLOW_FOR.div_duration_f64(TICK) as u32 {
        assert!(!polls_are_long(&house), "{waited}");
        house.polls_and_looks(1);
    }
    assert!(polls_are_long(&house));
    for _ in 0..100 {
        house.polls_and_looks(100);
    }
    assert!(!polls_are_long(&house), "it was long ago");
    assert!(polls_are_long(&House::with_spares(&[BUSY; 2], &[PARKED])));
    assert!(!polls_are_long(&House::with_spares(&[BUSY, BLOCKED], &[BUSY])));
}
