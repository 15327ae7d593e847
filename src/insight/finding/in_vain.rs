//! Places at which the program tries something again and again in vain, seen by several looks: tasks that
//! fail to connect, calls that a timeout ends each time, and ticks that are always taken too late.

use super::Finding;
use crate::observe::incidents::Attempts;
use crate::short::Place;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::time::{Duration, Instant};

/// The time that is judged, and the shortest: a peer that restarts may be away for some seconds.
const WINDOW: Duration = Duration::from_secs(60);
const SHORTEST: Duration = Duration::from_secs(10);

/// How far apart looks are, about.
const PERIOD: Duration = Duration::from_secs(1);

/// The fewest failures that are told in that time, and from how many in a second on it is more than worth a
/// look that tasks fail to connect.
const FEWEST: u64 = 5;
const MANY_PER_SECOND: u64 = 10;

/// A place where nothing has failed for longer, and not since the look before, is told no more. While no
/// request comes, looks are mostly five seconds apart.
const STILL: Duration = Duration::from_secs(12);

/// The most places that are told of which it is only worth a look.
const MOST_PLACES: usize = 4;

/// The looks at the attempts of one kind in one runtime, the oldest first.
#[derive(Default)]
pub(in crate::insight) struct InVain {
    looks: VecDeque<(Instant, Vec<Attempts>)>,
}

/// What has failed at one place.
struct Failed<'a> {
    now: &'a Attempts,
    times: u64,
    duration: Duration,
}

impl InVain {
    /// Takes a look at what has been counted since the runtime is there.
    pub(in crate::insight) fn look(&mut self, at: Instant, attempts: Vec<Attempts>) {
        let is_old = |look: &(Instant, _)| at.saturating_duration_since(look.0) > WINDOW;
        while self.looks.front().is_some_and(is_old) {
            self.looks.pop_front();
        }
        // The last look is always the newest one, and of those before it there is about one in each second.
        let is_early = |look: &(Instant, _)| at.saturating_duration_since(look.0) < 2 * PERIOD;
        if self.looks.iter().nth_back(1).is_some_and(is_early) {
            self.looks.pop_back();
        }
        self.looks.push_back((at, attempts));
    }

    /// Places at which nothing but failures has been seen for long, until now.
    fn failed(&self) -> Vec<Failed<'_>> {
        let Some((at, now)) = self.looks.back() else { return Vec::new() };
        let since = |time: Instant| at.saturating_duration_since(time);
        let failed = |now| {
            let looks: Vec<_> = self
                .looks
                .iter()
                .filter_map(|look| Some((look.0, counts_of(now, &look.1)?)))
                .collect();
            let is_newer = |(_, [_, failed]): &(Instant, [u64; 2])| *failed < now.failed;
            let fails_now = looks.iter().rev().nth(1).is_some_and(is_newer);
            let in_vain = looks.iter().skip_while(|(_, [made, _])| *made != now.made);
            let (_, [_, before]) = in_vain.clone().next()?;
            // From the last look before the first failure of these.
            let (begin, _) =
                in_vain.clone().take_while(|(_, [_, failed])| failed == before).last()?;
            let (last, _) =
                in_vain.clone().take_while(|(_, [_, failed])| *failed < now.failed).last()?;
            let (times, duration) = (now.failed - before, since(*begin));
            let fails_still = fails_now || since(*last) <= STILL;
            let is_told = duration >= SHORTEST && times >= FEWEST && fails_still;
            is_told.then_some(Failed { now, times, duration })
        };
        now.iter().filter_map(failed).collect()
    }

    /// Of attempts to connect: places that fail often, and what is said of the others. Their peer may be
    /// allowed to be away.
    pub(in crate::insight) fn told_of_connects(&self) -> (Vec<Finding>, Vec<String>) {
        let (often, rare): (Vec<_>, Vec<_>) = self.failed().into_iter().partition(Failed::is_often);
        let findings = often.iter().map(Failed::finding);
        (findings.collect(), rare.iter().map(Failed::to_string).collect())
    }

    /// Of ticks of intervals: what is said of tasks that take each one too late, the most frequent first.
    pub(in crate::insight) fn told_of_ticks(&self) -> Vec<String> {
        let sentence = |Failed { now, times, duration }: &Failed<'_>| {
            format!(
                "tasks spawned at {} have taken {times} ticks of an interval in {} s, each of them more than \
                 a period too late: what they do in between takes longer than the period",
                Place(now.place),
                duration.as_secs()
            )
        };
        self.most_frequent().iter().map(sentence).collect()
    }

    /// Of calls with a timeout: what is said of those that all end by it, the most frequent first. A program
    /// that does something whenever nothing has come for a while has such calls, too.
    pub(in crate::insight) fn told_of_timeouts(&self) -> Vec<String> {
        let sentence = |Failed { now, times, duration }: &Failed<'_>| {
            format!(
                "the timeout at {} has passed {times} times in {} s, and what it limits was not ready in \
                 time once: it takes longer than that, or waits for what does not come",
                Place(now.place),
                duration.as_secs()
            )
        };
        self.most_frequent().iter().map(sentence).collect()
    }

    fn most_frequent(&self) -> Vec<Failed<'_>> {
        let mut failed = self.failed();
        failed.sort_by_key(|failed| (Reverse(failed.times), failed.now.place));
        failed.truncate(MOST_PLACES);
        failed
    }
}

impl Failed<'_> {
    fn is_often(&self) -> bool {
        self.times >= MANY_PER_SECOND * self.duration.as_secs()
    }

    fn finding(&self) -> Finding {
        let &Self { now, times: failed, duration } = self;
        let (spawned_at, error) = (now.place, now.error.clone());
        Finding::FailedConnects { spawned_at, failed, duration, error }
    }
}

impl fmt::Display for Failed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { now, times, duration } = self;
        fmt_failed(now.place, *times, *duration, &now.error, f)
    }
}

/// How often a look has it that something went well at that place, and that it failed. `None`: nothing had
/// failed yet, so nothing was counted.
fn counts_of(place: &Attempts, look: &[Attempts]) -> Option<[u64; 2]> {
    let same = |other: &&Attempts| other.place == place.place;
    look.iter().find(same).map(|counted| [counted.made, counted.failed])
}

/// Writes what is said of tasks that fail to connect, without advice.
pub(super) fn fmt_failed(
    spawned_at: &'static Location<'static>,
    failed: u64,
    duration: Duration,
    error: &str,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let (place, seconds) = (Place(spawned_at), duration.as_secs());
    write!(
        f,
        "tasks spawned at {place} have failed to connect {failed} times in {seconds} s, and have not \
         succeeded once in that time; the last error: {error}"
    )
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    /// What is said after looks in each second, of a place that has by then made and failed so much.
    fn said(seconds: u64, counts: impl Fn(u64) -> [u64; 2]) -> (Vec<String>, Vec<String>) {
        let (mut connects, begin) = (InVain::default(), Instant::now());
        let place = Location::caller();
        for half in 0..=2 * seconds {
            let [made, failed] = counts(half / 2);
            let error = "connection refused".to_owned();
            let at = begin + Duration::from_millis(500) * half as u32;
            connects.look(at, vec![Attempts { place, made, failed, error }]);
        }
        assert!(connects.looks.len() <= 62);
        let (told, notable) = connects.told_of_connects();
        for all in [connects.told_of_timeouts(), connects.told_of_ticks()] {
            assert_eq!(all.len(), told.len() + notable.len());
        }
        (told.iter().map(Finding::to_string).collect(), notable)
    }

    #[test]
    fn a_task_that_tries_again_at_once_is_told_by_its_place() {
        let (told, notable) = said(20, |second| [0, 500 * second]);
        let [sentence] = &told[..] else { panic!("{told:?}") };
        assert!(sentence.contains("to connect 10000 times in 20 s"), "{sentence}");
        assert!(sentence.contains("connection refused"), "{sentence}");
        assert!(notable.is_empty());
    }

    #[test]
    fn a_peer_that_is_away_is_worth_a_look() {
        let (told, notable) = said(30, |second| [0, second]);
        assert!(told.is_empty() && notable.len() == 1 && notable[0].contains("30 times"));
    }

    #[test]
    fn nothing_is_said_of_few_failures_for_short_or_beside_successes() {
        let none = (Vec::new(), Vec::new());
        assert_eq!(said(9, |second| [0, 500 * second]), none);
        assert_eq!(said(60, |second| [0, second.min(4)]), none);
        assert_eq!(said(60, |second| [second / 8, 500 * second]), none, "now and then it succeeds");
        assert_eq!(said(45, |second| [0, 500 * second.clamp(20, 30)]), none, "it has ended");
        let restarted = |second: u64| [u64::from(second > 24), 500 * second.clamp(20, 24)];
        assert_eq!(said(26, restarted), none, "its peer was away for some seconds");
    }
}
