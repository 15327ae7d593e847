//! Finds the few disturbances that a failure needs.
//!
//! This is delta debugging: try a part of the set, and go on with it when the run still fails in
//! the same way.

use std::collections::HashMap;
use std::time::Instant;

use crate::choices::{Key, Kind, mix};

/// What a run with fewer disturbances did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    /// It failed in the same way as the run to be explained.
    Same,
    /// It failed in another way.
    Other,
}

/// The result of the search.
#[derive(Debug)]
pub(super) struct Smallest {
    /// In the order in which they happened.
    pub(super) keys: Vec<Key>,
    /// What the run does without one of the keys. None where the time was over before that run.
    pub(super) without: Vec<Option<Verdict>>,
    /// What the run does without any disturbance. None where the time was over before that run.
    pub(super) calm: Option<Verdict>,
    pub(super) runs: u64,
    /// The time was over, so a smaller set may exist.
    pub(super) cut_short: bool,
}

/// Places in the list of keys, in rising order.
type Set = Vec<usize>;

struct Search<'a, T> {
    keys: &'a [Key],
    /// Runs each set and says what happened.
    trial: T,
    batch: usize,
    until: Instant,
    /// By the digest of the set.
    known: HashMap<u128, Verdict>,
    cut_short: bool,
}

/// Finds a smallest part of `keys` with which the run still fails. No single key can be left out of
/// it.
///
/// `trial` runs up to `batch` sets at once. The search stops when `until` is over.
pub(super) fn minimise<T>(
    keys: &[Key],
    batch: usize,
    until: Instant,
    trial: T,
) -> Result<Smallest, String>
where
    T: FnMut(&[Vec<Key>]) -> Result<Vec<Verdict>, String>,
{
    let mut search = Search { keys, trial, batch, until, known: HashMap::new(), cut_short: false };
    let mut set: Set = (0..keys.len()).collect();
    if let Some(calm) = search.first_same([Vec::new()].into_iter())? {
        set = calm;
    } else {
        set = search.by_kinds(set)?;
        set = search.by_parts(set)?;
    }
    let without = (0..set.len())
        .map(|i| search.known.get(&digest(&left_out(&set, i..i + 1))).copied())
        .collect();
    Ok(Smallest {
        keys: set.iter().map(|place| keys[*place]).collect(),
        without,
        calm: search.known.get(&digest(&[])).copied(),
        runs: search.known.len() as u64,
        cut_short: search.cut_short,
    })
}

impl<T> Search<'_, T>
where
    T: FnMut(&[Vec<Key>]) -> Result<Vec<Verdict>, String>,
{
    /// The first of `sets` with which the run still fails in the same way.
    ///
    /// The sets come one by one: thousands of sets of thousands of keys would not fit the memory.
    fn first_same(&mut self, sets: impl Iterator<Item = Set>) -> Result<Option<Set>, String> {
        let mut sets = sets.peekable();
        while sets.peek().is_some() {
            let some: Vec<Set> = sets.by_ref().take(self.batch.max(1)).collect();
            let new: Vec<&Set> =
                some.iter().filter(|set| !self.known.contains_key(&digest(set))).collect();
            if !new.is_empty() {
                if Instant::now() >= self.until {
                    self.cut_short = true;
                    return Ok(None);
                }
                let keys = |set: &&Set| set.iter().map(|place| self.keys[*place]).collect();
                let asked: Vec<Vec<Key>> = new.iter().map(keys).collect();
                let verdicts = (self.trial)(&asked)?;
                self.known.extend(new.into_iter().map(|set| digest(set)).zip(verdicts));
            }
            let same = |set: &Set| self.known.get(&digest(set)) == Some(&Verdict::Same);
            if let Some(set) = some.into_iter().find(same) {
                return Ok(Some(set));
            }
        }
        Ok(None)
    }

    /// Tries each kind alone, and then leaves whole kinds out as long as the run still fails.
    fn by_kinds(&mut self, mut set: Set) -> Result<Set, String> {
        let keys = self.keys;
        let part = |set: &Set, kind: Kind, with: bool| -> Set {
            set.iter().copied().filter(|place| (keys[*place].kind == kind) == with).collect()
        };
        let kinds = |set: &Set| -> Vec<Kind> {
            let all = Kind::ALL.iter().map(|(kind, _)| *kind);
            all.filter(|kind| set.iter().any(|place| keys[*place].kind == *kind)).collect()
        };
        let alone: Vec<Set> = kinds(&set).into_iter().map(|kind| part(&set, kind, true)).collect();
        if alone.len() < 2 {
            return Ok(set);
        }
        if let Some(one) = self.first_same(alone.into_iter())? {
            return Ok(one);
        }
        loop {
            let fewer = kinds(&set).into_iter().map(|kind| part(&set, kind, false));
            match self.first_same(fewer)? {
                Some(smaller) => set = smaller,
                None => return Ok(set),
            }
        }
    }

    /// Halves, quarters, eighths: leaves parts out until no single key can be left out.
    ///
    /// What happened shortly before the failure explains it more often. So the late parts are tried
    /// alone first, and the early parts are left out first.
    fn by_parts(&mut self, mut set: Set) -> Result<Set, String> {
        let mut parts = 2;
        while set.len() >= 2 {
            parts = parts.min(set.len());
            let bound = |i: usize| i * set.len() / parts;
            let ranges = || (0..parts).map(|i| bound(i)..bound(i + 1));
            // One small part alone is seldom enough, and the end result does not need these runs.
            if parts <= 4 {
                let alone = ranges().rev().map(|range| set[range].to_vec());
                if let Some(smaller) = self.first_same(alone)? {
                    set = smaller;
                    parts = 2;
                    continue;
                }
            }
            let rests = ranges().map(|range| left_out(&set, range));
            if let Some(smaller) = self.first_same(rests)? {
                set = smaller;
                parts = (parts - 1).max(2);
            } else if parts == set.len() {
                break;
            } else {
                parts *= 2;
            }
        }
        Ok(set)
    }
}

/// `set` without the places in `range`.
fn left_out(set: &[usize], range: std::ops::Range<usize>) -> Set {
    [&set[..range.start], &set[range.end..]].concat()
}

/// A short name for `set`. Two sets with one digest would need 2^64 runs to be likely.
fn digest(set: &[usize]) -> u128 {
    let lane = |start: u64| {
        set.iter().fold(start, |sum, place| mix(sum ^ *place as u64).wrapping_add(start))
    };
    (u128::from(lane(1)) << 64) | u128::from(lane(2))
}
