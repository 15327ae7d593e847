//! The last slow polls, which a dump shows when they are over, too.
//!
//! The driver thread writes here when it finds that a poll is slow, and when it finds that poll over. The
//! workers write nothing. What a poll does costs the driver thread some reads of files, and the task's name a
//! walk. So where only this record wants them, the driver thread asks for both at most [`LOOKS`] times a
//! second: it also fetches events, which must not wait for a hundred blocked workers. Where a listener, a
//! function or a collector wants the poll, the driver thread always asks, and does not count that.

use super::super::slow_poll::SlowPoll;
use std::time::{Duration, Instant};

/// How many polls are kept.
pub(crate) const KEPT: usize = 16;

/// How many polls are looked at closely in [`PERIOD`].
const LOOKS: u32 = 16;
const PERIOD: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Record {
    /// Each new one is at the end, and moves there once more when it is over.
    kept: Vec<KeptPoll>,
    /// Since when looks are counted, and how many there were.
    looks: Option<(Instant, u32)>,
}

#[derive(Debug, Clone)]
pub(crate) struct KeptPoll {
    pub(crate) slow: SlowPoll,
    /// Which poll of the worker it is.
    pub(crate) position: u64,
    /// `None`: it is under way, as far as the driver thread has seen.
    pub(crate) ended: Option<Instant>,
}

impl Record {
    /// The memory is made here: where the driver thread writes, the program may have stopped to allocate.
    pub(super) fn new() -> Self {
        Self { kept: Vec::with_capacity(KEPT), looks: None }
    }

    /// Whether there is time to look closely at one more poll.
    pub(super) fn may_look(&mut self, now: Instant) -> bool {
        let is_new = |since: Instant| now.saturating_duration_since(since) < PERIOD;
        let (since, looks) = self.looks.filter(|looks| is_new(looks.0)).unwrap_or((now, 0));
        self.looks = Some((since, looks + 1));
        looks < LOOKS
    }

    /// A poll is slow. If the room is taken, the one goes that has ended first, or else that has begun first.
    pub(super) fn keep(&mut self, slow: SlowPoll, position: u64) {
        if self.kept.len() == KEPT {
            let first = self.kept.iter().position(|kept| kept.ended.is_some()).unwrap_or(0);
            self.kept.remove(first);
        }
        self.kept.push(KeptPoll { slow, position, ended: None });
    }

    /// The last poll of `worker` that was kept is over, after `time` at least.
    pub(super) fn end(&mut self, worker: usize, time: Duration, now: Instant) {
        let is_it = |kept: &KeptPoll| kept.slow.worker == worker && kept.ended.is_none();
        if let Some(index) = self.kept.iter().rposition(is_it) {
            let mut kept = self.kept.remove(index);
            kept.slow.extend(time);
            kept.ended = Some(now);
            self.kept.push(kept);
        }
    }

    pub(super) fn kept(&self) -> Vec<KeptPoll> {
        self.kept.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::ThreadActivity;

    const MS: Duration = Duration::from_millis(1);

    fn slow(worker: usize) -> SlowPoll {
        let activity = ThreadActivity::Unknown;
        SlowPoll { worker, task: None, name: None, duration: 100 * MS, activity }
    }

    /// The workers of those that are kept, and which of them are over.
    fn kept(record: &Record) -> Vec<(usize, bool)> {
        record.kept.iter().map(|kept| (kept.slow.worker, kept.ended.is_some())).collect()
    }

    #[test]
    fn the_last_ones_are_kept_and_those_under_way_before_those_that_are_over() {
        let (mut record, now) = (Record::new(), Instant::now());
        let memory = record.kept.as_ptr();
        record.keep(slow(100), 1);
        for worker in 0..40 {
            record.keep(slow(worker), 1);
            record.end(worker, 200 * MS, now);
        }
        let mut expected: Vec<_> = (25..40).map(|worker| (worker, true)).collect();
        expected.insert(0, (100, false));
        assert_eq!(kept(&record), expected, "one that does not end is not pushed out");
        record.end(100, 900 * MS, now);
        assert_eq!(kept(&record).last(), Some(&(100, true)), "it has ended last");
        (200..240).for_each(|worker| record.keep(slow(worker), 1));
        let expected: Vec<_> = (224..240).map(|worker| (worker, false)).collect();
        assert_eq!(kept(&record), expected, "all are under way");
        assert_eq!(record.kept.as_ptr(), memory, "no new memory");
    }

    #[test]
    fn the_end_is_noted_with_its_time_at_the_last_poll_of_the_worker() {
        let (mut record, now) = (Record::new(), Instant::now());
        record.keep(slow(3), 1);
        record.end(4, 300 * MS, now);
        assert_eq!(kept(&record), [(3, false)], "of another worker");
        record.end(3, 300 * MS, now);
        record.keep(slow(3), 2);
        record.end(3, 50 * MS, now + MS);
        record.end(3, 900 * MS, now + 2 * MS);
        let seen: Vec<_> =
            record.kept().iter().map(|kept| (kept.slow.duration, kept.ended)).collect();
        assert_eq!(seen, [(300 * MS, Some(now)), (100 * MS, Some(now + MS))]);
    }

    #[test]
    fn looks_have_a_bound_in_time() {
        let (mut record, now) = (Record::new(), Instant::now());
        let mut looks = |now| (0..100).filter(|_| record.may_look(now)).count();
        assert_eq!(looks(now), 16);
        assert_eq!(looks(now + PERIOD - MS), 0);
        assert_eq!(looks(now + PERIOD), 16);
        assert_eq!(looks(now + PERIOD + PERIOD / 2), 0);
    }
}
