use super::{
    BUCKETS, DIGIT_BITS, END, LEVELS, NEVER, OPENED, Reset, TICK_BITS, Wheel, due_at, end_of,
    tick_of,
};
use crate::engine::slab::Key;
use std::collections::BTreeMap;

const TICK: u64 = 1 << TICK_BITS;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const DAY: u64 = 86_400 * SECOND;
const YEAR: u64 = 365 * DAY;

/// xorshift64: the same sequence for the same seed.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

impl<T> Wheel<T> {
    /// All of what is due, few at a time, so that what was left is gone on with.
    pub(crate) fn expire(&mut self, now: u64, expired: &mut Vec<T>) {
        while !self.expire_some(now, 3, expired) {}
    }

    /// Whether the entry was there to be reset.
    pub(super) fn resets(&mut self, key: Key, deadline: u64) -> bool {
        self.reset(key, deadline) != Reset::Gone
    }

    /// Every statement of the header that can be read off the structure.
    pub(super) fn check(&mut self) {
        let mut linked = 0;
        assert!([0, OPENED + 1].contains(&self.buckets.len()));
        if self.buckets.is_empty() {
            assert_eq!(self.occupied, [0; LEVELS]);
        }
        for bucket in 0..self.buckets.len() {
            let list = self.buckets[bucket];
            let end = END + bucket as u32;
            let (mut index, mut previous) = (list.head, end);
            while end_of(index).is_none() {
                let elapsed = self.elapsed;
                let entry = self.entries.at_mut(index);
                let tick = tick_of(entry.deadline);
                assert_eq!(entry.previous, previous);
                assert!(list.earliest <= tick);
                assert!(bucket == OPENED || tick > elapsed);
                (previous, index) = (index, entry.next);
                // In its own bucket, or in one before it if it was put off.
                assert!(bucket == OPENED || bucket <= self.bucket_for(tick));
                linked += 1;
            }
            assert_eq!((list.tail, index), (previous, end));
            if bucket < OPENED {
                let bit = self.occupied[bucket / BUCKETS] >> (bucket % BUCKETS) & 1;
                assert_eq!(bit == 1, list.head != end);
            }
        }
        assert_eq!(linked, self.len());
    }
}

/// The wheel beside a sorted map that does the same slowly.
struct Pair {
    wheel: Wheel<u64>,
    /// (tick at which it expires, order of insertion) → key. `now` decides what is overdue, so the order
    /// among the overdue is not modelled.
    model: BTreeMap<(u64, u64), (Key, u64)>,
    now: u64,
    inserted: u64,
    stale: Vec<Key>,
    expired: Vec<u64>,
}

impl Pair {
    fn new() -> Self {
        Self {
            wheel: Wheel::new(),
            model: BTreeMap::new(),
            now: 0,
            inserted: 0,
            stale: Vec::new(),
            expired: Vec::new(),
        }
    }

    fn insert(&mut self, deadline: u64) {
        let id = self.inserted;
        self.inserted += 1;
        let key = self.wheel.insert(deadline, id);
        self.model.insert((tick_of(deadline), id), (key, deadline));
    }

    fn cancel(&mut self, near: (u64, u64)) {
        let found = self.model.range(near..).next().or_else(|| self.model.iter().next());
        let Some((&place, &(key, _))) = found else {
            return;
        };
        self.model.remove(&place);
        assert_eq!(self.wheel.get_mut(key), Some(&mut { place.1 }));
        assert_eq!(self.wheel.cancel(key), Some(place.1));
        self.forget(key);
    }

    fn forget(&mut self, key: Key) {
        assert_eq!(self.wheel.get_mut(key), None);
        assert_eq!(self.wheel.cancel(key), None);
        if self.stale.len() < 64 {
            self.stale.push(key);
        }
    }

    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        let last = (self.now >> TICK_BITS).min(NEVER - 1);
        let waiting = self.model.split_off(&(last + 1, 0));
        let due = std::mem::replace(&mut self.model, waiting);

        let overdue_before = self.wheel.elapsed;
        self.wheel.expire(self.now, &mut self.expired);
        let mut got = std::mem::take(&mut self.expired);
        assert_eq!(got.len(), due.len(), "at {}", self.now);
        let split = due.range(..=(overdue_before, u64::MAX)).count();
        got[..split].sort_unstable();
        let mut want: Vec<u64> = due.keys().map(|&(_, id)| id).collect();
        want[..split].sort_unstable();
        assert_eq!(got, want, "at {}", self.now);

        for &(key, deadline) in due.values() {
            assert!(deadline <= self.now, "early");
            self.forget(key);
        }
        got.clear();
        self.expired = got;
    }

    fn check_next(&mut self) {
        assert_eq!(self.wheel.len(), self.model.len());
        let Some((&(tick, _), _)) = self.model.iter().next() else {
            assert_eq!(self.wheel.next_deadline(), None);
            return;
        };
        let next = self.wheel.next_deadline().expect("entries wait");
        assert!(next <= (tick << TICK_BITS).max(self.now), "{next} is too late for {tick}");
    }

    /// A poller that sleeps until `next_deadline` and expires, until the wheel is empty or the next entry
    /// lies beyond `end`; returns how often it woke.
    fn run_until(&mut self, end: u64) -> usize {
        let mut wakes = 0;
        while let Some(next) = self.wheel.next_deadline().filter(|&next| next <= end) {
            let before = self.model.len();
            self.advance(next);
            wakes += 1;
            if self.model.len() == before {
                let later = self.wheel.next_deadline().expect("nothing has expired");
                assert!(later > next, "a wake without progress");
            }
        }
        wakes
    }
}

/// Deadlines of all magnitudes, many of them at the edges of ticks and buckets.
fn deadline(random: &mut Random, now: u64) -> u64 {
    let span = match random.below(16) {
        0 => return u64::MAX - random.below(2) * random.below(3 * TICK),
        1 => return random.next(),
        2 => return now.saturating_sub(random.below(SECOND)),
        3 => {
            let bits = TICK_BITS + DIGIT_BITS * random.below(LEVELS as u64) as u32;
            let edge = (now >> bits).saturating_add(1 + random.below(3));
            let edge = edge.saturating_mul(1 << bits);
            return edge.saturating_add(random.below(3)).saturating_sub(1);
        }
        4 | 5 => TICK,
        6..=8 => MS,
        9 | 10 => 100 * MS,
        11 | 12 => 10 * SECOND,
        13 => 3_600 * SECOND,
        14 => 30 * DAY,
        _ => 5 * YEAR,
    };
    now.saturating_add(random.below(span))
}

fn next_now(random: &mut Random, pair: &Pair, calm: bool) -> u64 {
    let step = match random.below(if calm { 10 } else { 14 }) {
        0 => 0,
        1 => 1,
        2..=4 => random.below(TICK),
        5 | 6 => random.below(MS),
        7 => return pair.wheel.next_deadline().unwrap_or(pair.now),
        8 => {
            return pair.wheel.next_deadline().unwrap_or(pair.now).saturating_sub(1);
        }
        // Not a step at all: a reading older than the last one.
        9 => return pair.now.saturating_sub(random.below(MS)),
        10 => random.below(SECOND),
        11 => random.below(3_600 * SECOND),
        12 => random.below(20 * DAY),
        _ => random.below(YEAR / 4),
    };
    pair.now.saturating_add(step)
}

fn simulate(seed: u64, operations: u64) {
    let mut random = Random::new(seed);
    let mut pair = Pair::new();
    // Uptime at the start: none, or up to years, or near the end of time.
    pair.advance(match seed % 4 {
        0 => 0,
        1 => random.below(30 * DAY),
        2 => random.below(100 * YEAR),
        _ => u64::MAX - random.below(YEAR),
    });
    for operation in 0..operations {
        let crowded = pair.model.len() > 500;
        match random.below(8) {
            0..=3 if !crowded => pair.insert(deadline(&mut random, pair.now)),
            0..=5 => {
                let near = match random.below(2) {
                    0 => pair.now,
                    _ => pair.now.saturating_add(random.below(SECOND)),
                };
                pair.cancel((tick_of(near), 0));
            }
            6 => {
                let now = next_now(&mut random, &pair, seed % 3 == 0);
                pair.advance(now);
            }
            _ => {
                if let Some(&key) = pair.stale.first() {
                    assert_eq!(pair.wheel.cancel(key), None);
                    assert_eq!(pair.wheel.get_mut(key), None);
                }
                pair.stale.clear();
            }
        }
        pair.check_next();
        if operation % 512 == 0 {
            pair.wheel.check();
        }
    }
    pair.wheel.check();
    // What is left, in the order of time, with as few wakes as entries and levels allow.
    let left = pair.model.len();
    let wakes = pair.run_until((NEVER - 1) << TICK_BITS);
    assert!(wakes <= left * LEVELS + LEVELS * BUCKETS);
    assert!(pair.model.range(..(NEVER, 0)).next().is_none());
    pair.wheel.check();
}

#[test]
fn behaves_like_a_sorted_map() {
    for seed in 0..24 {
        simulate(seed, 20_000);
    }
}

/// Short timers that are cancelled as a rule, as timeouts are, over ten years.
#[test]
fn years_of_timeouts() {
    let mut random = Random::new(7);
    let mut pair = Pair::new();
    for _ in 0..50_000 {
        pair.insert(pair.now + 5 * MS + random.below(30 * SECOND));
        pair.insert(pair.now + random.below(2 * 3_600 * SECOND));
        for _ in 0..2 {
            if random.below(8) != 0 {
                pair.cancel((tick_of(pair.now + random.below(3_600 * SECOND)), 0));
            }
        }
        let end = pair.now + random.below(10 * YEAR / 25_000);
        pair.run_until(end);
        pair.advance(end);
        pair.check_next();
    }
    assert!(pair.now > 9 * YEAR);
    pair.wheel.check();
}

#[test]
fn never_early_and_less_than_a_tick_late() {
    for start in [0, 1, TICK - 1, TICK, 12 * DAY, 30 * YEAR + 12_345] {
        for delay in [1, TICK - 1, TICK, TICK + 1, MS, 268 * MS, 18 * SECOND, 25 * DAY, YEAR] {
            let mut wheel = Wheel::new();
            let mut expired = Vec::new();
            wheel.expire(start, &mut expired);
            let deadline = start + delay;
            wheel.insert(deadline, ());
            wheel.expire(deadline - 1, &mut expired);
            assert!(expired.is_empty(), "early: {start} + {delay}");
            let due = due_at(deadline);
            assert!((deadline..deadline + TICK).contains(&due));
            assert_eq!(wheel.next_deadline(), Some(due), "one wake is enough");
            wheel.expire(due - 1, &mut expired);
            assert!(expired.is_empty(), "early: {start} + {delay}");
            wheel.expire(due, &mut expired);
            assert_eq!(expired.len(), 1, "late: {start} + {delay}");
        }
    }
}

#[test]
fn a_lone_timer_costs_one_wake_however_far_it_is() {
    for delay in [0, 1, MS, SECOND, DAY, 25 * DAY, 30 * YEAR, 500 * YEAR] {
        let mut pair = Pair::new();
        pair.advance(12 * DAY + 34_567);
        pair.insert(pair.now + delay);
        assert_eq!(pair.run_until(u64::MAX), 1);
        assert!(pair.model.is_empty());
    }
}

#[test]
fn a_far_timer_does_not_delay_a_near_one() {
    // The pattern that broke wheels elsewhere: an entry on a high level, then days of short ones.
    let mut pair = Pair::new();
    pair.insert(400 * DAY);
    pair.insert(u64::MAX);
    for day in 0..100 {
        for near in [MS, 10 * MS, 3 * SECOND, 300 * SECOND] {
            let deadline = day * DAY + near;
            pair.insert(deadline);
            assert!(pair.wheel.next_deadline().unwrap() <= due_at(deadline));
            pair.advance(due_at(deadline));
            assert_eq!(pair.model.len(), 2);
        }
    }
    assert_eq!(pair.run_until(401 * DAY), 1);
    assert_eq!(pair.model.len(), 1);
}

#[test]
fn the_end_of_time_never_comes() {
    let mut wheel = Wheel::new();
    let mut expired = Vec::new();
    wheel.insert(u64::MAX, 1);
    wheel.insert(NEVER << TICK_BITS, 2);
    wheel.insert((NEVER - 1) << TICK_BITS, 3);
    assert!(wheel.next_deadline().unwrap() <= (NEVER - 1) << TICK_BITS);
    wheel.expire(u64::MAX - 2 * TICK, &mut expired);
    assert!(expired.is_empty());
    wheel.expire(u64::MAX, &mut expired);
    assert_eq!(expired, [3]);
    wheel.expire(u64::MAX, &mut expired);
    assert_eq!(expired, [3]);
    assert_eq!(wheel.next_deadline(), Some(NEVER << TICK_BITS));
    assert_eq!(wheel.len(), 2);
    wheel.check();
}

#[test]
fn the_overdue_expire_at_the_next_call() {
    let mut wheel = Wheel::new();
    let mut expired = Vec::new();
    wheel.expire(10 * SECOND, &mut expired);
    wheel.insert(0, 1);
    let cancelled = wheel.insert(9 * SECOND, 2);
    wheel.insert(10 * SECOND, 3);
    assert!(wheel.next_deadline().unwrap() <= 10 * SECOND);
    assert_eq!(wheel.cancel(cancelled), Some(2));
    wheel.check();
    // Even if the caller's clock reading is older than the last one.
    wheel.expire(SECOND, &mut expired);
    wheel.expire(10 * SECOND + TICK, &mut expired);
    assert_eq!(expired, [1, 3]);
    assert_eq!(wheel.next_deadline(), None);
}

#[test]
fn equal_deadlines_expire_in_the_order_of_insertion() {
    let mut wheel = Wheel::new();
    let mut expired = Vec::new();
    let deadline = 20 * SECOND;
    for n in 0..1_000 {
        wheel.insert(deadline, n);
        // Moves `elapsed`, so that entries are inserted at every distance.
        wheel.expire(n * 20 * MS, &mut expired);
    }
    assert!(expired.is_empty());
    wheel.expire(deadline + TICK, &mut expired);
    assert!(expired.iter().copied().eq(0..1_000));
}

#[test]
fn a_long_absence_costs_no_more_than_the_entries() {
    let mut wheel = Wheel::new();
    let mut expired = Vec::new();
    for n in 0..1_000_u64 {
        wheel.insert(n * (YEAR / 2), n);
    }
    // Tick by tick this would take 10^14 steps.
    wheel.expire(501 * YEAR, &mut expired);
    assert!(expired.iter().copied().eq(0..1_000));
}

#[test]
fn a_cancelled_deadline_misleads_at_most_once() {
    let mut wheel = Wheel::new();
    let mut expired = Vec::new();
    let soon = wheel.insert(10 * SECOND, 1);
    wheel.insert(10 * SECOND + 5 * MS, 2);
    wheel.cancel(soon);
    let next = wheel.next_deadline().unwrap();
    wheel.expire(next, &mut expired);
    assert!(expired.is_empty());
    assert_eq!(wheel.next_deadline(), Some(due_at(10 * SECOND + 5 * MS)));
}

/// A timeout of thirty seconds that a message each millisecond puts off, for a day.
#[test]
fn a_timeout_that_is_put_off_costs_a_wake_per_length_of_it() {
    const TIMEOUT: u64 = 30 * SECOND;
    let mut wheel = Wheel::new();
    let mut expired = Vec::new();
    let key = wheel.insert(TIMEOUT, 7);
    let (mut now, mut wakes) = (0, 0);
    while now < DAY {
        now += MS;
        if wheel.next_deadline().expect("it waits") <= now {
            wheel.expire(now, &mut expired);
            wakes += 1;
        }
        assert!(wheel.resets(key, now + TIMEOUT));
    }
    assert!(expired.is_empty());
    assert!(wakes <= DAY / TIMEOUT, "{wakes} wakes");
    wheel.check();
    wheel.expire(due_at(now + TIMEOUT) - 1, &mut expired);
    assert!(expired.is_empty(), "early");
    wheel.expire(due_at(now + TIMEOUT), &mut expired);
    assert_eq!(expired, [7]);
}

#[test]
fn a_deadline_that_is_put_off_and_brought_forward_again_is_kept() {
    for (first, second, third) in [(5, 50, 20), (5, 50, 5), (20, 30, 10), (5, 5_000, 2)] {
        let mut wheel = Wheel::new();
        let mut expired = Vec::new();
        let key = wheel.insert(first * SECOND, 1);
        wheel.insert(first * SECOND, 2);
        assert!(wheel.resets(key, second * SECOND));
        assert!(wheel.resets(key, third * SECOND));
        wheel.check();
        wheel.expire(due_at(third * SECOND) - 1, &mut expired);
        assert!(!expired.contains(&1), "early");
        wheel.expire(due_at(third * SECOND), &mut expired);
        assert!(expired.contains(&1), "late");
        assert!(!wheel.resets(key, second * SECOND), "it has expired");
        wheel.check();
    }
}

/// The bucket of an entry is known by the ends of its list only: taken out from each place of it, and
/// whether it was put off or not.
#[test]
fn an_entry_that_was_put_off_leaves_the_bucket_it_lies_in() {
    for victim in 0..3 {
        for put_off in [false, true] {
            for far in [1, 100, 10_000_000] {
                let mut wheel = Wheel::new();
                let keys = [0, 1, 2].map(|value| wheel.insert(SECOND, value));
                if put_off {
                    assert!(wheel.resets(keys[victim], SECOND + far * TICK));
                }
                assert_eq!(wheel.cancel(keys[victim]), Some(victim));
                wheel.check();
                let mut expired = Vec::new();
                wheel.expire(2 * SECOND, &mut expired);
                assert_eq!(expired.len(), 2);
                assert_eq!(wheel.next_deadline(), None);
            }
        }
    }
}

#[test]
fn the_earliest_deadline_is_not_one_that_was_put_off() {
    let mut wheel = Wheel::new();
    let first = wheel.insert(SECOND, 1);
    wheel.insert(2 * SECOND, 2);
    wheel.insert(2 * SECOND + 1, 3);
    assert!(wheel.resets(first, 3 * SECOND));
    assert_eq!(wheel.earliest(), Some(2 * SECOND));
    wheel.check();
    let mut expired = Vec::new();
    wheel.expire_exactly(2 * SECOND, &mut expired);
    assert_eq!(expired, [(2 * SECOND, 2)]);
    // One that was overdue, too.
    let overdue = wheel.insert(0, 4);
    assert!(wheel.resets(overdue, 4 * SECOND));
    assert_eq!(wheel.earliest(), Some(2 * SECOND + 1));
    wheel.check();
    wheel.expire_exactly(4 * SECOND, &mut expired);
    expired.sort_unstable();
    assert_eq!(expired[1..], [(2 * SECOND + 1, 3), (3 * SECOND, 1), (4 * SECOND, 4)]);
}

#[test]
fn a_value_can_be_replaced_while_it_waits() {
    let mut wheel = Wheel::new();
    let mut expired = Vec::new();
    let key = wheel.insert(SECOND, "old");
    *wheel.get_mut(key).unwrap() = "new";
    wheel.expire(2 * SECOND, &mut expired);
    assert_eq!(expired, ["new"]);
    assert_eq!(wheel.get_mut(key), None);
}

/// Most of what a shard could have is never asked for.
#[test]
fn a_wheel_that_holds_nothing_has_no_buckets() {
    let mut wheel = Wheel::<u8>::new();
    let mut expired = Vec::new();
    for now in [0, DAY, YEAR] {
        wheel.expire(now, &mut expired);
        wheel.expire_exactly(now, &mut Vec::new());
        assert_eq!((wheel.next_deadline(), wheel.earliest()), (None, None));
    }
    assert!(wheel.buckets.is_empty() && expired.is_empty());
    // Time has passed for it all the same.
    wheel.insert(DAY, 1);
    wheel.expire(0, &mut expired);
    assert_eq!(expired, [1]);
    wheel.check();
    wheel.drain(&mut Vec::new());
}

#[test]
fn drain_takes_everything() {
    let mut wheel = Wheel::new();
    wheel.expire(SECOND, &mut Vec::new());
    for n in 0..1_000 {
        wheel.insert(n * n * MS, n);
    }
    let mut values: Vec<u64> = Vec::new();
    // Some have been opened and not looked at.
    assert!(!wheel.expire_some(DAY, 7, &mut values));
    wheel.drain(&mut values);
    values.sort_unstable();
    assert!(values.into_iter().eq(0..1_000));
}

/// Between two calls other entries come and go, and deadlines are set anew.
#[test]
fn a_wheel_of_which_some_has_expired_is_as_good_as_ever() {
    for most in [1, 2, 3] {
        let mut wheel = Wheel::new();
        let keys: Vec<_> = (0..20).map(|n| wheel.insert(SECOND + n / 4 * DAY, n)).collect();
        let mut expired = Vec::new();
        assert!(!wheel.expire_some(2 * SECOND, most, &mut expired));
        assert_eq!(expired.len(), most);
        wheel.check();
        assert!(wheel.next_deadline().unwrap() <= 2 * SECOND);
        // One that is about to be looked at is cancelled, others are put off and brought forward.
        let (next, last) = (keys[most], keys[19]);
        let cancelled = wheel.cancel(next);
        assert!(wheel.resets(last, 3 * SECOND));
        assert!(wheel.resets(keys[10], 4 * DAY));
        wheel.insert(3 * SECOND / 2, 20);
        wheel.check();
        while !wheel.expire_some(2 * SECOND, most, &mut expired) {
            wheel.check();
        }
        expired.extend(cancelled);
        expired.sort_unstable();
        assert_eq!(expired, [0, 1, 2, 3, 20], "{most} at a time");
        wheel.expire(due_at(3 * SECOND), &mut expired);
        assert_eq!(expired[5..], [19]);
        wheel.expire(9 * DAY, &mut expired);
        assert_eq!(expired.len(), 21);
        wheel.check();
    }
}

/// Beside a sorted map, with deadlines that share ticks.
#[test]
fn the_exact_way_knows_deadlines_to_the_nanosecond() {
    for seed in 0..50 {
        let (mut random, mut wheel) = (Random::new(seed), Wheel::new());
        let (mut model, mut now, mut expired) = (BTreeMap::new(), 0, Vec::new());
        for number in 0..2_000_u64 {
            let spread = [3 * TICK, 300 * MS, DAY][random.below(3) as usize];
            let deadline = now + random.below(spread);
            let nth = random.below(model.len().max(1) as u64) as usize;
            let victim = model.iter().nth(nth).map(|(&entry, &key)| (entry, key));
            match (random.below(5), victim) {
                (0..=1, _) => {
                    let key = wheel.insert(deadline, number);
                    model.insert((deadline, number), key);
                }
                (2, Some((entry, key))) => {
                    model.remove(&entry);
                    assert_eq!(wheel.cancel(key), Some(entry.1));
                }
                (3, Some((entry, key))) => {
                    model.remove(&entry);
                    assert!(wheel.resets(key, deadline));
                    model.insert((deadline, entry.1), key);
                }
                _ => {
                    let earliest = model.keys().next().map(|&(deadline, _)| deadline);
                    assert_eq!(wheel.earliest(), earliest);
                    // To the deadline itself, or somewhere around it.
                    let ahead =
                        earliest.unwrap_or(now) + [0, random.below(TICK)][number as usize % 2];
                    now = now.max(ahead);
                    wheel.expire_exactly(now, &mut expired);
                    wheel.check();
                    expired.sort_by_key(|&(deadline, _)| deadline);
                    for (deadline, number) in expired.drain(..) {
                        let first = model.keys().next().expect("expired, so it was there").0;
                        assert_eq!(deadline, first);
                        assert!(model.remove(&(deadline, number)).is_some());
                    }
                    assert!(model.keys().all(|&(deadline, _)| deadline > now));
                }
            }
        }
    }
}

#[test]
fn what_never_comes_is_no_earliest_deadline() {
    let mut wheel = Wheel::new();
    wheel.insert(u64::MAX, ());
    assert_eq!(wheel.earliest(), None);
    let mut expired = Vec::new();
    wheel.expire_exactly(u64::MAX, &mut expired);
    assert!(expired.is_empty());
    wheel.insert(YEAR, ());
    assert_eq!(wheel.earliest(), Some(YEAR));
}
