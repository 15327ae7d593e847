//! How long polls take, and how long tasks are ready before they are polled, measured at some of them.
//!
//! Which polls are measured is drawn at random: each is as likely as every other one, and stands for as many
//! as [`Rate`] says. If a worker makes few polls, each of them is measured. Otherwise the fair turns of a
//! worker tell when the next sample is among the ticks until the next fair turn, and choose that tick: before
//! it the worker reports that it has come ([`Samples::begin`]). From then on until the sample is taken, the
//! worker reports polls. So a poll that is not measured pays nothing for those that are.
//!
//! * The chosen poll is timed. It stands for all polls since the one that was timed before, so that the
//!   counts are those of all polls. Polls of [`RARE_POLL`] and more are rare, and a sample would mostly miss
//!   them or count one for hundreds. The watchdog sees each of these, and counts it.
//! * Its task is followed to its next poll, wherever it is woken and whichever worker polls it (stamps.rs).
//!   Each wait of a task that is woken comes after one of its polls, so these waits are as good a sample as
//!   the polls are. A task that has yielded waits for nothing, and is not counted.
//! * The first wait of a task comes after no poll. So spawns are drawn, too ([`Spawns`]).
//!
//! Rejected: to take one of the next polls when the last sample was long ago. That time mostly ends in a long
//! poll, and those that follow it are short. With one poll of 2 ms among 20, none of these was sampled in 4
//! s, although they took nearly all the time. To follow one of the tasks that a chosen poll makes ready: the
//! wakes of other threads are missing then, and those of a poll that wakes a thousand count as one. To read
//! the clock before and after each poll (the scheduler's policy.rs has what a reading costs).

use super::histogram::{Histograms, RARE_POLL};
use super::stamps::{self, Delay};
use crate::engine::nanos::nanos;
use crate::engine::rng::Rng;
use crate::engine::sync_shim::{Arc, clock};
use crate::engine::task::{TaskId, stands_for};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// How many rates there are: a followed task has the number of one in its word.
const RATES: u32 = 7;

/// The most samples in a second. A worker with fewer polls measures each.
const MOST: u64 = 1_000;

/// Samples take one part in this many of a worker's time at most. On a machine, or under a tool, on which
/// everything takes longer, there are fewer.
const PART: u64 = 1_000;

/// A sample takes so many times the time that is measured of it.
const WHOLE: u64 = 5;

/// At rates with a number up to this, each poll is reported and no tick is chosen.
const REPORTED: u32 = 1;

/// The pace is known after this time, or after so many samples at the present rate. A worker that has been
/// quiet measures no more polls than that before it learns that there are many now.
const PERIOD: Duration = Duration::from_millis(10);
const ENOUGH: u64 = 16;

/// If the chosen tick has found no task, one of so many polls after the sleep is chosen.
const AFTER_SLEEP: usize = 4;

/// Spawns within this time are one burst: of these, the more have been drawn the fewer are drawn.
const BURST: Duration = Duration::from_millis(1);
/// After so many of a burst, half as many are drawn, and so on.
const MANY: u32 = 64;

/// For how many polls, or spawns, a sample stands: 4 to the power of a number, by how many there have been
/// lately. A followed task has the number in its word: the worker that polls it may have another one by then.
pub(super) struct Rate {
    number: Cell<u32>,
    /// When they were last counted, and how many there were.
    counted: Cell<(Instant, u64)>,
    /// They are counted again then.
    until: Cell<Instant>,
}

impl Rate {
    fn new(counted: u64) -> Self {
        let now = clock::now();
        let (counted, until) = (Cell::new((now, counted)), Cell::new(now + PERIOD));
        Self { number: Cell::new(0), counted, until }
    }

    /// There have been `count` until now, and a sample takes `cost` nanoseconds.
    #[inline]
    fn count(&self, now: Instant, count: u64, cost: u64) {
        let made = count.saturating_sub(self.counted.get().1);
        if self.is_over(now) || made >= ENOUGH * self.stands_for() {
            self.choose(now, count, cost);
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        now >= self.until.get()
    }

    #[cold]
    fn choose(&self, now: Instant, count: u64, cost: u64) {
        let (since, before) = self.counted.replace((now, count));
        self.until.set(now + PERIOD);
        let (time, made) = (now.saturating_duration_since(since), count.saturating_sub(before));
        let pace = made.saturating_mul(1_000_000_000) / nanos(time).max(1);
        let most = (1_000_000_000 / PART / cost.max(1)).clamp(1, MOST);
        let is_enough = |&number: &u32| pace <= most * stands_for(number);
        self.number.set((0..RATES - 1).find(is_enough).unwrap_or(RATES - 1));
    }

    fn stands_for(&self) -> u64 {
        stands_for(self.number.get())
    }
}

/// How many come before the next one that is chosen, if one of so many is.
fn draw(rng: &mut Rng, one_of: u64) -> u64 {
    rng.below(2 * one_of as usize - 1) as u64
}

/// Which spawns are followed.
pub(super) struct Spawns {
    rng: Rng,
    /// How fast they come.
    rate: Rate,
    /// The number of the next one.
    pub(super) next: u64,
    /// The number of the last one.
    last: Option<u64>,
    /// When the burst began that it is in, and how many have been chosen in it.
    burst: (Instant, u32),
}

impl Spawns {
    pub(super) fn new(seed: u64) -> Self {
        let burst = (clock::now(), 0);
        Self { rng: Rng::new(seed), rate: Rate::new(0), next: 0, last: None, burst }
    }

    /// The `number`th spawn comes, on any thread. Returns for how many it stands if it is to be followed:
    /// those since the last one. A sample takes `cost` nanoseconds.
    pub(super) fn spawned(&mut self, number: u64, cost: u64) -> Option<u64> {
        if number < self.next {
            return None;
        }
        Some(self.follow(clock::now(), number, cost))
    }

    /// The `number`th spawn is followed. Returns for how many it stands.
    fn follow(&mut self, now: Instant, number: u64, cost: u64) -> u64 {
        if now.saturating_duration_since(self.burst.0) > BURST {
            self.burst = (now, 0);
        }
        self.burst.1 += 1;
        self.choose(now, number, cost);
        let last = self.last.replace(number).unwrap_or(number - 1);
        number - last
    }

    /// Draws the next one behind the `number`th.
    fn choose(&mut self, now: Instant, number: u64, cost: u64) {
        // By the time alone: a burst is no pace.
        if self.rate.is_over(now) {
            self.rate.choose(now, number, cost);
        }
        let one_of = self.one_of();
        self.next = number + 1 + draw(&mut self.rng, one_of);
    }

    fn one_of(&self) -> u64 {
        self.rate.stands_for() << (self.burst.1 / MANY).min(16)
    }

    /// There have been `number` spawns. If the pace has fallen since the next one was drawn, draws it anew,
    /// so that it does not lie minutes away. Returns whether it has.
    pub(super) fn pace_falls(&mut self, now: Instant, number: u64, cost: u64) -> bool {
        let is_over = self.rate.is_over(now);
        if is_over {
            self.rate.choose(now, number, cost);
            self.burst = (now, 0);
        }
        let falls = is_over && self.next.saturating_sub(number) > 2 * self.one_of();
        if falls {
            self.choose(now, number, cost);
        }
        falls
    }
}

pub(super) struct Samples {
    histograms: Arc<Histograms>,
    rate: Rate,
    /// The worker reports its polls, until one is chosen.
    is_on: Cell<bool>,
    /// After this number of polls the next one is chosen. `None`: the tick has come that was chosen for it.
    target: Cell<Option<u64>>,
    /// The number of the rate by which it was drawn.
    drawn: Cell<u32>,
    rng: RefCell<Rng>,
    /// What a part of a sample takes, in nanoseconds: mostly the least that was measured.
    cost: Cell<u64>,
    /// How many polls the worker had made when one was timed last.
    timed_at: Cell<u64>,
    /// The task whose poll is under way and was chosen.
    chosen: Cell<Option<TaskId>>,
    spawns: RefCell<Spawns>,
}

impl Samples {
    /// `polls`: those that earlier workers have made in the slot, and counted.
    pub(super) fn new(histograms: Arc<Histograms>, worker: usize, polls: u64) -> Self {
        Self {
            histograms,
            rate: Rate::new(polls),
            is_on: Cell::new(true),
            target: Cell::new(Some(polls)),
            drawn: Cell::new(0),
            rng: RefCell::new(Rng::new(worker as u64)),
            cost: Cell::new(0),
            timed_at: Cell::new(polls),
            chosen: Cell::new(None),
            spawns: RefCell::new(Spawns::new(worker as u64)),
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// Whether the poll that is under way is timed.
    pub(super) fn is_timed(&self) -> bool {
        self.chosen.get().is_some()
    }

    fn count(&self, now: Instant, polls: u64) {
        self.rate.count(now, polls, self.cost());
    }

    /// Of a whole sample.
    fn cost(&self) -> u64 {
        WHOLE * self.cost.get()
    }

    /// A fair turn has come after `polls` polls, and so many spawns.
    pub(super) fn fair_turn(&self, now: Instant, polls: u64, spawned: u64) {
        if self.rate.is_over(now) {
            self.count(now, polls);
            self.spawns.borrow_mut().pace_falls(now, spawned, self.cost());
        }
    }

    fn draw(&self, polls: u64) {
        self.drawn.set(self.rate.number.get());
        let left = draw(&mut self.rng.borrow_mut(), self.rate.stands_for());
        self.target.set(Some(polls + left));
    }

    /// After `polls` polls: chooses one of the next `ticks` ticks, if the next sample is among them.
    ///
    /// Ticks that find no task make no poll: then the sample comes somewhat earlier than it was drawn, or
    /// later if the chosen tick finds none. Rejected: to draw ticks. A worker that sleeps often does not make
    /// all that its fair turns foresee.
    pub(super) fn choose_tick(&self, polls: u64, ticks: u32) -> Option<u32> {
        if self.is_on() {
            return None;
        }
        let left = || self.target.get().and_then(|target| target.checked_sub(polls));
        // If it is that far away, it was drawn when the runtime made more polls.
        if left().is_none_or(|left| left >= 2 * self.rate.stands_for()) {
            self.draw(polls);
        }
        left().filter(|&left| left < u64::from(ticks)).map(|left| left as u32)
    }

    /// The chosen tick has come.
    pub(super) fn begin(&self) {
        self.is_on.set(true);
        self.target.set(None);
    }

    /// The worker has slept: the chosen tick has found no task. One of the next polls is chosen instead, and
    /// not always the first, which would prefer tasks that end a sleep.
    pub(super) fn slept(&self, polls: u64) {
        if self.is_on() && self.target.get().is_none() {
            self.target.set(Some(polls + self.rng.borrow_mut().below(AFTER_SLEEP) as u64));
        }
    }

    /// The number of the next spawn that is followed.
    pub(super) fn next_spawn(&self) -> u64 {
        self.spawns.borrow().next
    }

    /// The worker's `number`th spawn comes. As [`Spawns::spawned`].
    pub(super) fn spawned(&self, number: u64) -> Option<u64> {
        self.spawns.borrow_mut().spawned(number, self.cost())
    }

    /// A part of a sample has taken so many nanoseconds. If the system has taken the processor away in it,
    /// that says nothing, and if everything takes longer from now on, all the next ones say so.
    fn measured(&self, cost: u64) {
        let before = self.cost.get();
        let risen = before + before / 8 + 1;
        self.cost.set(if before == 0 { cost } else { cost.min(risen) });
    }

    /// A poll of `task` begins, after `polls` others. Returns the number of the rate if it is chosen.
    pub(super) fn poll_begins(&self, task: TaskId, polls: u64) -> Option<u32> {
        let is_chosen = self.is_on() && self.target.get().is_none_or(|target| polls >= target);
        self.chosen.set(is_chosen.then_some(task));
        is_chosen.then_some(self.drawn.get())
    }

    /// A poll of `task` begins that is followed: if it was ready for it, that wait is measured. Returns
    /// whether it is followed on: only if it is the poll for which it was chosen just now.
    pub(super) fn followed_poll_begins(&self, task: TaskId) -> bool {
        let delay = stamps::take(task);
        if let Some(Delay { time, stands_for }) = delay {
            self.histograms.latencies.add(time, stands_for);
        }
        delay.is_none() && self.chosen.get() == Some(task)
    }

    /// The chosen poll has ended `now` and has taken `time`, the last of `polls`.
    pub(super) fn poll_ends(&self, now: Instant, time: Duration, polls: u64) {
        self.chosen.set(None);
        let times = polls - self.timed_at.replace(polls);
        if time < RARE_POLL {
            self.histograms.poll_times.add(time, times);
        }
        // If there are few polls, the worker goes on to report them.
        self.count(now, polls);
        self.draw(polls);
        self.is_on.set(self.drawn.get() <= REPORTED);
        self.measured(nanos(clock::now().saturating_duration_since(now)));
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
            for tick in 0..10_000 {
                if tick % INTERVAL == 0 && samples.choose_tick(polls, INTERVAL).is_some() {
                    samples.begin();
                }
                let chosen = samples.poll_begins(TaskId::next(), polls);
                polls += 1;
                if chosen.is_some() {
                    samples.poll_ends(clock::now(), Duration::from_micros(1), polls);
                }
            }
        }
        let times: u64 = histograms.poll_times.read().buckets.iter().sum();
        assert!((1..=polls).contains(&times), "{times} of {polls}");
    }

    #[test]
    fn the_rate_follows_the_pace() {
        let (rate, begin) = (Rate::new(0), clock::now());
        let mut polls = 0;
        let mut at = |second, per_second| {
            polls += per_second;
            rate.count(begin + Duration::from_secs(second), polls, 0);
            rate.stands_for()
        };
        assert_eq!(at(1, 0), 1);
        assert_eq!(at(2, MOST), 1);
        assert_eq!(at(3, 10 * MOST), 16);
        assert_eq!(at(4, 100 * MOST), 256);
        assert_eq!(at(5, 1 << 40), 4_096);
        assert_eq!(at(6, 100), 1);
    }

    /// Whatever the bursts are, the spawns that are followed stand for all, and a burst has few of them.
    #[test]
    fn spawns_that_are_followed_stand_for_all() {
        const ALL: u64 = 1 << 20;
        for burst in [1, 100, 10_000, ALL] {
            let mut spawns = Spawns::new(1);
            let (begin, mut followed, mut stood) = (clock::now(), 0, 0);
            for number in 1..=ALL {
                // A burst each 10 ms, with a spawn each 100 ns.
                let (bursts, place) = (number / burst, number % burst);
                let now = begin + PERIOD * bursts as u32 + Duration::from_nanos(100) * place as u32;
                if number >= spawns.next {
                    stood += spawns.follow(now, number, 0);
                    followed += 1;
                }
            }
            // The one that was drawn last lies up to twice its mean behind the end.
            let left = 2 * spawns.one_of();
            assert!((ALL.saturating_sub(left)..=ALL).contains(&stood), "{burst}: {stood} of {ALL}");
            let most = if burst == 1 { ALL } else { ALL / 8 };
            assert!(followed <= most, "{burst}: {followed}");
            assert_eq!(spawns.spawned(spawns.next - 1, 0), None);
        }
    }
}
