//! Places whose tasks try to connect again and again, and fail, seen by several looks.

use super::Finding;
use crate::observe::incidents::Connects;
use std::collections::VecDeque;
use std::panic::Location;
use std::time::{Duration, Instant};

/// The time that is judged, and the shortest: a peer that restarts may be away for some seconds.
const WINDOW: Duration = Duration::from_secs(60);
const SHORTEST: Duration = Duration::from_secs(10);

/// How far apart looks are, about.
const PERIOD: Duration = Duration::from_secs(1);

/// The fewest failures that are told in that time, and from how many in a second on it is more than worth a look.
const FEWEST: u64 = 5;
const MANY_PER_SECOND: u64 = 10;

/// One attempt in this many may succeed. A name may have several addresses, of which one fails each time.
const SUCCESSES: u64 = 10;

/// The looks at one runtime, the oldest first.
#[derive(Default)]
pub(in crate::insight) struct FailedConnects {
    looks: VecDeque<(Instant, Vec<Connects>)>,
}

/// What the tasks of one place have failed to do.
struct Failed<'a> {
    now: &'a Connects,
    times: u64,
    duration: Duration,
}

impl FailedConnects {
    /// Takes a look at what has been counted since the runtime is there.
    pub(in crate::insight) fn look(&mut self, at: Instant, connects: Vec<Connects>) {
        let is_old = |look: &(Instant, _)| at.saturating_duration_since(look.0) > WINDOW;
        while self.looks.front().is_some_and(is_old) {
            self.looks.pop_front();
        }
        // The last look is always the newest one, and of those before it there is about one in each second.
        let is_early = |look: &(Instant, _)| at.saturating_duration_since(look.0) < 2 * PERIOD;
        if self.looks.iter().nth_back(1).is_some_and(is_early) {
            self.looks.pop_back();
        }
        self.looks.push_back((at, connects));
    }

    fn failed(&self) -> Vec<Failed<'_>> {
        let (Some((since, before)), Some((at, now))) = (self.looks.front(), self.looks.back())
        else {
            return Vec::new();
        };
        let duration = at.saturating_duration_since(*since);
        let failed = |now| {
            let place = |connects: &Connects| connects.task.spawned_at();
            let before = before.iter().find(|before| place(before) == place(now));
            let (made, times) = before.map_or((now.made, now.failed), |before| {
                (now.made - before.made, now.failed - before.failed)
            });
            let is_told =
                duration >= SHORTEST && times >= FEWEST && made.saturating_mul(SUCCESSES) <= times;
            is_told.then_some(Failed { now, times, duration })
        };
        now.iter().filter_map(failed).collect()
    }

    pub(in crate::insight) fn findings(&self) -> Vec<Finding> {
        self.failed().iter().filter(|failed| failed.is_often()).map(Failed::finding).collect()
    }

    /// What is said of those that fail less often: it may be a peer that is allowed to be away.
    pub(in crate::insight) fn notable(&self) -> Vec<String> {
        let failed = self.failed();
        let rare = failed.iter().filter(|failed| !failed.is_often());
        rare.map(|failed| failed.finding().to_string()).collect()
    }
}

impl Failed<'_> {
    fn is_often(&self) -> bool {
        self.times >= MANY_PER_SECOND * self.duration.as_secs()
    }

    fn finding(&self) -> Finding {
        let Self { now, times, duration } = self;
        let spawned_at: &'static Location<'static> = now.task.spawned_at();
        let error = now.error.clone();
        Finding::FailedConnects { spawned_at, failed: *times, duration: *duration, error }
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::insight::finding::tests::entry;

    /// What is said after looks in each second, of a place that has by then made and failed so much.
    fn said(seconds: u64, counts: impl Fn(u64) -> [u64; 2]) -> (Vec<String>, Vec<String>) {
        let (mut connects, begin, task) = (FailedConnects::default(), Instant::now(), entry().task);
        for half in 0..=2 * seconds {
            let [made, failed] = counts(half / 2);
            let error = "connection refused".to_owned();
            let at = begin + Duration::from_millis(500) * half as u32;
            connects.look(at, vec![Connects { task, made, failed, error }]);
        }
        assert!(connects.looks.len() <= 62);
        let told = connects.findings().iter().map(Finding::to_string).collect();
        (told, connects.notable())
    }

    #[test]
    fn a_task_that_tries_again_at_once_is_told_by_its_place() {
        let (told, notable) = said(20, |second| [0, 500 * second]);
        let [sentence] = &told[..] else { panic!("{told:?}") };
        assert!(sentence.contains("to connect 10000 times in the last 20 s"), "{sentence}");
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
        assert_eq!(said(60, |second| [500 * second, 500 * second]), none, "two addresses");
        assert_eq!(said(90, |second| [0, 500 * second.min(10)]), none, "it has ended");
    }
}
