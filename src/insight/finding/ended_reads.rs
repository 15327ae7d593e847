//! Tasks that read at the end of a stream again and again, seen by several looks.
//!
//! A read at the end returns 0 bytes at once, so that a loop that overlooks this takes a processor. A program
//! learns of the end by the first such read of each stream. So only further ones count, and only if there are
//! more of them than a task makes that sleeps in between. Reads of sockets by `AsyncRead` are counted.

use super::Finding;
use crate::observe::incidents::EndedReads;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The time that is judged, and the shortest. While no request comes, looks are mostly five seconds apart.
const WINDOW: Duration = Duration::from_secs(12);
const SHORTEST: Duration = Duration::from_secs(4);

/// The fewest in a second that are told.
const MANY_PER_SECOND: u64 = 1_000;

/// The looks at one runtime, the oldest first.
#[derive(Default)]
pub(in crate::insight) struct RepeatedReads {
    looks: VecDeque<(Instant, Vec<EndedReads>)>,
}

impl RepeatedReads {
    /// Takes a look at what has been counted since the runtime is there.
    pub(in crate::insight) fn look(&mut self, at: Instant, reads: Vec<EndedReads>) {
        let age = |look: &(Instant, _)| at.saturating_duration_since(look.0);
        // One look that is older shows what was counted before the others.
        while self.looks.get(1).is_some_and(|second| age(second) >= WINDOW) {
            self.looks.pop_front();
        }
        self.looks.push_back((at, reads));
    }

    /// The place with the most reads first.
    pub(in crate::insight) fn findings(&self) -> Vec<Finding> {
        let Some((at, now)) = self.looks.back() else { return Vec::new() };
        let per_second = |reads: &EndedReads, since: &(Instant, Vec<EndedReads>)| {
            let seconds = at.saturating_duration_since(since.0).as_secs_f64();
            let same = |other: &&EndedReads| other.task.spawned_at() == reads.task.spawned_at();
            let before = since.1.iter().find(same).map_or(0, |other| other.repeated);
            (reads.repeated.saturating_sub(before) as f64 / seconds) as u64
        };
        let is_long_ago = |look: &&(Instant, _)| at.saturating_duration_since(look.0) >= SHORTEST;
        let Some(recent) = self.looks.iter().rev().find(is_long_ago) else { return Vec::new() };
        let mut found: Vec<_> =
            now.iter().map(|reads| (per_second(reads, recent), reads.task)).collect();
        found.retain(|(reads_per_second, _)| *reads_per_second >= MANY_PER_SECOND);
        found.sort_by_key(|(reads_per_second, _)| std::cmp::Reverse(*reads_per_second));
        let finding = |(reads_per_second, task)| Finding::EndedReads { task, reads_per_second };
        found.into_iter().map(finding).collect()
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;
    use crate::insight::finding::tests::entry;

    /// What is said after looks in each second, when a task has repeated so many reads by then.
    fn said(seconds: u64, repeated: impl Fn(u64) -> u64) -> Vec<String> {
        let (mut reads, begin, task) = (RepeatedReads::default(), Instant::now(), entry().task);
        for second in 0..=seconds {
            let at = begin + Duration::from_secs(second);
            reads.look(at, vec![EndedReads { task, repeated: repeated(second) }]);
        }
        assert!(reads.looks.len() <= 14);
        reads.findings().iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_loop_that_overlooks_the_end_is_told_until_it_has_ended() {
        let told = said(30, |second| 50_000 * second);
        let [sentence] = &told[..] else { panic!("{told:?}") };
        assert!(sentence.contains(", reads at the end of a stream some 50000 times"), "{sentence}");
        assert_eq!(said(3, |second| 50_000 * second), [""; 0], "for short");
        assert_eq!(said(30, |second| 50_000 * second.min(25)), [""; 0], "it has ended");
    }

    #[test]
    fn tasks_that_read_there_a_few_times_are_not_told() {
        assert_eq!(said(30, |second| 900 * second), [""; 0]);
    }
}
