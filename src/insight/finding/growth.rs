//! What becomes more and more, seen by several looks: the tasks of a place, the messages in a channel.
//!
//! A service that starts has more and more tasks, too, and one under load has more at one time than at
//! another. So a place grows only if it has had no fewer waiting tasks in each quarter of the time, at every
//! look, than ever in the quarter before, and more at one look. That may be in steps. Growth that came to its
//! end some time ago is not told any more. Tasks that are ready are not counted: those are a backlog.
//!
//! Looks are kept in two lists. The one has the last [`RECENT`], for what has begun just now; or as many as
//! another time takes that growth must last. The other one has up to [`KEPT`] over the whole time: when it is
//! full, every second one goes, and from then on it takes half as many.

use super::Finding;
use crate::insight::task_group::TaskGroup;
use crate::insight::task_state::TaskState;
use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Looks come no closer together than this.
const PERIOD: Duration = Duration::from_millis(900);

/// Looks that are needed, and the time that they must cover.
const FEWEST: usize = 8;
const SHORTEST: Duration = Duration::from_secs(9);

/// Looks that are kept.
const RECENT: usize = 12;
const KEPT: usize = 32;

/// Growth that has paused for longer, and for a while of the whole time, has ended.
const PAUSE: Duration = Duration::from_secs(5);
/// However long the whole time is.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// The fewest tasks by which a place must have grown.
const LEAST: usize = 20;

/// Things that a look has, the largest first.
pub(super) const MOST: usize = 1000;

/// As groups are told apart.
pub(in crate::insight) type Place = (&'static Location<'static>, &'static str);

struct Look<K> {
    at: Instant,
    counts: HashMap<K, usize>,
}

/// The looks at one runtime: at things of which each is known by a `K`.
pub(in crate::insight) struct Growth<K> {
    recent: VecDeque<Look<K>>,
    kept: Vec<Look<K>>,
    /// One look in this many is kept.
    one_of: usize,
    looks: usize,
    /// The time that looks must cover, and how many recent ones are for that.
    shortest: Duration,
    most_recent: usize,
}

/// Something that grows.
pub(super) struct Grown<K> {
    pub(super) what: K,
    pub(super) before: usize,
    pub(super) now: usize,
    /// The time in between.
    pub(super) duration: Duration,
}

impl<K> Growth<K> {
    fn over(shortest: Duration, most_recent: usize) -> Self {
        let (recent, kept) = (VecDeque::new(), Vec::new());
        Self { recent, kept, one_of: 1, looks: 0, shortest, most_recent }
    }

    /// For what must grow for so long, and longer than [`SHORTEST`].
    pub(super) fn lasting(shortest: Duration) -> Self {
        Self::over(shortest, shortest.as_secs() as usize + RECENT)
    }
}

impl<K> Default for Growth<K> {
    fn default() -> Self {
        Self::over(SHORTEST, RECENT)
    }
}

impl<K: Copy + Eq + Hash + Ord> Growth<K> {
    /// Takes a look at how many there are of each, of which the largest comes first, unless the last look
    /// was just before. What is missing counts as 0.
    pub(in crate::insight) fn look(
        &mut self,
        at: Instant,
        counts: impl Iterator<Item = (K, usize)>,
    ) {
        let is_early = |last: &Look<K>| at.saturating_duration_since(last.at) < PERIOD;
        if self.recent.back().is_some_and(is_early) {
            return;
        }
        let counts: HashMap<_, _> = counts.take(MOST).collect();
        if self.looks % self.one_of == 0 {
            self.keep(Look { at, counts: counts.clone() });
        }
        self.looks += 1;
        self.recent.push_back(Look { at, counts });
        if self.recent.len() > self.most_recent {
            self.recent.pop_front();
        }
    }

    fn keep(&mut self, look: Look<K>) {
        if self.kept.len() == KEPT {
            keep_every_second(&mut self.kept);
            self.one_of *= 2;
        }
        self.kept.push(look);
    }

    /// What grows, and has grown by `least`; the largest first.
    pub(super) fn growing(&self, least: usize) -> Vec<Grown<K>> {
        let Some(last) = self.recent.back() else { return Vec::new() };
        let find = |what: &K| {
            let recent: Vec<_> = self.recent.iter().map(|look| look.of(what)).collect();
            let mut kept: Vec<_> = self.kept.iter().map(|look| look.of(what)).collect();
            // The last one that is kept may be old.
            if self.kept.last().is_some_and(|look| look.at != last.at) {
                kept.push(last.of(what));
            }
            let grows = |looks: &[_]| grows(looks, self.shortest, least);
            let ((since, before), now) = grows(&kept).or_else(|| grows(&recent))?;
            let duration = last.at.saturating_duration_since(since);
            Some(Grown { what: *what, before, now, duration })
        };
        let mut found: Vec<_> = last.counts.keys().filter_map(find).collect();
        found.sort_by_key(|grown| (std::cmp::Reverse(grown.now), grown.what));
        found
    }
}

impl Growth<Place> {
    /// Takes a look at the waiting tasks of `groups`, which begin with the largest.
    pub(in crate::insight) fn look_at_tasks(&mut self, at: Instant, groups: &[TaskGroup]) {
        let place = |group: &TaskGroup| Some((group.spawned_at(), group.type_name()?));
        let count = |group: &TaskGroup| Some((place(group)?, group.count(TaskState::Waiting)));
        self.look(at, groups.iter().filter_map(count));
    }

    /// The places that grow.
    pub(in crate::insight) fn findings(&self) -> Vec<Finding> {
        let finding = |Grown { what: (spawned_at, type_name), before, now: tasks, duration }| {
            Finding::GrowingTasks { spawned_at, type_name, before, tasks, duration, wait_for: None }
        };
        self.growing(LEAST).into_iter().map(finding).collect()
    }
}

impl<K: Eq + Hash> Look<K> {
    fn of(&self, what: &K) -> (Instant, usize) {
        (self.at, self.counts.get(what).copied().unwrap_or(0))
    }
}

/// Makes room in a list that is to cover the whole time. The oldest stays.
pub(in crate::insight) fn keep_every_second<T>(looks: &mut Vec<T>) {
    let mut index = 0;
    looks.retain(|_| {
        index += 1;
        index % 2 == 1
    });
}

/// The first look and the last count, if the counts grow all the time.
fn grows(
    looks: &[(Instant, usize)],
    shortest: Duration,
    least: usize,
) -> Option<((Instant, usize), usize)> {
    let (first, last) = (*looks.first()?, *looks.last()?);
    let covered = last.0.saturating_duration_since(first.0);
    if looks.len() < FEWEST || covered < shortest || last.1 < first.1 + least {
        return None;
    }
    let quarter = |index: usize| {
        let counts = &looks[index * looks.len() / 4..(index + 1) * looks.len() / 4];
        counts.iter().map(|&(_, count)| count)
    };
    let is_above = |index: usize| {
        let before = quarter(index - 1).max();
        quarter(index).min() >= before && quarter(index).max() > before
    };
    // It goes on: what there is now was reached late.
    let reached = looks.iter().find(|(_, count)| *count >= last.1).map_or(last.0, |(at, _)| *at);
    let goes_on =
        last.0.saturating_duration_since(reached) <= (covered / 8).clamp(PAUSE, LONGEST_PAUSE);
    (goes_on && (1..4).all(is_above)).then_some((first, last.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::task::registry::ListEntry;
    use crate::insight::finding::tests::{entry, group_of};

    const SECOND: Duration = Duration::from_secs(1);

    fn looks(counts: impl IntoIterator<Item = usize>) -> Vec<(Instant, usize)> {
        let begin = Instant::now();
        let at = |(second, count)| (begin + SECOND * second as u32, count);
        counts.into_iter().enumerate().map(at).collect()
    }

    fn group(tasks: usize, type_name: &'static str, is_hot: bool) -> TaskGroup {
        group_of(tasks, ListEntry { type_name, wakers: (!is_hot).then_some(1), ..entry() })
    }

    #[test]
    fn only_what_grows_all_the_time_does() {
        let grow = |counts: &[usize]| {
            grows(&looks(counts.iter().copied()), SHORTEST, LEAST).map(|(_, last)| last)
        };
        assert_eq!(grow(&[5, 7, 9, 12, 15, 18, 21, 24, 27, 30]), Some(30));
        // With some noise.
        assert_eq!(grow(&[0, 3, 1, 9, 8, 14, 20, 18, 25, 33, 29, 41]), Some(41));
        // In steps.
        assert_eq!(grow(&[0, 0, 50, 50, 90, 90, 90, 130, 130, 130, 170, 170]), Some(170));
        // It has come to an end, it has become fewer, it is too little, too short, or there was one jump.
        assert_eq!(grow(&[0, 10, 20, 30, 40, 50, 50, 50, 50, 50, 50, 50]), None);
        assert_eq!(grow(&[0, 10, 20, 30, 40, 50, 20, 30, 40, 50, 60, 70]), None);
        assert_eq!(grow(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]), None);
        assert_eq!(grow(&[0, 100, 200, 300, 400, 500, 600]), None);
        assert_eq!(grow(&[0, 0, 0, 0, 0, 0, 900, 900, 900, 900, 900, 900]), None);
        // Or the end came in the last quarter, some time ago.
        let ended = |rest: usize| (0..60).chain(std::iter::repeat_n(60, rest)).collect::<Vec<_>>();
        assert_eq!((grow(&ended(8)), grow(&ended(12))), (Some(60), None));
        assert_eq!(grow(&[]), None);
    }

    #[test]
    fn a_place_that_grows_is_named_with_its_counts() {
        let (mut growth, begin) = (Growth::default(), Instant::now());
        let steady = group(50, "steady", false);
        let found = |growth: &Growth<Place>| {
            growth.findings().into_iter().map(|finding| finding.to_string()).collect::<Vec<_>>()
        };
        for second in 0..12 {
            let leak = group(10 * second as usize, "leaks", false);
            let ready = group(10 * second as usize, "ready", true);
            let groups = [leak, steady.clone(), ready];
            growth.look_at_tasks(begin + SECOND * second, &groups);
            // Too soon after it.
            growth.look_at_tasks(begin + SECOND * second + SECOND / 2, &[]);
        }
        let [sentence] = &found(&growth)[..] else { panic!("{:?}", found(&growth)) };
        assert!(sentence.contains(" from 0 to 110 in 11 s: suspected leak"), "{sentence}");
        // A place that is no longer there is not named.
        growth.look_at_tasks(begin + SECOND * 12, &[steady]);
        assert_eq!(found(&growth), [""; 0]);
    }

    #[test]
    fn what_has_become_fewer_since_the_last_look_that_is_kept_does_not_grow() {
        let (mut growth, begin) = (Growth::default(), Instant::now());
        let look = |growth: &mut Growth<Place>, second: u32, tasks: u32| {
            growth.look_at_tasks(begin + SECOND * second, &[group(tasks as usize, "leaks", false)]);
        };
        (0..=100).for_each(|second| look(&mut growth, second, second));
        assert_eq!(growth.findings().len(), 1);
        look(&mut growth, 101, 20);
        assert_eq!(growth.findings(), []);
    }

    #[test]
    fn however_long_it_is_looked_at_the_looks_are_bounded_and_the_first_stays() {
        let (mut growth, begin) = (Growth::default(), Instant::now());
        // One task in ten seconds: too slow for the last looks alone.
        for second in 0..3600_u32 {
            growth.look_at_tasks(
                begin + SECOND * second,
                &[group(second as usize / 10, "leaks", false)],
            );
            assert!(growth.recent.len() <= RECENT && growth.kept.len() <= KEPT);
        }
        let [Finding::GrowingTasks { before: 0, tasks, duration, .. }] = growth.findings()[..]
        else {
            panic!("{:?}", growth.findings())
        };
        assert!(tasks > 300 && duration > SECOND * 3500, "{tasks} {duration:?}");
    }
}
