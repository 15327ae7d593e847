//! How long polls last, as the looks of the watchdog show it.
//!
//! Each look compares where a worker is with where it was at the last one. What is found is [`News`]:
//!
//! | a worker | news |
//! |---|---|
//! | has been at one position for half of `slow_after` | `HalfSlow`, once a position |
//! | has been there for all of `slow_after` | `Slow`, once a position |
//! | has moved, after `Slow` | `SlowEnded` |
//! | has moved, after several looks have found it in one poll | `Ended` |
//!
//! A worker that blocks in place is in no such poll: it has said so.
//!
//! Whether a position is slow depends on a sum over the looks that find the worker there. Each look adds the
//! time since the last one, but at most `slow_after` divided by [`SLOW_SHARE`]. If the system stops the
//! process for minutes, no task runs meanwhile, and the next look must not take that time for a poll.

use crate::engine::scheduler::{LONGEST_PAUSE, WorkerEntry};
use std::time::{Duration, Instant};

/// One look counts at the most for `slow_after` divided by this.
const SLOW_SHARE: u32 = 4;

/// The workers of one scheduler, from one look to the next.
pub(super) struct LongPolls {
    slow_after: Duration,
    workers: Vec<WorkerLooks>,
    looked: Instant,
}

/// One worker at one look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Grows when a poll begins, when it ends, and when the worker goes to sleep.
    pub(super) position: u64,
    /// In a poll: otherwise it is in something else that is no task, or sleeps.
    pub(super) in_poll: bool,
    /// Parked, or without a thread.
    pub(super) idle: bool,
    pub(super) blocked_in_place: bool,
}

/// What a look has found of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// It has been at one position for so long that this may become slow: what its thread has used of the
    /// processor until now will be asked for.
    HalfSlow,
    /// It has been at one position for this time at least, which is slow.
    Slow(Duration),
    /// It has left the position that was slow, where it was for this time at least.
    SlowEnded(Duration),
    /// It has ended a poll that took so long, give or take a pause between two looks.
    Ended(Duration),
}

#[derive(Debug, Clone)]
struct WorkerLooks {
    seen: Seen,
    /// Whether it blocked in place, or has done so in the poll that it is in.
    in_place: bool,
    /// It is where it was at the last look, and neither sleeps nor has just slept.
    stays: bool,
    /// The last look that saw it move, or saw it at work after a sleep. Not the last look that saw it asleep:
    /// the watchdog may have slept since.
    moved: Instant,
    /// About how long before that look the poll has begun.
    before: Duration,
    /// The time of the looks that have found it at one position, in time that the process has been let run.
    lasted: Duration,
    told: Told,
}

/// What has been told of the position that a worker is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    HalfSlow,
    Slow,
}

impl Seen {
    pub(super) fn of(entry: &WorkerEntry) -> Self {
        Self {
            position: entry.position,
            in_poll: entry.is_in_poll(),
            idle: (entry.is_parked || !entry.has_thread) && !entry.is_blocked_in_place,
            blocked_in_place: entry.is_blocked_in_place,
        }
    }
}

impl LongPolls {
    pub(super) fn new(slow_after: Duration, now: Instant) -> Self {
        Self { slow_after, workers: Vec::new(), looked: now }
    }

    /// From now on there are at least so many workers. Returns whether there were fewer before.
    ///
    /// Only here memory is allocated: the watchdog must not begin to when the program has stopped to.
    pub(super) fn grow(&mut self, workers: usize) -> bool {
        if self.workers.len() >= workers {
            return false;
        }
        let worker = WorkerLooks {
            seen: Seen { position: 0, in_poll: false, idle: true, blocked_in_place: false },
            in_place: false,
            stays: false,
            moved: self.looked,
            before: Duration::ZERO,
            lasted: Duration::ZERO,
            told: Told::Nothing,
        };
        self.workers.resize(workers, worker);
        true
    }

    /// A look at `now` has found this, by the index of the worker. Calls `tell` with the index, the
    /// position and what is new.
    pub(super) fn look(
        &mut self,
        now: Instant,
        seen: impl Iterator<Item = (usize, Seen)>,
        mut tell: impl FnMut(usize, u64, News),
    ) {
        let passed = now.saturating_duration_since(std::mem::replace(&mut self.looked, now));
        for (index, seen) in seen {
            let mut tell = |news| tell(index, seen.position, news);
            self.workers[index].look(seen, now, passed, self.slow_after, &mut tell);
        }
    }

    /// How long `worker` has been at `position`, as of the last look. Zero: it has moved since, or is parked.
    pub(super) fn lasted(&self, worker: usize, position: u64) -> Duration {
        let known = self.workers.get(worker).filter(|it| it.seen.position == position);
        known.map_or(Duration::ZERO, |it| it.lasted)
    }

    /// Whether a poll that was reported as slow has yet to end.
    pub(super) fn awaits_end(&self) -> bool {
        self.workers.iter().any(|it| it.told == Told::Slow)
    }
}

impl WorkerLooks {
    /// Compares with the previous look, `passed` ago.
    fn look(
        &mut self,
        seen: Seen,
        now: Instant,
        passed: Duration,
        slow_after: Duration,
        tell: &mut dyn FnMut(News),
    ) {
        let old = std::mem::replace(&mut self.seen, seen);
        let has_moved = seen.position != old.position;
        let was_idle = old.idle || seen.idle;
        let stayed = std::mem::replace(&mut self.stays, !has_moved && !was_idle);
        // A worker that has left moves no more.
        let is_over = stayed && old.in_poll && (has_moved || seen.idle);
        // It may have ended at any time since the last look, which may be long ago if the system has not let
        // the watchdog run.
        let middle = passed.min(LONGEST_PAUSE) / 2;
        if is_over && !seen.blocked_in_place && !self.in_place {
            let known = now.saturating_duration_since(self.moved).saturating_sub(passed);
            tell(News::Ended(self.before + known + middle));
        }
        self.in_place = seen.blocked_in_place || (self.in_place && !has_moved);
        if self.stays && !seen.blocked_in_place {
            self.lasted += passed.min(slow_after / SLOW_SHARE);
            self.tell_if_slow(slow_after, tell);
        } else {
            if self.told == Told::Slow {
                tell(News::SlowEnded(self.lasted));
            }
            (self.told, self.lasted) = (Told::Nothing, Duration::ZERO);
        }
        if !self.stays {
            self.moved = now;
            // A worker that was idle may have woken the watchdog with its first poll.
            let has_slept = was_idle && passed > LONGEST_PAUSE;
            self.before = if has_slept { Duration::ZERO } else { middle };
        }
    }

    fn tell_if_slow(&mut self, slow_after: Duration, tell: &mut dyn FnMut(News)) {
        match self.told {
            Told::Nothing if self.lasted >= slow_after / 2 => {
                self.told = Told::HalfSlow;
                tell(News::HalfSlow);
            }
            Told::HalfSlow if self.lasted >= slow_after => {
                self.told = Told::Slow;
                tell(News::Slow(self.lasted));
            }
            Told::Nothing | Told::HalfSlow | Told::Slow => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_micros(500);
    const SLOW: Duration = Duration::from_millis(100);
    const BUSY: Seen = Seen { position: 2, in_poll: true, idle: false, blocked_in_place: false };
    const PARKED: Seen = Seen { idle: true, in_poll: false, ..BUSY };
    const BLOCKED: Seen = Seen { blocked_in_place: true, ..BUSY };

    /// Looks at one worker.
    struct Looks {
        polls: LongPolls,
        now: Instant,
        seen: Seen,
    }

    impl Looks {
        fn new(seen: Seen) -> Self {
            let now = Instant::now();
            let mut polls = LongPolls::new(SLOW, now);
            polls.grow(1);
            Self { polls, now, seen }
        }

        /// The worker begins another poll.
        fn poll(&mut self) -> &mut Self {
            self.seen.position += 2;
            self.seen.in_poll = true;
            self
        }

        fn look_after(&mut self, time: Duration) -> Vec<News> {
            self.now += time;
            let mut news = Vec::new();
            self.polls.look(self.now, [(0, self.seen)].into_iter(), |_, _, it| news.push(it));
            news
        }

        fn look(&mut self) -> Vec<News> {
            self.look_after(TICK)
        }

        fn looks(&mut self, count: usize) -> Vec<News> {
            (0..count).flat_map(|_| self.look()).collect()
        }

        fn lasted(&self) -> Duration {
            self.polls.lasted(0, self.seen.position)
        }
    }

    #[test]
    fn a_poll_is_half_slow_once_and_slow_once() {
        let mut looks = Looks::new(BUSY);
        let begin = looks.now;
        let mut told = Vec::new();
        while looks.now < begin + 5 * SLOW {
            told.extend(looks.look().into_iter().map(|news| (news, looks.now - begin)));
        }
        let [(News::HalfSlow, half), (News::Slow(time), whole)] = told[..] else {
            panic!("{told:?}");
        };
        // The first look may come when the poll has just begun.
        assert!(half >= SLOW / 2 && half <= SLOW / 2 + 2 * TICK, "{half:?}");
        assert!(whole >= SLOW && whole <= SLOW + 2 * TICK, "{whole:?}");
        assert!(time >= SLOW && time <= whole, "{time:?}");
        let again = looks.poll().looks(300);
        use News::{Ended, HalfSlow, Slow, SlowEnded};
        let is_told = matches!(again[..], [Ended(_), SlowEnded(_), HalfSlow, Slow(_)]);
        assert!(is_told, "another poll: {again:?}");
    }

    #[test]
    fn short_polls_and_what_blocks_in_place_are_not_told_of() {
        let mut moves = Looks::new(BUSY);
        for _ in 0..1_000 {
            assert_eq!(moves.poll().look(), [], "each poll is short");
        }
        assert_eq!(Looks::new(BLOCKED).looks(1_000), [], "it has said so itself");
        assert_eq!(Looks::new(PARKED).looks(1_000), []);
    }

    /// It is over, and the worker has not begun with another.
    #[test]
    fn what_a_worker_does_after_a_poll_is_not_a_part_of_it() {
        let mut looks = Looks::new(BUSY);
        while looks.lasted() < SLOW - 2 * TICK {
            looks.look();
        }
        looks.seen = Seen { position: looks.seen.position + 1, in_poll: false, ..looks.seen };
        assert!(matches!(looks.looks(4)[..], [News::Ended(_)]));
        assert!(looks.lasted() < SLOW / 2);
        let told = looks.looks(300);
        assert!(matches!(told[..], [News::HalfSlow, News::Slow(_)]), "it lasts, too: {told:?}");
        assert!(matches!(looks.poll().look()[..], [News::SlowEnded(_)]), "it is no poll");
    }

    #[test]
    fn a_process_that_was_stopped_has_not_made_a_slow_poll() {
        let mut looks = Looks::new(BUSY);
        looks.looks(2);
        assert_eq!(looks.look_after(Duration::from_secs(600)), []);
        assert!(matches!(looks.poll().look()[..], [News::Ended(_)]));
    }

    #[test]
    fn how_long_a_poll_took_is_known_when_it_is_over() {
        let mut looks = Looks::new(BUSY);
        looks.look();
        // Found in one poll by 41 looks, and beyond it by the next one.
        assert_eq!(looks.poll().look(), []);
        assert_eq!(looks.looks(40), [], "it lasts");
        assert_eq!(looks.poll().look(), [News::Ended(41 * TICK)]);
        assert_eq!(looks.poll().look(), [], "told once");
        // The watchdog has not been let run: the poll may have ended at the begin of that time.
        looks.looks(10);
        let ended = looks.poll().look_after(Duration::from_secs(10));
        assert_eq!(ended, [News::Ended(10 * TICK + TICK / 2 + LONGEST_PAUSE / 2)]);
    }

    #[test]
    fn the_end_of_a_slow_poll_is_awaited_and_told_once() {
        let end = |change: fn(&mut Seen)| {
            let mut looks = Looks::new(BUSY);
            while !matches!(looks.look()[..], [News::Slow(_)]) {
                assert!(!looks.polls.awaits_end());
            }
            assert_eq!(looks.looks(40), [], "it lasts");
            assert!(looks.polls.awaits_end());
            change(&mut looks.seen);
            let told = looks.look_after(Duration::from_secs(10));
            assert!(!looks.polls.awaits_end());
            assert_eq!(looks.look(), [], "told once");
            let ended = told.iter().find_map(|news| match news {
                News::SlowEnded(time) => Some(*time),
                _ => None,
            });
            ended.expect("it is told")
        };
        // Another poll; nothing for now; a sleep; and the same poll, in which it says that it blocks.
        let ends: [fn(&mut Seen); 4] = [
            |seen| seen.position += 2,
            |seen| (seen.position, seen.in_poll) = (seen.position + 1, false),
            |seen| (seen.position, seen.in_poll, seen.idle) = (seen.position + 1, false, true),
            |seen| seen.blocked_in_place = true,
        ];
        for time in ends.map(end) {
            assert!(time >= SLOW + 40 * TICK && time <= SLOW + 42 * TICK, "{time:?}");
        }
        // One that was not slow.
        let mut looks = Looks::new(BUSY);
        looks.looks(120);
        assert!(looks.lasted() > SLOW / 2, "it was told of");
        assert!(matches!(looks.poll().look()[..], [News::Ended(_)]));
    }

    /// The watchdog has slept, and the worker, which begins a poll, wakes it.
    #[test]
    fn a_poll_that_wakes_the_watchdog_has_begun_just_now() {
        let mut looks = Looks::new(PARKED);
        looks.look();
        looks.seen.idle = false;
        looks.poll().look_after(Duration::from_secs(10));
        looks.looks(40);
        assert_eq!(looks.poll().look(), [News::Ended(40 * TICK + TICK / 2)]);
    }

    #[test]
    fn the_last_poll_of_a_worker_that_leaves_is_over() {
        let mut looks = Looks::new(BUSY);
        looks.look();
        looks.poll().looks(41);
        looks.seen.idle = true;
        assert_eq!(looks.look(), [News::Ended(41 * TICK)]);
        assert_eq!(looks.looks(3), [], "told once");
    }

    #[test]
    fn a_sleep_and_what_blocks_in_place_are_no_long_polls() {
        for first in [PARKED, BLOCKED] {
            let mut looks = Looks::new(first);
            looks.looks(40);
            looks.seen = Seen { position: looks.seen.position, ..BUSY };
            assert_eq!(looks.poll().look(), []);
            // One that goes on for a while after it has blocked in place.
            looks.seen.blocked_in_place = true;
            looks.looks(40);
            looks.seen.blocked_in_place = false;
            looks.looks(3);
            assert_eq!(looks.poll().look(), []);
        }
    }
}
