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

/// The most news that one look brings of one worker.
const MOST_NEWS: usize = 2;

/// One look counts at most for `slow_after` divided by this.
const SLOW_SHARE: u32 = 4;

/// The workers of one scheduler, from one look to the next.
pub(super) struct LongPolls {
    slow_after: Duration,
    workers: Vec<WorkerLooks>,
    looked: Instant,
    /// What looks have found and has not been told, with the worker's index and position.
    pub(super) news: Vec<(usize, u64, News)>,
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
    seen: WorkerEntry,
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

impl LongPolls {
    pub(super) fn new(slow_after: Duration, now: Instant) -> Self {
        Self { slow_after, workers: Vec::new(), looked: now, news: Vec::new() }
    }

    /// A look at `now` has found these workers, by their index. Adds to the news what is new.
    ///
    /// Allocates memory only if there are more workers than before: the watchdog must not begin to when the
    /// program has stopped to.
    pub(super) fn look(
        &mut self,
        now: Instant,
        workers: impl ExactSizeIterator<Item = (usize, WorkerEntry)>,
    ) {
        if self.workers.len() < workers.len() {
            self.workers.resize(workers.len(), WorkerLooks::new(self.looked));
            self.news.reserve(MOST_NEWS * workers.len());
        }
        let passed = now.saturating_duration_since(std::mem::replace(&mut self.looked, now));
        for (index, seen) in workers {
            let found = self.workers[index].look(seen, now, passed, self.slow_after);
            self.news.extend(found.into_iter().flatten().map(|news| (index, seen.position, news)));
        }
    }

    /// How long `worker` has been at `position`, as of the last look. Zero: it has moved since, or is parked.
    pub(super) fn lasted(&self, worker: usize, position: u64) -> Duration {
        let known = self.workers.get(worker).filter(|it| it.seen.position == position);
        known.map_or(Duration::ZERO, |it| it.lasted)
    }

    /// Whether a worker has been where it is for at least that time.
    pub(super) fn is_any_stuck(&self, time: Duration) -> bool {
        self.workers.iter().any(|it| it.lasted >= time)
    }

    /// Whether a poll that was reported as slow has yet to end.
    pub(super) fn awaits_end(&self) -> bool {
        self.workers.iter().any(|it| it.told == Told::Slow)
    }
}

impl WorkerLooks {
    /// Of a worker that no look has seen yet. The last look was then.
    fn new(looked: Instant) -> Self {
        Self {
            seen: WorkerEntry::default(),
            in_place: false,
            stays: false,
            moved: looked,
            before: Duration::ZERO,
            lasted: Duration::ZERO,
            told: Told::Nothing,
        }
    }

    /// Compares with the previous look, `passed` ago.
    fn look(
        &mut self,
        seen: WorkerEntry,
        now: Instant,
        passed: Duration,
        slow_after: Duration,
    ) -> [Option<News>; MOST_NEWS] {
        let old = std::mem::replace(&mut self.seen, seen);
        let has_moved = seen.position != old.position;
        let was_idle = old.is_idle() || seen.is_idle();
        let stayed = std::mem::replace(&mut self.stays, !has_moved && !was_idle);
        // A worker that has left moves no more.
        let is_over = stayed && old.is_in_poll() && (has_moved || seen.is_idle());
        // It may have ended at any time since the last look, which may be long ago if the system has not let
        // the watchdog run.
        let middle = passed.min(LONGEST_PAUSE) / 2;
        let ended = (is_over && !seen.is_blocked_in_place && !self.in_place).then(|| {
            let known = now.saturating_duration_since(self.moved).saturating_sub(passed);
            News::Ended(self.before + known + middle)
        });
        self.in_place = seen.is_blocked_in_place || (self.in_place && !has_moved);
        let slow = if self.stays && !seen.is_blocked_in_place {
            self.lasted += passed.min(slow_after / SLOW_SHARE);
            self.tell_if_slow(slow_after)
        } else {
            let lasted = std::mem::take(&mut self.lasted);
            let was_slow = std::mem::replace(&mut self.told, Told::Nothing) == Told::Slow;
            was_slow.then_some(News::SlowEnded(lasted))
        };
        if !self.stays {
            self.moved = now;
            // A worker that was idle may have woken the watchdog with its first poll.
            let has_slept = was_idle && passed > LONGEST_PAUSE;
            self.before = if has_slept { Duration::ZERO } else { middle };
        }
        [ended, slow]
    }

    fn tell_if_slow(&mut self, slow_after: Duration) -> Option<News> {
        let (told, news) = match self.told {
            Told::Nothing if self.lasted >= slow_after / 2 => (Told::HalfSlow, News::HalfSlow),
            Told::HalfSlow if self.lasted >= slow_after => (Told::Slow, News::Slow(self.lasted)),
            Told::Nothing | Told::HalfSlow | Told::Slow => return None,
        };
        self.told = told;
        Some(news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_micros(500);
    const SLOW: Duration = Duration::from_millis(100);
    const BUSY: WorkerEntry = WorkerEntry {
        position: 2,
        polls: 1,
        task: None,
        thread: None,
        has_thread: true,
        rests: false,
        is_parked: false,
        is_blocked_in_place: false,
    };
    const PARKED: WorkerEntry = WorkerEntry { position: 3, is_parked: true, ..BUSY };
    const BLOCKED: WorkerEntry = WorkerEntry { is_blocked_in_place: true, ..BUSY };

    /// Looks at one worker.
    struct Looks {
        polls: LongPolls,
        now: Instant,
        seen: WorkerEntry,
    }

    impl Looks {
        fn new(seen: WorkerEntry) -> Self {
            let now = Instant::now();
            Self { polls: LongPolls::new(SLOW, now), now, seen }
        }

        /// The worker begins another poll.
        fn poll(&mut self) -> &mut Self {
            self.seen.position = (self.seen.position | 1) + 1;
            self
        }

        fn look_after(&mut self, time: Duration) -> Vec<News> {
            self.now += time;
            self.polls.look(self.now, [(0, self.seen)].into_iter());
            self.polls.news.drain(..).map(|(.., news)| news).collect()
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
        looks.seen.position += 1;
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
        let end = |change: fn(&mut WorkerEntry)| {
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
        let ends: [fn(&mut WorkerEntry); 4] = [
            |seen| seen.position += 2,
            |seen| seen.position += 1,
            |seen| (seen.position, seen.is_parked) = (seen.position + 1, true),
            |seen| seen.is_blocked_in_place = true,
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
        looks.seen.is_parked = false;
        looks.poll().look_after(Duration::from_secs(10));
        looks.looks(40);
        assert_eq!(looks.poll().look(), [News::Ended(40 * TICK + TICK / 2)]);
    }

    #[test]
    fn the_last_poll_of_a_worker_that_leaves_is_over() {
        let mut looks = Looks::new(BUSY);
        looks.look();
        looks.poll().looks(41);
        looks.seen.is_parked = true;
        assert_eq!(looks.look(), [News::Ended(41 * TICK)]);
        assert_eq!(looks.looks(3), [], "told once");
    }

    #[test]
    fn a_sleep_and_what_blocks_in_place_are_no_long_polls() {
        for first in [PARKED, BLOCKED] {
            let mut looks = Looks::new(first);
            looks.looks(40);
            looks.seen = WorkerEntry { position: looks.seen.position, ..BUSY };
            assert_eq!(looks.poll().look(), []);
            // One that goes on for a while after it has blocked in place.
            looks.seen.is_blocked_in_place = true;
            looks.looks(40);
            looks.seen.is_blocked_in_place = false;
            looks.looks(3);
            assert_eq!(looks.poll().look(), []);
        }
    }
}
