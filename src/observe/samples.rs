//! How long polls take, and how long woken tasks wait for theirs, measured at a few of them.
//!
//! Which poll is the next sample is drawn at random, in a number of polls that is one [`PERIOD`] on average,
//! as fast as the worker has made them lately. Its fair turns tell when that poll is among the ticks until
//! the next fair turn, and choose that tick: before it the worker reports that it has come
//! ([`Samples::begin`]). From then on until the sample is taken, the worker reports polls, wakes and spawns,
//! as it does while events are recorded. So a poll that is not measured pays nothing for those that are.
//!
//! * The chosen poll is timed. It stands for all polls since the one that was timed before, so that the
//!   counts are those of all polls. A worker whose polls are long, which has a fair turn after fewer polls,
//!   does not count them more often than they are. Polls of [`RARE_POLL`] and more are rare, and a sample
//!   would mostly miss them or count one for hundreds. The watchdog sees each of these, and counts it.
//! * Of the tasks that are woken or spawned in that poll, or by the events that end the sleep that comes in
//!   its place, one is chosen, and followed until it is polled. A thief may take it. Then nothing is counted,
//!   so what a histogram of latencies has is that of tasks which run where they were made ready.
//!
//! Rejected: to take one of the next polls when the last sample was long ago. That time mostly ends in a long
//! poll, and those that follow it are short. With one poll of 2 ms among 20, none of these was sampled in 4
//! s, although they took nearly all the time. Rejected as well: to read the clock before and after each poll
//! (the scheduler's policy.rs has what a reading costs); and to stamp each task when it is woken, for which
//! its header has no room.

use super::histogram::{Histograms, RARE_POLL};
use crate::engine::nanos::nanos;
use crate::engine::rng::Rng;
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::TaskId;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// Mean time from one sample to the next. A sample costs some 2,000 instructions if a task is followed for
/// some polls, which is negligible per period.
const PERIOD: Duration = Duration::from_millis(10);

/// If no sample has come within this many periods, the pace of polls has changed: what is known of it is
/// discarded, and a new sample is drawn.
const LATE: u32 = 8;

/// Each sample discards one part in this many of the pace that was measured before.
const FORGOTTEN: u64 = 8;

/// The most polls between two samples on average: more than a worker makes.
const MOST_POLLS: u64 = 1 << 20;

/// After a task was followed for some polls, none is followed for this many times as many polls, so that the
/// cost stays a small share.
const GAP: u64 = 64;

/// A followed task that has not been polled after this many times the number of tasks before it is not here
/// any more. See "Bounds" in the scheduler's worker/next_task.rs.
const GONE_AFTER: u64 = 8;

/// Added to that number of tasks, so that some more may come while there are few.
const FEW_QUEUED: u64 = 128;

/// What the worker waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sought {
    Nothing,
    /// The next poll, and a task that becomes ready until its end.
    Poll,
    /// The chosen tick found no task, so the worker sleeps: a task that becomes ready afterwards.
    Task,
    /// The poll of the task that is followed.
    Followed,
}

pub(super) struct Samples {
    histograms: Arc<Histograms>,
    sought: Cell<Sought>,
    /// The number of polls after which the next sample comes.
    target: Cell<u64>,
    /// It is drawn anew if it has not come by then.
    late: Cell<Instant>,
    /// When a sample was drawn last, and how many polls the worker had made.
    drawn: Cell<(Instant, u64)>,
    /// How long the worker has lately taken, in nanoseconds, and for how many polls.
    pace: Cell<(u64, u64)>,
    rng: RefCell<Rng>,
    /// How many polls the worker had made when one was timed last.
    timed_at: Cell<u64>,
    /// How many polls it had made when a task's wait was counted last.
    counted_at: Cell<u64>,
    /// The task that is followed, and since when it is ready.
    followed: Cell<Option<(TaskId, Instant)>>,
    /// How many tasks it was chosen from.
    candidates: Cell<u64>,
    /// The numbers of polls at which its worker began to follow it, and gives it up.
    from: Cell<u64>,
    until: Cell<u64>,
    /// The number of polls before which no task is followed.
    next: Cell<u64>,
}

impl Samples {
    /// `polls`: those that earlier workers have made in the slot, and counted.
    pub(super) fn new(histograms: Arc<Histograms>, worker: usize, polls: u64) -> Self {
        let now = clock::now();
        Self {
            histograms,
            sought: Cell::new(Sought::Nothing),
            target: Cell::new(u64::MAX),
            late: Cell::new(now + PERIOD),
            drawn: Cell::new((now, polls)),
            pace: Cell::new((0, 0)),
            rng: RefCell::new(Rng::new(worker as u64)),
            timed_at: Cell::new(polls),
            counted_at: Cell::new(polls),
            followed: Cell::new(None),
            candidates: Cell::new(0),
            from: Cell::new(0),
            until: Cell::new(0),
            next: Cell::new(0),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.sought.get() != Sought::Nothing
    }

    /// Draws the next sample at `now`, after `polls` polls; candidates start at poll `first`.
    #[cold]
    fn draw(&self, now: Instant, polls: u64, first: u64) {
        let (since, before) = self.drawn.replace((now, polls));
        let passed = nanos(now.saturating_duration_since(since));
        let add = |sum: u64, more: u64| (sum - sum / FORGOTTEN).saturating_add(more);
        let (time, made) = if now < self.late.get() { self.pace.get() } else { (0, 0) };
        let (time, made) = (add(time, passed), add(made, polls - before));
        self.pace.set((time, made));
        let mean = u128::from(made) * PERIOD.as_nanos() / u128::from(time.max(1));
        let mean = mean.clamp(1, u128::from(MOST_POLLS)) as usize;
        self.target.set(first + self.rng.borrow_mut().below(2 * mean) as u64);
        self.late.set(now + LATE * PERIOD);
    }

    /// A task has become ready.
    pub(super) fn ready(&self, task: TaskId, now: Instant) {
        if !matches!(self.sought.get(), Sought::Poll | Sought::Task) {
            return;
        }
        let candidates = self.candidates.get() + 1;
        self.candidates.set(candidates);
        // Each of them is as likely to be the one in the end.
        if self.rng.borrow_mut().below(candidates as usize) == 0 {
            self.followed.set(Some((task, now)));
        }
    }

    /// The worker goes to sleep. Its queues are empty, so a task that was followed is not here.
    pub(super) fn slept(&self, polls: u64) {
        match self.sought.get() {
            Sought::Poll if self.followed.get().is_none() => self.sought.set(Sought::Task),
            Sought::Followed | Sought::Poll => self.end_following(polls),
            Sought::Task | Sought::Nothing => {}
        }
    }

    /// A poll of `task` begins, after `polls` others.
    pub(super) fn poll_begins(&self, task: TaskId, now: Instant, polls: u64) {
        let Some((followed, since)) = self.followed.get() else { return };
        if task != followed {
            return;
        }
        // This poll is counted, too.
        let polls = polls + 1;
        if polls >= self.next.get() {
            let times = polls - self.counted_at.replace(polls);
            self.histograms.latencies.add(now.saturating_duration_since(since), times);
        }
        if self.sought.get() == Sought::Poll {
            // This poll is the chosen one as well. What it makes ready comes too late.
            self.followed.set(None);
            self.candidates.set(0);
        } else {
            self.end_following(polls);
        }
    }

    /// A poll has taken `time`, the last of `polls`; `queued` tasks wait.
    pub(super) fn poll_ends(&self, time: Duration, polls: u64, queued: usize) {
        match self.sought.get() {
            Sought::Nothing => return,
            Sought::Poll => {
                let times = polls - self.timed_at.replace(polls);
                if time < RARE_POLL {
                    self.histograms.poll_times.add(time, times);
                }
            }
            Sought::Task => {}
            Sought::Followed => {
                if polls >= self.until.get() {
                    self.end_following(polls);
                }
                return;
            }
        }
        if self.followed.get().is_none() || polls < self.next.get() {
            return self.end_following(polls);
        }
        self.sought.set(Sought::Followed);
        self.from.set(polls);
        self.until.set(polls + GONE_AFTER * (queued as u64 + FEW_QUEUED));
    }

    /// In a fair turn after `polls` polls: chooses one of the `interval` ticks until the next fair turn, if
    /// the sample is among them.
    pub(super) fn fair_turn(&self, now: Instant, polls: u64, interval: u32) -> Option<u32> {
        if self.is_on() {
            return None;
        }
        match self.target.get().checked_sub(polls) {
            Some(chosen) if chosen < u64::from(interval) => {
                self.draw(now, polls, polls + chosen + 1);
                return Some(chosen as u32);
            }
            Some(_) if now < self.late.get() => {}
            // Or the last sample lasted until now.
            _ => self.draw(now, polls, polls),
        }
        None
    }

    /// The chosen tick has come.
    pub(super) fn begin(&self) {
        self.sought.set(Sought::Poll);
    }

    fn end_following(&self, polls: u64) {
        if self.sought.get() == Sought::Followed {
            self.next.set(polls + GAP * (polls - self.from.get()));
        }
        self.sought.set(Sought::Nothing);
        self.followed.set(None);
        self.candidates.set(0);
    }
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn polls_of_earlier_workers_in_the_slot_are_counted_once() {
        const INTERVAL: u32 = 64;
        let histograms = Arc::new(Histograms::new());
        let mut polls = 0;
        for _ in 0..3 {
            let samples = Samples::new(histograms.clone(), 0, polls);
            samples.target.set(polls + 1_000);
            for tick in 0..10_000 {
                if tick % INTERVAL == 0 {
                    let chosen = samples.fair_turn(clock::now(), polls, INTERVAL);
                    if chosen.is_some() {
                        samples.begin();
                    }
                }
                let task = TaskId::next();
                samples.ready(task, clock::now());
                samples.poll_begins(task, clock::now(), polls);
                polls += 1;
                samples.poll_ends(Duration::from_micros(1), polls, 0);
            }
        }
        let all = [&histograms.poll_times, &histograms.latencies];
        let [times, waits] = all.map(|it| it.read().buckets.iter().sum::<u64>());
        assert!((1..=polls).contains(&times), "{times} of {polls}");
        assert!((1..=polls).contains(&waits), "{waits} of {polls}");
    }
}
