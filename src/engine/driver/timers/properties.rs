//! Timers in several shards beside a list that is searched from end to end: sequences of polls, resets and
//! drops over centuries. The timers are told the time, so it is the model's; only the first poll of a timer
//! reads the real clock, and sees a deadline that is a day or more away.

use super::{TimerEntry, since};
use crate::engine::driver::Driver;
use crate::engine::driver::wheel::due_at;
use crate::engine::driver::wheel::properties::{DAY, When, YEAR, step, when};
use crate::engine::rng::tests::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

#[derive(Debug, Clone)]
enum Op {
    /// In this shard; polled at once, or by a later operation.
    Make(usize, When, bool),
    /// The timer at this place, modulo their number, by the first or the second of its tasks.
    Poll(usize, usize),
    Reset(usize, When),
    Drop(usize),
    Advance(When),
    AdvanceToNext,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..4_usize, when(), prop::bool::weighted(0.9))
            .prop_map(|(shard, when, polled)| Op::Make(shard, when, polled)),
        4 => (any::<usize>(), 0..2_usize).prop_map(|(timer, task)| Op::Poll(timer, task)),
        3 => (any::<usize>(), when()).prop_map(|(timer, when)| Op::Reset(timer, when)),
        2 => any::<usize>().prop_map(Op::Drop),
        3 => step().prop_map(Op::Advance),
        3 => Just(Op::AdvanceToNext),
    ]
}

/// Which tasks were woken, in this order: the number of the timer, and of its task.
type Log = Arc<Mutex<Vec<(usize, usize)>>>;

struct Task {
    log: Log,
    name: (usize, usize),
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.log.lock().unwrap().push(self.name);
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stage {
    /// Never polled, or its end was noticed.
    Idle,
    /// Registered as the how-manieth, to wake this task.
    Waiting { order: usize, task: usize },
    /// Its waker was handed out.
    Fired,
}

struct Timer {
    entry: TimerEntry,
    number: usize,
    shard: usize,
    deadline: u64,
    /// The deadline had passed when it was registered.
    overdue: bool,
    /// It was put off while it waited, so it may come before or after others of its tick.
    put_off: bool,
    stage: Stage,
    tasks: [Waker; 2],
}

impl Timer {
    fn waits(&self) -> bool {
        matches!(self.stage, Stage::Waiting { .. })
    }

    /// By shard, then by tick, then by registration.
    fn place(&self) -> (usize, u64, usize) {
        let Stage::Waiting { order, .. } = self.stage else { unreachable!("it waits") };
        (self.shard, due_at(self.deadline), order)
    }
}

struct Bench {
    driver: Arc<Driver>,
    timers: Vec<Timer>,
    log: Log,
    now: u64,
    made: usize,
    registered: usize,
    last: u64,
    /// When timers that are gone were due: a shard's bound may still name one.
    ghosts: Vec<u64>,
}

impl Bench {
    fn new(shards: usize) -> Self {
        Self {
            driver: Driver::new(shards).expect("a poller"),
            timers: Vec::new(),
            log: Log::default(),
            now: 2 * DAY,
            made: 0,
            registered: 0,
            last: 2 * DAY,
            ghosts: Vec::new(),
        }
    }

    /// The deadline as the timers see it, which on some systems cannot be as late as asked.
    fn deadline(&mut self, when: When) -> (Instant, u64) {
        let epoch = self.driver.timers().epoch;
        let asked = Duration::from_nanos(when.from(self.now, self.last).max(DAY));
        let instant = epoch.checked_add(asked).unwrap_or(epoch + Duration::from_nanos(30 * YEAR));
        self.last = since(epoch, instant);
        (instant, self.last)
    }

    fn apply(&mut self, op: &Op) {
        let count = self.timers.len();
        match *op {
            Op::Make(shard, when, polled) => {
                self.make(shard, when);
                if polled {
                    self.poll(count, 0);
                }
            }
            Op::Advance(step) => self.advance(step.from(self.now, self.last)),
            Op::AdvanceToNext => {
                let next = self.driver.timers().next_deadline();
                next.into_iter().for_each(|next| self.advance(next));
            }
            Op::Poll(..) | Op::Reset(..) | Op::Drop(_) if count == 0 => {}
            Op::Poll(timer, task) => self.poll(timer % count, task),
            Op::Reset(timer, when) => self.reset(timer % count, when),
            Op::Drop(timer) => self.drop(timer % count),
        }
    }

    fn make(&mut self, shard: usize, when: When) {
        let (instant, deadline) = self.deadline(when);
        let number = self.made;
        self.made += 1;
        let shards = self.driver.timers().shards.len();
        let task = |task| Arc::new(Task { log: self.log.clone(), name: (number, task) }).into();
        self.timers.push(Timer {
            entry: TimerEntry::new(self.driver.timers().shard(shard).clone(), instant),
            number,
            shard: shard.min(shards - 1),
            deadline,
            overdue: false,
            put_off: false,
            stage: Stage::Idle,
            tasks: [task(0), task(1)],
        });
    }

    fn enter(&mut self, index: usize, task: usize) {
        let timer = &mut self.timers[index];
        timer.overdue = due_at(timer.deadline) <= self.now;
        timer.put_off = false;
        timer.stage = Stage::Waiting { order: self.registered, task };
        self.registered += 1;
    }

    fn poll(&mut self, index: usize, task: usize) {
        let timer = &mut self.timers[index];
        let polled = timer.entry.poll(&mut Context::from_waker(&timer.tasks[task]));
        match timer.stage {
            Stage::Fired => {
                assert_eq!(polled, Poll::Ready(Ok(())), "lost");
                timer.stage = Stage::Idle;
            }
            Stage::Waiting { order, .. } => {
                assert_eq!(polled, Poll::Pending, "early");
                timer.stage = Stage::Waiting { order, task };
            }
            Stage::Idle => {
                assert_eq!(polled, Poll::Pending, "early");
                self.enter(index, task);
            }
        }
    }

    fn reset(&mut self, index: usize, when: When) {
        let (instant, deadline) = self.deadline(when);
        let timer = &mut self.timers[index];
        timer.entry.reset(instant);
        if timer.waits() {
            self.ghosts.push(due_at(timer.deadline));
        }
        let put_off = deadline >= timer.deadline;
        timer.deadline = deadline;
        match timer.stage {
            Stage::Waiting { task, .. } => {
                self.enter(index, task);
                self.timers[index].put_off = put_off;
            }
            // The wake for the old deadline has gone out; the next poll begins anew.
            Stage::Fired | Stage::Idle => timer.stage = Stage::Idle,
        }
    }

    fn drop(&mut self, index: usize) {
        let timer = self.timers.swap_remove(index);
        if timer.waits() {
            self.ghosts.push(due_at(timer.deadline));
        }
    }

    fn advance(&mut self, now: u64) {
        // The last tick never comes.
        self.now = self.now.max(now).min(due_at(u64::MAX) - 1);
        let due = |timer: &&mut Timer| timer.waits() && due_at(timer.deadline) <= self.now;
        let mut due: Vec<&mut Timer> = self.timers.iter_mut().filter(due).collect();
        due.sort_by_key(|timer| timer.place());
        let (mut in_order, mut overdue) = (Vec::new(), Vec::new());
        let mut put_off = BTreeSet::new();
        for timer in due {
            let Stage::Waiting { task, .. } = timer.stage else { unreachable!("only these") };
            let name = (timer.number, task);
            if timer.overdue { &mut overdue } else { &mut in_order }.push(name);
            if timer.put_off {
                put_off.insert(name);
            }
            timer.stage = Stage::Fired;
        }
        self.ghosts.retain(|&ghost| ghost > self.now);
        let mut wakes = Vec::new();
        self.driver.timers().expire(self.now, &mut wakes);
        // The overdue may come at any place: a shard that had nothing to do has not looked at the time.
        let (mut late, told): (Vec<_>, Vec<_>) =
            self.woken(wakes).into_iter().partition(|name| overdue.contains(name));
        assert_eq!(told.len(), in_order.len(), "at {}", self.now);
        let is_bound = |name: &&(usize, usize)| !put_off.contains(*name);
        assert!(
            told.iter().filter(is_bound).eq(in_order.iter().filter(is_bound)),
            "at {}: {told:?}, and not {in_order:?}",
            self.now
        );
        assert_eq!(self.ticks(&told), self.ticks(&in_order), "at {}", self.now);
        late.sort_unstable();
        overdue.sort_unstable();
        assert_eq!(late, overdue, "at {}", self.now);
    }

    /// The shards and ticks of these timers, in this order.
    fn ticks(&self, names: &[(usize, usize)]) -> Vec<(usize, u64)> {
        let of = |&(number, _): &(usize, usize)| {
            let timer = self.timers.iter().find(|timer| timer.number == number);
            timer.map(|timer| (timer.shard, due_at(timer.deadline))).expect("it was woken")
        };
        names.iter().map(of).collect()
    }

    fn woken(&self, wakes: Vec<Waker>) -> Vec<(usize, usize)> {
        wakes.into_iter().for_each(Waker::wake);
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    /// After each operation.
    fn check(&self) {
        let timers = self.driver.timers();
        let next = timers.next_deadline();
        let waiting = || self.timers.iter().filter(|timer| timer.waits());
        let earliest = waiting().map(|timer| due_at(timer.deadline)).min();
        let misled = next.is_some_and(|next| {
            earliest.is_none_or(|due| next < due) && self.ghosts.contains(&next)
        });
        assert!(
            next == earliest || misled,
            "{next:?} is neither {earliest:?} nor of one that has gone"
        );
        for (index, shard) in timers.shards.iter().enumerate() {
            assert_eq!(shard.len(), waiting().filter(|timer| timer.shard == index).count());
        }
    }

    /// Each timer that is left fires, once; or hears that it never will. Nothing keeps a waker.
    fn finish(mut self, closes: bool) {
        let end = due_at(u64::MAX);
        while let Some(next) =
            self.driver.timers().next_deadline().filter(|&next| !closes && next < end)
        {
            self.advance(next);
            self.check();
        }
        let mut wakes = Vec::new();
        self.driver.timers().close(&mut wakes);
        let mut told = self.woken(wakes);
        told.sort_unstable();
        let task = |timer: &Timer| match timer.stage {
            Stage::Waiting { task, .. } => Some((timer.number, task)),
            _ => None,
        };
        let mut left: Vec<_> = self.timers.iter().filter_map(task).collect();
        left.sort_unstable();
        assert_eq!(told, left);
        let in_reach = |timer: &Timer| timer.waits() && due_at(timer.deadline) < end;
        assert!(closes || !self.timers.iter().any(in_reach), "lost");
        self.timers.clear();
        assert_eq!(self.driver.timers().next_deadline(), None);
        assert_eq!(Arc::strong_count(&self.log), 1, "a waker is still kept");
    }
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn timers_behave_like_a_list_whatever_is_done(
        shards in 1..4_usize,
        ops in vec(op(), 0..120),
        closes in prop::bool::weighted(0.3),
    ) {
        let mut bench = Bench::new(shards);
        for op in &ops {
            bench.apply(op);
            bench.check();
        }
        bench.finish(closes);
    }
}
