//! Everything that a seed decides.
//!
//! A choice has a key: its kind, the entity it is about, and how often that pair has been asked
//! before. The value is a function of the seed and the key alone. So an entity that makes one more
//! choice moves no choice of another one.
//!
//! Most choices are *disturbances*: a thread is held up, a ready thread overtakes another, a packet
//! is lost. A run in which none of them happens is the calm run. Each disturbance can be masked by
//! its key, which is how the runner finds the few that a failure needs.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::str::FromStr;

/// What a choice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A thread does not run for a while, as if the system had given its processor away.
    Pause,
    /// A task's poll begins later than it could.
    Poll,
    /// All polls of a task do.
    Slow,
    /// A thread that became ready later runs first.
    Overtake,
    /// A packet is on its way for longer than the link's shortest time.
    Delay,
    /// A packet is lost.
    Loss,
    /// A datagram arrives twice.
    Duplicate,
    /// A segment is cut at another length.
    Cut,
    /// A fault that the scenario asks for.
    Fault,
    /// What `getrandom` returns.
    Random,
    /// The parameters of the run itself.
    Run,
    /// What the program asked for by `Sim::random`.
    Program,
    /// The clock of a host is wrong, or runs at another rate than the run's.
    Clock,
    /// The program misbehaves at a place at which it asked whether to.
    Buggify,
}

impl Kind {
    pub(crate) const ALL: [(Kind, &str); 14] = [
        (Kind::Pause, "pause"),
        (Kind::Poll, "poll"),
        (Kind::Slow, "slow"),
        (Kind::Overtake, "overtake"),
        (Kind::Delay, "delay"),
        (Kind::Loss, "loss"),
        (Kind::Duplicate, "duplicate"),
        (Kind::Cut, "cut"),
        (Kind::Fault, "fault"),
        (Kind::Random, "random"),
        (Kind::Run, "run"),
        (Kind::Program, "program"),
        (Kind::Clock, "clock"),
        (Kind::Buggify, "buggify"),
    ];

    /// What a disturbance of this kind is, for a reader of a report.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Kind::Pause => "a thread does not run for a while, as if its processor were taken away",
            Kind::Poll => "a poll of a task begins later than it could",
            Kind::Slow => "every poll of a task begins later than it could",
            Kind::Overtake => "a thread that became ready later runs first",
            Kind::Delay => "a packet takes longer than the shortest time of its link",
            Kind::Loss => "a packet is lost",
            Kind::Duplicate => "a datagram arrives twice",
            Kind::Cut => "a part of a stream ends earlier, so that one read gets less of it",
            Kind::Fault => "what the scenario does to a host or a link",
            Kind::Clock => "the clock of a host is wrong, or runs at another rate",
            Kind::Buggify => "the program misbehaves where it asked whether to",
            Kind::Random | Kind::Run | Kind::Program => "a number that the seed draws",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Kind::ALL.iter().find(|(kind, _)| kind == self).map_or("?", |(_, name)| name);
        f.write_str(name)
    }
}

/// The name of one choice in every run of a seed. Written as `kind entity n`, the entity in
/// hexadecimal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    pub(crate) entity: u64,
    pub(crate) n: u64,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:x} {}", self.kind, self.entity, self.n)
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not the key of a choice");
        let mut words = text.split_whitespace();
        let name = words.next().ok_or_else(wrong)?;
        let (kind, _) = Kind::ALL.iter().find(|(_, known)| *known == name).ok_or_else(wrong)?;
        let entity =
            words.next().and_then(|word| u64::from_str_radix(word, 16).ok()).ok_or_else(wrong)?;
        let n = words.next().and_then(|word| word.parse().ok()).ok_or_else(wrong)?;
        Ok(Key { kind: *kind, entity, n })
    }
}

/// A chance in parts of 65,536.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Chance(pub(crate) u32);

impl Chance {
    pub(crate) const NEVER: Chance = Chance(0);
    pub(crate) const ALWAYS: Chance = Chance(65_536);

    /// One in `n`; `n` is at least 1.
    pub(crate) const fn one_in(n: u32) -> Chance {
        Chance(65_536 / n)
    }

    /// One `n`th of this chance; `n` is at least 1.
    pub(crate) fn part(self, n: u32) -> Chance {
        Chance(self.0 / n)
    }
}

/// The values of one choice, as many as its user needs.
pub(crate) struct Draw(u64);

impl Draw {
    #[cfg(test)]
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is at least 1.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The bias is below one part in 2^64 / bound: no program can see it.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// The values that one kind of choice has for one entity.
struct Series {
    /// How many were drawn.
    count: u64,
    /// What they are drawn from. It is kept, because most choices of a run are of few series.
    place: u64,
}

pub(crate) struct Choices {
    seed: u64,
    /// By the kind and the entity, of which one number is made: two of them are alike by an accident
    /// in 2^64, and then share their values.
    series: Table<u64, Series>,
    /// Disturbances that do not happen; with `only`, the ones that alone may.
    keys: BTreeSet<Key>,
    only: bool,
    /// Kinds of which no disturbance happens at all.
    calm: BTreeSet<Kind>,
    /// The disturbances that happened, each with its virtual time.
    happened: Vec<(Key, u64)>,
    /// How many decisions there were before the last one of them.
    before_last: u64,
    time: u64,
    decisions: u64,
    hash: u64,
}

impl Choices {
    /// `keys` are the disturbances that do not happen or, with `only`, the ones that alone may.
    /// None of a kind in `calm` happens.
    pub(crate) fn new(seed: u64, keys: BTreeSet<Key>, only: bool, calm: BTreeSet<Kind>) -> Self {
        Self {
            seed,
            series: Table::default(),
            keys,
            only,
            calm,
            happened: Vec::new(),
            before_last: 0,
            time: 0,
            decisions: 0,
            hash: mix(seed),
        }
    }

    /// The next value of this kind and entity, which is no disturbance.
    pub(crate) fn draw(&mut self, kind: Kind, entity: u64) -> Draw {
        self.next(kind, entity).1
    }

    /// Whether the next disturbance of this kind happens to `entity`, and with what values.
    pub(crate) fn disturbs(&mut self, kind: Kind, entity: u64, chance: Chance) -> Option<Draw> {
        let (key, mut draw) = self.next(kind, entity);
        let happens = draw.below(65_536) < u64::from(chance.0);
        if !happens || self.calm.contains(&kind) || self.keys.contains(&key) != self.only {
            return None;
        }
        self.happened.push((key, self.time));
        self.before_last = self.decisions;
        self.note(key.entity ^ key.n.rotate_left(32) ^ ((kind as u64) << 56));
        Some(draw)
    }

    /// Takes `fact` into the hash that tells two runs apart: one decision.
    pub(crate) fn note(&mut self, fact: u64) {
        self.decisions += 1;
        self.hash = mix(self.hash ^ fact).wrapping_add(self.decisions);
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn decisions(&self) -> u64 {
        self.decisions
    }

    /// The disturbances that happened and when, in their order.
    pub(crate) fn happened(&self) -> &[(Key, u64)] {
        &self.happened
    }

    /// How many decisions there were before the last of them.
    pub(crate) fn before_last(&self) -> u64 {
        self.before_last
    }

    /// What follows happens at this virtual time, in nanoseconds.
    pub(crate) fn set_time(&mut self, time: u64) {
        self.time = time;
    }

    /// From now on no disturbance happens but the faults that the scenario asks for.
    pub(crate) fn be_calm(&mut self) {
        let all = Kind::ALL.iter().map(|(kind, _)| *kind);
        self.calm = all.filter(|kind| *kind != Kind::Fault).collect();
    }

    /// The name of the next choice, and its values.
    fn next(&mut self, kind: Kind, entity: u64) -> (Key, Draw) {
        let (seed, name) = (self.seed, entity ^ ((kind as u64) << 56));
        let new = || Series { count: 0, place: mix(seed ^ mix(name)) };
        let series = self.series.entry(name).or_insert_with(new);
        let n = series.count;
        series.count += 1;
        (Key { kind, entity, n }, Draw(mix(series.place ^ n)))
    }
}

/// A name as an entity: the same in every run and on every machine.
pub(crate) fn entity(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| mix(hash ^ u64::from(byte)))
}

/// The finishing steps of splitmix64: each bit of `x` reaches each bit of the result.
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A table whose order decides nothing.
pub(crate) type Table<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// Std's default hasher takes its keys from `getrandom`, which this package answers from here.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for some in bytes.chunks(8) {
            let mut eight = [0; 8];
            eight[..some.len()].copy_from_slice(some);
            self.write_u64(u64::from_le_bytes(eight));
        }
    }

    // What is hashed is mixed already, or few. The tables use the highest and the lowest bits.
    fn write_u64(&mut self, x: u64) {
        self.0 = (self.0 ^ x).wrapping_mul(0xf135_7aea_2e62_a9c5).rotate_left(23);
    }

    fn write_u16(&mut self, x: u16) {
        self.write_u64(x.into());
    }

    fn write_usize(&mut self, x: usize) {
        self.write_u64(x as u64);
    }

    fn write_isize(&mut self, x: isize) {
        self.write_u64(x as u64);
    }

    fn finish(&self) -> u64 {
        self.0.wrapping_mul(0xf135_7aea_2e62_a9c5).rotate_left(26)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices(seed: u64) -> Choices {
        Choices::new(seed, BTreeSet::new(), false, BTreeSet::new())
    }

    #[test]
    fn one_more_choice_of_an_entity_moves_no_choice_of_another_one() {
        let (mut with, mut without) = (choices(7), choices(7));
        with.draw(Kind::Program, entity("added"));
        for _ in 0..100 {
            let values = [&mut with, &mut without].map(|choices| {
                choices.disturbs(Kind::Pause, entity("a"), Chance::one_in(2)).map(|mut d| d.next())
            });
            assert_eq!(values[0], values[1]);
        }
    }

    #[test]
    fn a_masked_disturbance_is_the_only_one_that_is_gone() {
        let mut first = choices(3);
        let run = |choices: &mut Choices| -> Vec<bool> {
            (0..200).map(|_| choices.disturbs(Kind::Loss, 1, Chance::one_in(4)).is_some()).collect()
        };
        let before = run(&mut first);
        let (masked, _) = first.happened()[5];
        let mut second = Choices::new(3, BTreeSet::from([masked]), false, BTreeSet::new());
        let after = run(&mut second);
        let changed: Vec<usize> = (0..200).filter(|i| before[*i] != after[*i]).collect();
        assert_eq!(changed, [masked.n as usize]);
        assert_ne!(first.hash(), second.hash());
    }

    #[test]
    fn a_chance_is_met_about_as_often_as_it_says() {
        let mut choices = choices(1);
        let happened = (0..8_000)
            .filter(|_| choices.disturbs(Kind::Pause, 2, Chance::one_in(8)).is_some())
            .count();
        assert!((900..1_100).contains(&happened), "{happened}");
    }

    #[test]
    fn a_key_is_read_as_it_is_written() {
        let key = Key { kind: Kind::Overtake, entity: 0xfeed, n: 12 };
        assert_eq!(key.to_string().parse(), Ok(key));
        for wrong in ["", "pause", "pause x", "pause 1 x", "paus 1 1"] {
            assert!(wrong.parse::<Key>().is_err(), "{wrong}");
        }
    }
}
