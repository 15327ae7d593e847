//! Places whose channels become longer and longer, or whose sets keep more and more tasks that have ended,
//! seen by several looks.
//!
//! Only what has grown for long is told, because a program may collect for a while, and then take all of it:
//!
//! | what receives from it | it must have grown for |
//! |---|---|
//! | a task of the runtime | [`LONG`] |
//! | that is not known: perhaps it comes later | [`LATER`] |
//! | a task that was seen to wait for its next period, as it seems | [`PERIODS`] |
//!
//! And what has been emptied before, by half at least, must have grown for twice as long as it did then.
//! From when on it grows is counted from the first look at which more than a few values lie in it.
//!
//! Which tasks of a set have ended is not known, and some may live in other runtimes. So a set is told of
//! only if most of the tasks that it has got in that time cannot be alive in this one.
//!
//! A channel with a bound is not told of: when it is full, its senders wait, which is what it is for, and
//! `long_waits.rs` tells of those that wait for long. Nor is a broadcast channel: it keeps no more than it
//! has room for, and tells its receivers what they have lost.

use super::Finding;
use super::growing_queue::GrowingQueue;
use super::growth::{Grown, Growth, MOST};
use super::long_waits::what_does;
use crate::engine::task::TaskId;
use crate::insight::dump::Dump;
use crate::insight::queues::{Key, QueueGroup};
use crate::insight::task_info::TaskInfo;
use crate::insight::wait::Wait;
use crate::runtime::gauges::Measured;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// The fewest values by which something must have grown. The length of a channel is known to some hundred
/// messages.
const LEAST: usize = 1_000;

const LONG: Duration = Duration::from_secs(30);
const LATER: Duration = Duration::from_secs(60);
const PERIODS: Duration = Duration::from_secs(120);

/// A task that waits so long for a timer is taken for one that does something again and again.
const PERIOD: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(60);

/// How many values lie at a place, and for how long they must have become more until that is told.
type Seen = (Key, usize, Duration);

/// How something grows that is not emptied meanwhile.
#[derive(Clone, Copy)]
struct Rise {
    since: Instant,
    /// When it was last longer than before. If it is longer again after a long time, another rise begins.
    risen: Instant,
    peak: usize,
    /// The longest time that any look has asked for.
    patience: Duration,
    /// The longest rise before more than half of it was taken.
    longest: Duration,
}

/// The looks at the channels and sets of one runtime.
pub(in crate::insight) struct GrowingQueues {
    growth: Growth<Key>,
    /// Also of places where there is nothing now, which may be filled again; within bounds.
    rises: HashMap<Key, Rise>,
}

impl Default for GrowingQueues {
    fn default() -> Self {
        Self { growth: Growth::lasting(LONG), rises: HashMap::new() }
    }
}

impl GrowingQueues {
    /// Takes a look at a dump that has just been taken.
    pub(in crate::insight) fn look(&mut self, at: Instant, dump: &Dump) {
        let groups = dump.queues.iter().filter(|group| is_suspect(group)).take(MOST);
        let seen = groups.map(|group| (group.key(), group.length, patience(group, dump)));
        self.see(at, &seen.collect::<Vec<_>>());
    }

    /// The one with the most values first.
    fn see(&mut self, at: Instant, seen: &[Seen]) {
        let now = seen.iter().map(|&(key, count, patience)| (key, (count, patience)));
        let now: HashMap<_, _> = now.collect();
        if self.rises.len() > MOST {
            self.rises.retain(|key, _| now.contains_key(key));
        }
        let (peak, patience, longest) = Default::default();
        let new = Rise { since: at, risen: at, peak, patience, longest };
        now.keys().for_each(|&key| _ = self.rises.entry(key).or_insert(new));
        for (key, rise) in &mut self.rises {
            rise.see(at, now.get(key).copied().unwrap_or_default());
        }
        self.growth.look(at, seen.iter().map(|&(key, count, _)| (key, count)));
    }

    /// What grows, and whether it has grown for long.
    fn growing(&self) -> Vec<(Grown<Key>, bool)> {
        let has_lasted = |rise: &Rise| rise.time() >= rise.patience.max(2 * rise.longest);
        let growing = self.growth.growing(LEAST).into_iter().filter_map(|grown| {
            let has_lasted = has_lasted(self.rises.get(&grown.what)?);
            Some((grown, has_lasted))
        });
        growing.collect()
    }

    /// Those that grow for long, and what is said of the others, which may still be emptied, as by a program
    /// that collects for a while. `dump` shows what the task does that uses each. `busy` are the tasks that
    /// never wait, with their polls in a second.
    pub(in crate::insight) fn told(
        &self,
        dump: &Dump,
        busy: &HashMap<TaskId, u64>,
    ) -> (Vec<Finding>, Vec<String>) {
        let (mut findings, mut notable) = (Vec::new(), Vec::new());
        for (grown, has_lasted) in self.growing() {
            let are_alive = dump.living() > (grown.now - grown.before) / 2;
            if grown.what.0 == Measured::JoinSet && are_alive {
                continue;
            }
            let of_place = |group: &&QueueGroup| group.key() == grown.what;
            let Some(group) = dump.queues.iter().find(of_place) else { continue };
            let queue = growing_queue(group, &grown, dump, busy);
            match has_lasted {
                true => findings.push(Finding::GrowingQueue(queue)),
                false => notable.push(queue.to_string()),
            }
        }
        (findings, notable)
    }
}

impl Rise {
    fn time(&self) -> Duration {
        self.risen.saturating_duration_since(self.since)
    }

    fn see(&mut self, at: Instant, (count, patience): (usize, Duration)) {
        if count < LEAST.max(self.peak / 2) {
            if self.peak >= LEAST {
                self.longest = self.longest.max(self.time());
            }
            (self.since, self.risen) = (at, at);
            (self.peak, self.patience) = (0, Duration::ZERO);
        }
        if count > self.peak {
            if at.saturating_duration_since(self.risen) > LONG {
                self.since = at;
            }
            (self.risen, self.peak) = (at, count);
        }
        self.patience = self.patience.max(patience);
    }
}

/// Whether it may grow without a bound. Of a set that was made outside of all runtimes it is not known in
/// which one its tasks are.
fn is_suspect(group: &QueueGroup) -> bool {
    match group.measured {
        Measured::Unbounded => true,
        Measured::JoinSet => group.are_of_runtime,
        Measured::Bounded | Measured::Broadcast => false,
    }
}

/// For how long it must have grown, as far as this look shows.
fn patience(group: &QueueGroup, dump: &Dump) -> Duration {
    let is_user = |task: &&TaskInfo| group.user == Some(task.id());
    let Some(user) = dump.tasks.iter().find(is_user) else { return LATER };
    let since = user.cold_for().unwrap_or_default();
    let is_period = |wait: &Wait| match wait {
        Wait::Timer { remaining } => PERIOD.contains(&remaining.saturating_add(since)),
        _ => false,
    };
    if user.waits().iter().any(is_period) { PERIODS } else { LONG }
}

/// What grows, with what `dump` shows of the task that uses it.
fn growing_queue(
    group: &QueueGroup,
    grown: &Grown<Key>,
    dump: &Dump,
    busy: &HashMap<TaskId, u64>,
) -> GrowingQueue {
    let of = if group.count > 1 { " from the longest" } else { "" };
    let took = match group.measured {
        Measured::JoinSet => "joined one",
        _ => "received",
    };
    let (user, user_does) = match group.user.map(|task| what_does(dump, busy, task)) {
        Some((None, unknown)) => (None, format!("{unknown}; it {took}{of} last")),
        Some((user, does)) => (user, format!("{took}{of} last, and {does}")),
        None => (None, format!("; no task is known that has {took}{of}")),
    };
    GrowingQueue {
        measured: group.measured,
        made_at: group.made_at,
        what: group.what(),
        before: grown.before,
        length: grown.now,
        duration: grown.duration,
        living: dump.living(),
        user,
        user_does,
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests;
