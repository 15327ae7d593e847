//! Steps of a worker that a test plays.

use super::super::Shared;
use super::{MAX_BEFORE_NOTIFY, Worker};
use crate::engine::driver::Driver;
use crate::engine::park::Parker;
use crate::engine::scheduler::CpuBudget;
use crate::engine::scheduler::here::BlockedInPlace;
use crate::engine::scheduler::lengths::LONG_FROM;
use crate::engine::scheduler::policy::{FAIR_INTERVAL, YIELDS_ALONE};
use crate::engine::scheduler::probe::{Probe, TaskEvent, WorkerProbe};
use crate::engine::slice::Slices;
use crate::engine::sync_shim::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::engine::sync_shim::{Arc, Mutex};
use crate::engine::task::cell::new_send_task;
use crate::engine::task::class::Class;
use crate::engine::task::header::{FutureType, Hot, Runner};
use crate::engine::task::home::Home;
use crate::engine::task::{Polled, RunningTask, TaskId};
use std::future::ready;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::task::Waker;
use std::time::{Duration, Instant};

fn alone() -> (Arc<Shared>, Worker) {
    alone_with(|_| ())
}

fn alone_with(prepare: impl FnOnce(&Shared)) -> (Arc<Shared>, Worker) {
    let shared = Shared::new(1, Driver::new(1).unwrap());
    prepare(&shared);
    shared.size.set_regular(1);
    let worker = Worker::new(shared.clone(), 0);
    shared.slots.get(0).activate(worker.parker().unparker());
    (shared, worker)
}

fn new_task(shared: &Arc<Shared>) -> Hot {
    new_send_task(async {}, shared, Location::caller()).0
}

/// The task yields and is taken again so often; returns how often the driver was polled.
fn polls_in_yields(worker: &Worker, mut task: Hot, yields: usize) -> (Hot, u64) {
    let before = worker.shared().driver.attendance();
    for _ in 0..yields {
        worker.yielded(task);
        task = worker.take_yielded().expect("it has just yielded");
    }
    (task, worker.shared().driver.attendance() - before)
}

#[test]
fn the_driver_is_polled_once_in_a_row_of_yields() {
    let (shared, worker) = alone();
    let task = new_task(&shared);
    let (task, polls) = polls_in_yields(&worker, task, YIELDS_ALONE - 1);
    assert_eq!(polls, 0);
    let (task, polls) = polls_in_yields(&worker, task, 1);
    assert_eq!(polls, 1);
    let (task, polls) = polls_in_yields(&worker, task, 1_000);
    assert_eq!(polls, 0);
    // A task that was ready ends the row.
    worker.spawned(new_task(&shared));
    shared.cancel(worker.take_ready().expect("it was spawned"));
    let (task, polls) = polls_in_yields(&worker, task, 1_000);
    assert_eq!(polls, 1);
    shared.cancel(task);
}

/// Ticks without a task, until the next fair turn, each with a call of `after_tick`; returns how many there
/// were.
fn ticks(worker: &Worker, mut after_tick: impl FnMut(u32)) -> u32 {
    let turns = || worker.shared().driver.attendance();
    let before = turns();
    let ticks = (1..).find(|&tick| {
        assert!(worker.next_task().is_none(), "there is no task");
        after_tick(tick);
        turns() != before
    });
    ticks.expect("a fair turn comes")
}

/// Chooses a tick of each fair turn, and notes when it has come.
struct Chooser {
    after: Arc<AtomicU32>,
    has_come: Arc<AtomicBool>,
}

impl Probe for Chooser {
    fn worker(&self, _: usize, _: u64) -> Box<dyn WorkerProbe> {
        Box::new(Self { after: self.after.clone(), has_come: self.has_come.clone() })
    }

    fn happened_outside(&self, _: TaskEvent) {}

    fn spawned_outside(&self, _: RunningTask, _: FutureType, _: u64) -> (u64, Option<u64>) {
        (u64::MAX, None)
    }

    fn budget(&self, _: &Arc<Shared>, _: Instant) -> Option<CpuBudget> {
        None
    }

    fn looked(&self, _: &Shared, _: Instant) -> bool {
        true
    }

    fn blocked(&self, _: &Shared, _: usize, _: Option<RunningTask>, _: Duration) {}
}

impl WorkerProbe for Chooser {
    fn is_on(&self) -> bool {
        false
    }

    fn step(&self) {}

    fn next_spawn(&self) -> u64 {
        u64::MAX
    }

    fn fair_turn(&self, _: Instant, _: u64, _: u64) {}

    fn choose_tick(&self, _: u64, ticks: u32) -> Option<u32> {
        Some(self.after.load(Ordering::Relaxed) % ticks)
    }

    fn chosen_tick(&self) {
        self.has_come.store(true, Ordering::Relaxed);
    }

    fn happened(&self, _: TaskEvent) {}

    fn spawned(&self, _: RunningTask, _: FutureType, _: u64) -> Option<u64> {
        None
    }

    fn poll_begins(&self, _: RunningTask, _: u64) -> Option<u32> {
        None
    }

    fn followed_poll_begins(&self, _: TaskId) -> bool {
        false
    }

    fn poll_ends(&self, _: RunningTask, _: Polled, _: u64) {}

    fn slept(&self, _: Instant, _: Instant, _: u64) {}

    fn round_ended(&self, _: Instant, _: usize, _: usize) {}
}

#[test]
fn a_chosen_tick_moves_no_fair_turn_and_may_be_any_tick() {
    let (after, has_come) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let chooser = Chooser { after: after.clone(), has_come: has_come.clone() };
    let (_shared, worker) = alone_with(|shared| shared.set_probe(std::sync::Arc::new(chooser)));
    for chosen in 1..FAIR_INTERVAL {
        after.store(chosen, Ordering::Relaxed);
        // Until the fair turn that chooses.
        ticks(&worker, |_| ());
        // Fewer if the system has not let this thread run, so that the ticks seem to be long.
        let interval = worker.policy.interval();
        has_come.store(false, Ordering::Relaxed);
        let mut came_at = None;
        let until_next = ticks(&worker, |tick| {
            if tick < interval && has_come.load(Ordering::Relaxed) {
                came_at.get_or_insert(tick);
            }
        });
        assert_eq!(
            (until_next, came_at),
            (interval, Some(chosen % interval).filter(|&it| it != 0))
        );
    }
}

/// A worker that the test plays, beside one that is parked.
fn beside_a_parked_peer() -> (Arc<Shared>, Worker) {
    let shared = Shared::new(2, Driver::new(1).unwrap());
    shared.size.set_regular(2);
    shared.watchdog.set_unparker(Parker::new().unparker());
    let [worker, peer] = [0, 1].map(|index| {
        let worker = Worker::new(shared.clone(), index);
        shared.slots.get(index).activate(worker.parker().unparker());
        worker
    });
    assert!(shared.idle.announce_park(peer.index(), false));
    (shared, worker)
}

impl Worker {
    fn wake_new(&self) {
        self.woken(new_send_task(async {}, &self.shared, Location::caller()).0);
    }

    fn peer_sleeps(&self) -> bool {
        self.shared.idle.is_parked(1)
    }

    /// How many tasks are queued, in the next slot and behind it. Takes them.
    fn queued(&self) -> [usize; 2] {
        let next = self.own.slot.next.take().into_iter();
        let ready = std::iter::from_fn(|| self.own.ready.pop());
        [
            next.map(|task| self.shared.cancel(task)).count(),
            ready.map(|task| self.shared.cancel(task)).count(),
        ]
    }
}

impl Worker {
    fn push_new(&self) {
        self.own.ready.push(new_send_task(async {}, &self.shared, Location::caller()).0);
    }

    /// Pretends that its tasks have cost `cost` each for a while.
    fn learn(&self, cost: Duration) {
        for _ in 0..100 {
            self.policy.ran(1, cost.as_nanos().try_into().expect("a short time"));
        }
        // The time that the test takes is no task's.
        self.policy.blocked_in_place();
    }
}

const NANOSECOND: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

/// Queues `tasks` tasks, and has a round of the driver call as many wakers, `fired` of them those of
/// timers. Returns whether the peer sleeps on.
fn peer_sleeps_after(tasks: usize, fired: usize, cost: Option<Duration>) -> bool {
    let (_shared, worker) = beside_a_parked_peer();
    cost.into_iter().for_each(|cost| worker.learn(cost));
    (0..tasks).for_each(|_| worker.push_new());
    worker.call_wakers(vec![Waker::noop().clone(); tasks], fired);
    let sleeps = worker.peer_sleeps();
    worker.queued();
    sleeps
}

#[test]
fn a_peer_is_woken_for_events_for_many_timers_and_for_slow_ones() {
    let few = FAIR_INTERVAL as usize;
    assert!(peer_sleeps_after(few, few, None));
    assert!(!peer_sleeps_after(few + 1, few + 1, None), "many timers");
    assert!(!peer_sleeps_after(few, few - 1, None), "an event among timers");
    assert!(peer_sleeps_after(2, 0, Some(NANOSECOND)), "two short tasks");
    assert!(!peer_sleeps_after(2, 0, None), "two that may be long");
    assert!(!peer_sleeps_after(2, 0, Some(SECOND)), "two long ones");
    assert!(!peer_sleeps_after(3, 0, Some(NANOSECOND)), "three");
    assert!(!peer_sleeps_after(2, 2, Some(SECOND)), "slow tasks");
    assert!(peer_sleeps_after(10 * few, 10 * few, Some(NANOSECOND)), "fast ones");
}

#[test]
fn a_batch_of_cheap_tasks_wakes_no_peer_unless_there_is_a_spare() {
    for (cost, spares, sleeps) in
        [(NANOSECOND, 0, true), (SECOND, 0, false), (NANOSECOND, 1, false)]
    {
        let (shared, worker) = beside_a_parked_peer();
        shared.size.set_staying(2 + spares);
        worker.learn(cost);
        let tasks = 2 * MAX_BEFORE_NOTIFY;
        worker.wake_together(|| (0..tasks).for_each(|_| worker.wake_new()));
        assert_eq!(worker.peer_sleeps(), sleeps, "{cost:?} each, {spares} spares");
        assert_eq!(worker.queued(), [0, tasks]);
    }
}

#[test]
fn a_fair_turn_wakes_a_peer_unless_the_tasks_are_cheap_or_soon_done_after_a_sleep() {
    let few = FAIR_INTERVAL as usize;
    for (tasks, cost, sleeps) in
        [(few, None, true), (few + 1, None, false), (few + 1, Some(NANOSECOND), true)]
    {
        let (_shared, worker) = beside_a_parked_peer();
        cost.into_iter().for_each(|cost| worker.learn(cost));
        (0..tasks).for_each(|_| worker.push_new());
        worker.fair_turn();
        assert_eq!(worker.peer_sleeps(), sleeps, "{tasks} tasks, {cost:?} each");
        if cost.is_none() {
            worker.fair_turn();
            assert!(!worker.peer_sleeps(), "without a park in between");
        }
        worker.queued();
    }
}

#[test]
fn the_tasks_before_a_sleep_are_measured_and_the_sleep_is_not() {
    let (_shared, worker) = beside_a_parked_peer();
    let a_second_ago = Instant::now() - SECOND;
    worker.policy.end_sleep();
    worker.busy_since.set(a_second_ago);
    // One of the ticks finds nothing.
    (0..5).for_each(|_| assert!(!worker.policy.is_turn_due()));
    worker.begin_sleep();
    assert_eq!(worker.policy.interval(), 1, "four tasks took a second");
    worker.end_sleep();
    let learnt = worker.policy.interval();
    worker.begin_sleep();
    assert_eq!(worker.policy.interval(), learnt, "nothing ran");
    worker.end_sleep();
    let due = [0; 2].map(|_| worker.policy.is_turn_due());
    assert_eq!(due, [false, true], "the next fair turn comes after one task");
}

#[test]
fn a_fair_turn_wakes_a_peer_for_tasks_that_have_yielded() {
    let (_shared, worker) = beside_a_parked_peer();
    worker.learn(NANOSECOND);
    (0..2).for_each(|_| {
        worker.own.yielded.push(new_send_task(async {}, &worker.shared, Location::caller()).0)
    });
    worker.fair_turn();
    assert!(!worker.peer_sleeps());
    while let Some(task) = worker.own.yielded.pop() {
        worker.shared.cancel(task);
    }
}

#[test]
fn a_batch_notifies_a_peer_once_at_the_end() {
    let (_shared, worker) = beside_a_parked_peer();
    worker.wake_together(|| {
        for _ in 0..3 {
            worker.wake_new();
            // The waker of one may wake others like this.
            worker.wake_together(|| worker.wake_new());
            assert!(worker.peer_sleeps());
        }
    });
    assert!(!worker.peer_sleeps());
    assert_eq!(worker.queued(), [0, 6]);
}

#[test]
fn a_batch_of_one_is_for_the_waker_and_one_of_none_is_nothing() {
    let (_shared, worker) = beside_a_parked_peer();
    worker.wake_together(|| {});
    worker.wake_together(|| worker.wake_new());
    assert!(worker.peer_sleeps());
    assert_eq!(worker.queued(), [1, 0]);
}

#[test]
fn a_large_batch_notifies_a_peer_in_between() {
    let (_shared, worker) = beside_a_parked_peer();
    worker.wake_together(|| {
        (1..MAX_BEFORE_NOTIFY).for_each(|_| worker.wake_new());
        assert!(worker.peer_sleeps());
        worker.wake_new();
        assert!(!worker.peer_sleeps());
    });
    assert_eq!(worker.queued(), [0, MAX_BEFORE_NOTIFY]);
}

#[test]
fn a_panic_among_the_wakers_leaves_no_batch_behind() {
    let (_shared, worker) = beside_a_parked_peer();
    let wake = || {
        worker.wake_new();
        worker.wake_new();
        panic!("a waker");
    };
    assert!(catch_unwind(AssertUnwindSafe(|| worker.wake_together(wake))).is_err());
    assert!(!worker.peer_sleeps());
    assert_eq!(worker.batch.get(), None);
    assert_eq!(worker.queued(), [0, 2]);
}

/// How many ready tasks run, each followed by another one, before the task that has yielded does. Before each
/// of them `before` is called.
fn ready_ones_before(worker: &Worker, mut before: impl FnMut(usize)) -> usize {
    const MOST: usize = 4 * FAIR_INTERVAL as usize;
    let shared = worker.shared();
    let yielded = new_task(shared);
    let id = yielded.identity().id();
    worker.yielded(yielded);
    for ready in 0..MOST {
        before(ready);
        worker.spawned(new_task(shared));
        let task = worker.next_task().expect("one is ready");
        if task.identity().id() == id {
            shared.cancel(task);
            while let Some(task) = worker.next_task() {
                shared.cancel(task);
            }
            return ready;
        }
        shared.cancel(task);
    }
    panic!("the task that has yielded does not run");
}

#[test]
fn a_poll_that_is_owed_comes_at_the_next_fair_turn() {
    let (shared, worker) = alone();
    // The brake is on when the task yields, and comes on again as soon as the poll is made.
    shared.size.set_computing(0);
    while !worker.own.slot.leaves_yielded() {
        worker.spawned(new_task(&shared));
        shared.cancel(worker.next_task().expect("one is ready"));
    }
    let ran = ready_ones_before(&worker, |ready| {
        if ready == 0 {
            shared.size.owe_poll();
            shared.size.set_computing(usize::MAX);
        } else if !shared.size.owes_poll() {
            shared.size.set_computing(0);
        }
    });
    assert!(ran <= FAIR_INTERVAL as usize + 1, "{ran} ready tasks came first");
}

/// Computes for as long as a long poll takes, and waits for a wake; again and again.
async fn computes(waker: Arc<Mutex<Waker>>) {
    std::future::poll_fn(move |cx| {
        let start = Instant::now();
        while start.elapsed() < LONG_FROM {
            std::hint::spin_loop();
        }
        waker.lock().clone_from(cx.waker());
        std::task::Poll::Pending
    })
    .await
}

/// A task of that kind, and what wakes it once it has run.
fn new_computing(shared: &Arc<Shared>) -> (Hot, Arc<Mutex<Waker>>) {
    let waker = Arc::new(Mutex::new(Waker::noop().clone()));
    (new_send_task(computes(waker.clone()), shared, Location::caller()).0, waker)
}

/// Wakes the task of `waker` from outside. Returns it, and whether it was sent to all regular workers instead
/// of its home.
fn woken_outside(shared: &Shared, waker: &Mutex<Waker>) -> (Hot, bool) {
    waker.lock().wake_by_ref();
    let at_home = shared.slots.get(0).channel.take_all().next();
    let is_sent_home = at_home.is_some();
    let task = at_home.or_else(|| shared.queues.yielded.pop());
    (task.expect("it was woken"), !is_sent_home)
}

/// A task of which two polls in a row were long.
fn new_long(shared: &Arc<Shared>, worker: &Worker) -> (Hot, Arc<Mutex<Waker>>) {
    worker.set_timed(true);
    let (mut task, waker) = new_computing(shared);
    for is_long in [false, true] {
        worker.run(task);
        let (woken, is_sent_to_all) = woken_outside(shared, &waker);
        assert_eq!(is_sent_to_all, is_long);
        task = woken;
    }
    (task, waker)
}

#[test]
fn a_woken_task_whose_polls_are_long_lets_ready_ones_run_first() {
    let (shared, worker) = alone();
    let (mut task, waker) = new_long(&shared, &worker);
    let id = task.identity().id();
    let alone: fn(&Worker, Hot) = Worker::woken;
    let in_a_batch: fn(&Worker, Hot) = |worker, task| worker.wake_together(|| worker.woken(task));
    let in_its_poll: fn(&Worker, Hot) = |worker, task| worker.requeue(task);
    for wake in [alone, in_a_batch, in_its_poll] {
        wake(&worker, task);
        worker.spawned(new_task(&shared));
        let first = worker.next_task().expect("two are queued");
        assert!(first.identity().id() != id);
        shared.cancel(first);
        task = worker.next_task().expect("the long one is queued");
        assert!(task.identity().id() == id);
    }
    // A worker that leaves what yields to others leaves this one to them.
    shared.size.set_computing(0);
    worker.own.slot.set_leaves_yielded(true);
    worker.woken(task);
    assert!(worker.next_task().is_none());
    let task = shared.queues.yielded.pop().expect("it is left to others");
    // A worker that times no polls takes each for a short one.
    worker.set_timed(false);
    worker.woken(task);
    worker.run(worker.take_next().expect("it was woken"));
    let (task, is_sent_to_all) = woken_outside(&shared, &waker);
    assert!(!is_sent_to_all);
    shared.cancel(task);
}

/// The worker has seen no class before: it hears of them at a fair turn or after a sleep.
#[test]
fn a_bulk_task_that_another_worker_has_polled_lets_ready_ones_run_first() {
    let (shared, worker) = alone();
    for (class, is_first) in [(Class::Bulk, false), (Class::Latency, true), (Class::Normal, true)] {
        let task = new_task(&shared);
        task.set_home(Home::of_class(class));
        shared.note_classes();
        worker.look_for_long_tasks();
        let id = task.identity().id();
        worker.woken(task);
        worker.spawned(new_task(&shared));
        let order = [(); 2].map(|()| worker.next_task().expect("two are queued"));
        assert_eq!(order[0].identity().id() == id, is_first, "{class:?}");
        order.into_iter().for_each(|task| shared.cancel(task));
    }
}

#[test]
fn what_is_spawned_between_two_polls_has_no_class() {
    let (shared, worker) = alone();
    let (mut task, _) = new_computing(&shared);
    task.set_home(Home::of_class(Class::Bulk));
    for _ in 0..2 {
        worker.run(task);
        let next = new_task(&shared);
        let id = next.identity().id();
        worker.spawned(next);
        task = worker.next_task().expect("it was spawned");
        assert!(task.identity().id() == id && task.home().class() == Class::Normal);
        task.set_home(Home::of_class(Class::Latency));
    }
    shared.cancel(task);
}

/// A new task of a type that does not count as long. Types may share an entry, by their addresses, which are
/// others in each build.
fn new_short(shared: &Arc<Shared>) -> Hot {
    let of_types = [
        new_task(shared),
        new_send_task(ready([0_u8; 3]), shared, Location::caller()).0,
        new_send_task(ready([0_u64; 5]), shared, Location::caller()).0,
        new_send_task(ready([0_u64; 9]), shared, Location::caller()).0,
    ];
    let is_short = |task: &Hot| !shared.long_types.is_long(task.future_type());
    let (short, others): (Vec<_>, Vec<_>) = of_types.into_iter().partition(is_short);
    let mut short = short.into_iter();
    let first = short.next().expect("not all of them share an entry with that of the test");
    short.chain(others).for_each(|task| shared.cancel(task));
    first
}

#[test]
fn a_new_task_lets_ready_ones_run_first_if_first_polls_of_its_type_are_mostly_long() {
    let (shared, worker) = alone();
    worker.set_timed(true);
    let is_first_of_two = |is_timed| {
        worker.set_timed(is_timed);
        let (task, _) = new_computing(&shared);
        let id = task.identity().id();
        worker.spawned(task);
        worker.spawned(new_short(&shared));
        let [first, second] = [(); 2].map(|()| worker.next_task().expect("two are queued"));
        let is_first = first.identity().id() == id;
        shared.cancel(first);
        shared.cancel(second);
        is_first
    };
    assert!(is_first_of_two(true));
    let of = new_computing(&shared).0;
    while !shared.long_types.is_long(of.future_type()) {
        let (task, waker) = new_computing(&shared);
        worker.run(task);
        shared.cancel(woken_outside(&shared, &waker).0);
    }
    assert!(!is_first_of_two(true));
    assert!(is_first_of_two(false), "no poll is timed");
    shared.cancel(of);
}

#[test]
fn a_worker_asks_for_short_slices_while_polls_are_short() {
    let (shared, worker) = alone();
    let chosen = |polls_are_long| {
        shared.watchdog.set_polls_are_long(polls_are_long);
        worker.look_for_long_tasks();
        worker.slices.get().expect("it has looked")
    };
    assert_eq!([false, true, false].map(chosen), [Slices::Short, Slices::Usual, Slices::Short]);
    // What blocks the thread in place may take long. The next look shortens the slices again.
    drop(BlockedInPlace::begin(&worker));
    assert_eq!(worker.slices.get(), Some(Slices::Usual));
    assert_eq!(chosen(false), Slices::Short);
    // The worker that is beyond the regular ones is a helper.
    shared.size.set_regular(0);
    assert_eq!([false, true].map(chosen), [Slices::Shortest; 2]);
}
