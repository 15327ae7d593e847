//! The wheel beside a sorted map, over centuries of uptime: sequences of operations that proptest makes up
//! and, when one fails, shortens. `tests.rs` drives the same pair with more operations per run, but shows a
//! failure only as it was found; here the model is exact too, in what is overdue and in `next_deadline`.

use super::{DIGIT_BITS, LEVELS, NEVER, TICK_BITS, Wheel, due_at};
use crate::engine::rng::tests::cases;
use crate::engine::slab::Key;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

pub(in crate::engine::driver) const SECOND: u64 = 1_000_000_000;
pub(in crate::engine::driver) const DAY: u64 = 86_400 * SECOND;
pub(in crate::engine::driver) const YEAR: u64 = 365 * DAY;

/// The next operation. Times are relative, so that an operation keeps its sense when others before it go.
#[derive(Debug, Clone)]
enum Op {
    Insert(When),
    /// The entry at this place among those that wait, modulo their number.
    Cancel(usize),
    Reset(usize, When),
    Replace(usize),
    Advance(When),
    /// Advances to `next_deadline` plus this, like the poller.
    AdvanceToNext(i64),
}

/// A moment, seen from now.
#[derive(Debug, Clone, Copy)]
pub(in crate::engine::driver) enum When {
    In(u64),
    Ago(u64),
    At(u64),
    /// The border of a slot: the level, how many slots ahead, and nanoseconds to add.
    Border(usize, u64, i64),
    /// The deadline that was asked for last.
    Again,
}

impl When {
    pub(in crate::engine::driver) fn from(self, now: u64, last: u64) -> u64 {
        match self {
            When::In(delay) => now.saturating_add(delay),
            When::Ago(delay) => now.saturating_sub(delay),
            When::At(time) => time,
            When::Border(level, slots, offset) => {
                let bits = TICK_BITS + DIGIT_BITS * level as u32;
                let border = (now >> bits).saturating_add(slots).saturating_mul(1 << bits);
                border.saturating_add_signed(offset)
            }
            When::Again => last,
        }
    }
}

/// Delays of every magnitude, from a nanosecond to a year, each as likely as the next.
fn delay() -> impl Strategy<Value = u64> {
    const MOST: &[u64] = &[1, 100, 1 << TICK_BITS, 1_000_000, SECOND, 3_600 * SECOND, DAY, YEAR];
    prop::sample::select(MOST).prop_flat_map(|most| 0..=most)
}

pub(in crate::engine::driver) fn when() -> impl Strategy<Value = When> {
    prop_oneof![
        8 => delay().prop_map(When::In),
        1 => Just(When::In(0)),
        1 => Just(When::In(25 * DAY)),
        1 => delay().prop_map(When::Ago),
        1 => (0..3_u64 << TICK_BITS).prop_map(|before| When::At(u64::MAX - before)),
        1 => Just(When::At(0)),
        1 => (0..u64::MAX).prop_map(When::At),
        4 => (0..LEVELS, 0..130_u64, -1..=1_i64)
            .prop_map(|(level, slots, offset)| When::Border(level, slots, offset)),
        2 => Just(When::Again),
    ]
}

/// How far time goes: as deadlines lie, but seldom to the end of it, after which all is overdue.
pub(in crate::engine::driver) fn step() -> impl Strategy<Value = When> {
    prop_oneof![
        10 => delay().prop_map(When::In),
        1 => delay().prop_map(When::Ago),
        6 => (0..6_usize, 0..3_u64, -1..=1_i64)
            .prop_map(|(level, slots, offset)| When::Border(level, slots, offset)),
        1 => (0..YEAR).prop_map(|more| When::In(20 * YEAR + more)),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => when().prop_map(Op::Insert),
        3 => any::<usize>().prop_map(Op::Cancel),
        4 => (any::<usize>(), when()).prop_map(|(index, when)| Op::Reset(index, when)),
        1 => any::<usize>().prop_map(Op::Replace),
        4 => step().prop_map(Op::Advance),
        4 => prop_oneof![Just(0), Just(-1), Just(1)].prop_map(Op::AdvanceToNext),
    ]
}

/// The tick that has begun at `now`; the last one never does.
fn begun(now: u64) -> u64 {
    (now >> TICK_BITS).min(NEVER - 1)
}

struct Entry {
    key: Key,
    deadline: u64,
    value: u64,
    /// It was put off, so within its tick it may come at any place.
    put_off: bool,
}

/// The same promises, kept by looking at everything.
#[derive(Default)]
struct Model {
    now: u64,
    inserted: u64,
    /// How many places among the waiting were ever given.
    placed: u64,
    last: u64,
    /// By tick, then by insertion: what the wheel hands out in this order. What was overdue when it was
    /// inserted has tick 0 here, since it comes first.
    waiting: BTreeMap<(u64, u64), Entry>,
    /// Ticks of entries that were cancelled or put off; `next_deadline` may name each of them once.
    ghosts: BTreeSet<u64>,
    gone: Vec<Key>,
}

impl Model {
    fn pick(&self, index: usize) -> Option<(u64, u64)> {
        let index = index.checked_rem(self.waiting.len())?;
        self.waiting.keys().nth(index).copied()
    }

    fn place(&mut self, entry: Entry) {
        let tick = due_at(entry.deadline) >> TICK_BITS;
        let tick = if tick <= begun(self.now) { 0 } else { tick };
        self.waiting.insert((tick, self.placed), entry);
        self.placed += 1;
    }

    /// Takes an entry out of its place, of which `next_deadline` may go on to speak.
    fn take(&mut self, index: usize) -> Option<Entry> {
        let place = self.pick(index)?;
        self.ghosts.insert(place.0.max(begun(self.now)));
        self.waiting.remove(&place)
    }
}

/// The entries that have expired are those that are due, in the order of ticks; and in the order of places
/// within a tick, but for entries that were put off.
fn check_order(expired: &[u64], due: &BTreeMap<(u64, u64), Entry>, now: u64) {
    let known: BTreeMap<u64, _> =
        due.iter().map(|(place, entry)| (entry.value, (place, entry.put_off))).collect();
    let place = |value: &u64| *known.get(value).unwrap_or_else(|| panic!("{value:x} at {now}"));
    assert_eq!(expired.len(), due.len(), "at {now}: {expired:x?}");
    assert!(expired.iter().map(|value| place(value).0.0).is_sorted(), "at {now}: {expired:x?}");
    let in_order = expired.iter().map(place).filter(|&(_, put_off)| !put_off);
    assert!(in_order.map(|(place, _)| place).is_sorted(), "at {now}: {expired:x?}");
    assert_eq!(expired.iter().collect::<BTreeSet<_>>().len(), due.len(), "twice at {now}");
}

struct Pair {
    wheel: Wheel<u64>,
    model: Model,
}

impl Pair {
    fn new() -> Self {
        Self { wheel: Wheel::new(), model: Model::default() }
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Insert(when) => self.insert(when.from(self.model.now, self.model.last)),
            Op::Cancel(index) => self.cancel(index),
            Op::Reset(index, when) => {
                self.reset(index, when.from(self.model.now, self.model.last));
            }
            Op::Replace(index) => self.replace(index),
            Op::Advance(step) => self.advance(step.from(self.model.now, self.model.last)),
            Op::AdvanceToNext(offset) => {
                if let Some(next) = self.wheel.next_deadline() {
                    self.advance(next.saturating_add_signed(offset));
                }
            }
        }
    }

    fn insert(&mut self, deadline: u64) {
        let value = self.model.inserted;
        let key = self.wheel.insert(deadline, value);
        let model = &mut self.model;
        model.place(Entry { key, deadline, value, put_off: false });
        model.inserted += 1;
        model.last = deadline;
    }

    fn cancel(&mut self, index: usize) {
        let Some(entry) = self.model.take(index) else { return };
        assert_eq!(self.wheel.cancel(entry.key), Some(entry.value));
        self.model.gone.push(entry.key);
    }

    fn reset(&mut self, index: usize, deadline: u64) {
        let Some(entry) = self.model.take(index) else { return };
        assert!(self.wheel.resets(entry.key, deadline));
        let put_off = deadline >= entry.deadline;
        self.model.place(Entry { deadline, put_off, ..entry });
        self.model.last = deadline;
    }

    fn replace(&mut self, index: usize) {
        let Some(place) = self.model.pick(index) else { return };
        let entry = self.model.waiting.get_mut(&place).expect("picked");
        let value = self.wheel.get_mut(entry.key).expect("it waits");
        assert_eq!(*value, entry.value);
        *value |= 1 << 63;
        entry.value |= 1 << 63;
    }

    fn advance(&mut self, now: u64) {
        self.model.now = self.model.now.max(now);
        let begun = begun(self.model.now);
        let waiting = self.model.waiting.split_off(&(begun + 1, 0));
        let due = std::mem::replace(&mut self.model.waiting, waiting);
        self.model.ghosts = self.model.ghosts.split_off(&(begun + 1));
        let mut expired = Vec::new();
        self.wheel.expire(now, &mut expired);
        check_order(&expired, &due, self.model.now);
        for entry in due.into_values() {
            assert!(entry.deadline <= self.model.now, "early");
            self.model.gone.push(entry.key);
        }
    }

    /// After each operation.
    fn check(&mut self) {
        let next = self.wheel.next_deadline();
        let model = &self.model;
        let earliest = model.waiting.keys().next().map(|&(tick, _)| tick);
        // Overdue: any moment that has come will do.
        let expected = earliest.map(|tick| tick.max(begun(model.now)));
        let next = next.map(|next| next >> TICK_BITS);
        let misled = next < expected && next.is_some_and(|next| model.ghosts.contains(&next));
        assert!(next == expected || misled, "{next:?} is neither {expected:?} nor cancelled");
        assert_eq!(self.wheel.len(), model.waiting.len());
        if let Some(&key) = model.gone.last() {
            assert_eq!(self.wheel.get_mut(key), None);
            assert_eq!(self.wheel.cancel(key), None);
            assert!(!self.wheel.resets(key, 0));
        }
    }

    /// A poller that sleeps from deadline to deadline empties the wheel, but for what never comes.
    fn finish(mut self) {
        let ticks: BTreeSet<u64> = self.model.waiting.keys().map(|&(tick, _)| tick).collect();
        let bound = ticks.union(&self.model.ghosts).count();
        let end = (NEVER - 1) << TICK_BITS;
        let mut wakes = 0;
        while let Some(next) = self.wheel.next_deadline().filter(|&next| next <= end) {
            self.advance(next);
            self.check();
            wakes += 1;
        }
        assert!(wakes <= bound, "{wakes} wakes for {bound} ticks");
        assert!(self.model.waiting.keys().all(|&(tick, _)| tick == NEVER), "lost");
        self.wheel.check();
        for index in (0..self.model.waiting.len()).rev() {
            self.cancel(index);
        }
        let gone = std::mem::take(&mut self.model.gone);
        assert_eq!(gone.len() as u64, self.model.inserted, "each ends once");
        assert!(gone.into_iter().all(|key| self.wheel.cancel(key).is_none()));
        assert_eq!((self.wheel.len(), self.wheel.next_deadline()), (0, None));
    }
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn behaves_like_a_sorted_map_whatever_is_done(
        start in prop_oneof![Just(0), 0..500 * YEAR, u64::MAX - YEAR..=u64::MAX],
        ops in vec(op(), 0..150),
    ) {
        let mut pair = Pair::new();
        pair.advance(start);
        for op in &ops {
            pair.apply(op);
            pair.check();
        }
        pair.wheel.check();
        pair.finish();
    }

    /// Time passes in steps of any size: which ones must not matter, nor what was asked in between.
    #[test]
    fn how_often_time_is_told_changes_nothing(
        deadlines in vec(when(), 1..60),
        steps in vec(step(), 0..60),
    ) {
        let mut fine = Pair::new();
        let mut coarse = Pair::new();
        for when in &deadlines {
            let deadline = when.from(0, 7 * DAY);
            fine.insert(deadline);
            coarse.insert(deadline);
        }
        for step in &steps {
            fine.advance(step.from(fine.model.now, 0));
            fine.check();
        }
        // Without a step, what was overdue from the beginning still waits.
        fine.advance(fine.model.now);
        coarse.advance(fine.model.now);
        coarse.check();
        prop_assert_eq!(fine.wheel.next_deadline(), coarse.wheel.next_deadline());
        fine.finish();
        coarse.finish();
    }
}
