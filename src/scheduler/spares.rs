//! Spare workers: who works while every worker is stuck in a poll.
//!
//! A task that blocks its worker (a computation, a synchronous call) takes nothing from the others while one
//! worker is free: it takes over the queues of the rest. When none is free, the monitor starts one more
//! worker than there should be, a *spare*: in the slot behind those of the regular ones, and otherwise like
//! them. When a regular worker has been free for a while, the spares leave as surplus workers do.
//!
//! | the monitor sees | and | it |
//! |---|---|---|
//! | every worker blocked for [`BLOCKED_AFTER`] | something queued | reports each poll once, starts a spare |
//! | as above | as above, but no spare left, or a start failed lately | reports |
//! | spares, and a regular worker free for [`RETIRE_AFTER`] | nobody blocks in place | lets all spares go |
//!
//! A worker that blocks in place, which it says beforehand (absence.rs), counts as blocked from the
//! beginning, starts a spare itself, and is not reported.
//!
//! The number of spares is bounded: tasks that block one after the other would otherwise get a thread each,
//! and the answer to that is `spawn_blocking`.
//!
//! Why nothing is lost: the slots, the idle word and `staying` know no difference between a spare and a
//! worker that `set_worker_threads` has added, see lifecycle.rs.

use super::lifecycle::{Around, ThreadConfig, Threads};
use super::shared::Shared;
use crate::sync_shim::{Arc, MutexGuard};
use std::io;
use std::time::{Duration, Instant};

/// Workers that stand still for so long are blocked. Less than three ticks of the monitor of 4 ms: with the
/// one before the standstill is first seen, a spare starts after 16 ms at the latest. Less would take workers
/// for blocked that only wait for a core (at 6 ms, on a machine with four times as many busy threads as
/// cores): no harm, but a thread for nothing.
pub(super) const BLOCKED_AFTER: Duration = Duration::from_millis(10);

/// A spare stays for so long after a regular worker is free: a program that blocks its workers does it
/// again, and threads are dear.
const RETIRE_AFTER: Duration = Duration::from_millis(250);

/// After a failed start the next one waits for so long.
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// What it takes to start a worker.
pub(crate) struct Crew {
    pub(crate) config: ThreadConfig,
    pub(crate) around: Around,
    /// How many spares there may be at a time.
    pub(crate) max_spares: usize,
}

/// The workers at one look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Crowd {
    /// The number of workers, without and with the spares.
    pub(super) regular: usize,
    pub(super) staying: usize,
    /// Regular workers that are not blocked.
    pub(super) free: usize,
    /// Spares that are not blocked.
    pub(super) free_spares: usize,
    /// Workers that block in place: absence.rs.
    pub(super) away: usize,
}

impl Crowd {
    /// The worker `index` is not blocked.
    pub(super) fn count(&mut self, index: usize) {
        if index < self.regular {
            self.free += 1;
        } else if index < self.staying {
            self.free_spares += 1;
        }
    }

    /// Nobody is free to take anything over.
    pub(super) fn is_blocked(self) -> bool {
        self.free == 0 && self.free_spares == 0
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Keep,
    Start,
    Retire,
}

/// What the monitor remembers of spares.
#[derive(Debug, Default)]
pub(super) struct Spares {
    /// Since when a regular worker has been free at each look.
    easy: Option<Instant>,
    failed: Option<Instant>,
}

impl Spares {
    /// One look at the workers; `waiting`: something is queued.
    pub(super) fn judge(&mut self, crowd: Crowd, waiting: bool, now: Instant) -> Verdict {
        let passed = |since: Instant, limit| now.saturating_duration_since(since) >= limit;
        if crowd.free == 0 {
            self.easy = None;
            let may_start = self.failed.is_none_or(|failed| passed(failed, RETRY_AFTER));
            let needed = crowd.is_blocked() && waiting && may_start;
            return if needed { Verdict::Start } else { Verdict::Keep };
        }
        let easy = *self.easy.get_or_insert(now);
        let idle = crowd.staying > crowd.regular && crowd.away == 0;
        if idle && passed(easy, RETIRE_AFTER) { Verdict::Retire } else { Verdict::Keep }
    }

    /// No thread could be made.
    pub(super) fn failed(&mut self, now: Instant) {
        self.failed = Some(now);
    }
}

impl Shared {
    /// Starts one spare worker. `false`: there may be none more, or somebody is starting or ending threads
    /// at the moment; the next look will see what came of it.
    pub(super) fn start_spare(self: &Arc<Self>) -> io::Result<bool> {
        self.threads.try_lock().map_or(Ok(false), |threads| self.add_spare(threads))
    }

    /// As [`Shared::start_spare`], for who has the lock.
    pub(super) fn add_spare(
        self: &Arc<Self>,
        mut threads: MutexGuard<'_, Threads>,
    ) -> io::Result<bool> {
        let Some(crew) = self.crew.get().filter(|_| !self.is_closed()) else {
            return Ok(false);
        };
        let staying = self.staying_workers();
        let end = (self.worker_count() + crew.max_spares).min(self.slots.workers());
        // A worker that was let go and is still stuck has kept its slot: it counts as a spare again.
        let Some(index) = (staying..end).find(|&index| threads.is_vacant(index)) else {
            return Ok(false);
        };
        self.set_staying_workers(index + 1);
        let started = self.occupy(&mut threads, index, &crew.config, &crew.around);
        if started.is_err() {
            self.set_staying_workers(staying);
        }
        drop(threads);
        // After a failure: one that was counted in again may have parked meanwhile.
        self.unpark_surplus(index + 1);
        started.map(|()| true)
    }

    /// Asks all spare workers to leave.
    pub(super) fn retire_spares(&self) {
        let Some(threads) = self.threads.try_lock() else {
            return;
        };
        if self.is_closed() {
            return;
        }
        let stayed = self.staying_workers();
        self.set_staying_workers(self.worker_count());
        drop(threads);
        self.unpark_surplus(stayed);
    }

    /// How many polls have been reported as blocking the last free worker.
    pub(crate) fn blocked_polls(&self) -> u64 {
        self.monitor.blocked_polls()
    }

    /// How many spare workers there are.
    pub(crate) fn spare_workers(&self) -> usize {
        self.staying_workers().saturating_sub(self.worker_count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKED: Crowd = Crowd { regular: 2, staying: 2, free: 0, free_spares: 0, away: 0 };
    const SAVED: Crowd = Crowd { staying: 3, free_spares: 1, ..BLOCKED };
    const EASY: Crowd = Crowd { free: 1, ..SAVED };

    #[test]
    fn a_spare_starts_when_nobody_is_free_and_something_waits() {
        let (mut spares, now) = (Spares::default(), Instant::now());
        assert_eq!(spares.judge(BLOCKED, false, now), Verdict::Keep);
        assert_eq!(spares.judge(Crowd { free: 1, ..BLOCKED }, true, now), Verdict::Keep);
        assert_eq!(spares.judge(BLOCKED, true, now), Verdict::Start);
        assert_eq!(spares.judge(SAVED, true, now), Verdict::Keep, "the spare is free");
        assert_eq!(spares.judge(Crowd { free_spares: 0, ..SAVED }, true, now), Verdict::Start);
    }

    #[test]
    fn spares_stay_while_somebody_blocks_in_place() {
        let (mut spares, now) = (Spares::default(), Instant::now());
        let away = Crowd { away: 1, ..EASY };
        assert_eq!(spares.judge(away, false, now), Verdict::Keep);
        assert_eq!(spares.judge(away, false, now + 9 * RETIRE_AFTER), Verdict::Keep);
        assert_eq!(spares.judge(EASY, false, now + 10 * RETIRE_AFTER), Verdict::Retire);
    }

    #[test]
    fn a_failed_start_is_not_repeated_at_once() {
        let (mut spares, now) = (Spares::default(), Instant::now());
        spares.failed(now);
        assert_eq!(spares.judge(BLOCKED, true, now + RETRY_AFTER / 2), Verdict::Keep);
        assert_eq!(spares.judge(BLOCKED, true, now + RETRY_AFTER), Verdict::Start);
    }

    #[test]
    fn spares_leave_when_a_regular_worker_has_been_free_for_a_while() {
        let (mut spares, now) = (Spares::default(), Instant::now());
        assert_eq!(spares.judge(EASY, true, now), Verdict::Keep);
        assert_eq!(spares.judge(EASY, true, now + RETIRE_AFTER / 2), Verdict::Keep);
        assert_eq!(spares.judge(SAVED, true, now + RETIRE_AFTER / 2), Verdict::Keep, "stuck again");
        assert_eq!(spares.judge(EASY, true, now + RETIRE_AFTER), Verdict::Keep, "begins anew");
        assert_eq!(spares.judge(EASY, false, now + 2 * RETIRE_AFTER), Verdict::Retire);
        let none = Crowd { free: 1, ..BLOCKED };
        assert_eq!(
            spares.judge(none, true, now + 3 * RETIRE_AFTER),
            Verdict::Keep,
            "nobody to let go"
        );
    }
}
