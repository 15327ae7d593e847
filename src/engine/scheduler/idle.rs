//! Which workers are parked, how many search, and which one to wake: one word per group of 48 workers.
//!
//! ```text
//! bits 0..48   one bit per worker of the group: it is parked, or on its way there
//! bits 48..64  how many workers of the group are searching (looking for work in other queues)
//! ```
//!
//! A wake is one CAS: it clears the bit and counts the wakee as searching *on its behalf*, so that the pushes
//! that follow do not wake a second one while the first is still on its way. Both in one word, so that no
//! state lies between them. One group holds all workers of most machines. With more, each group has one
//! searcher at a time, not counting workers that were claimed for their own channel.
//!
//! | event | parked bit | searching | by | answer |
//! |---|---|---|---|---|
//! | `announce_park` | 0 → 1 | −1 if it was searching | the worker | does it look everywhere? |
//! | `pick` | 1 → 0 | +1 | a thread that has work for it | the worker |
//! | `claim` | 1 → 0 | +1 | a thread that has work for it | was it parked? |
//! | `unpark_self` | 1 → 0 if still 1 | – | the worker, at the end of each park | was it claimed? |
//! | `start_search` | – | 0 → 1 | the worker | does it search? |
//! | `stop_search` | – | −1 | the worker, which has found work | was it the last searcher? |
//!
//! Why no wake is lost although a push wakes no worker while one searches: see scheduler.rs. Models of the
//! rows: `idle/loom.rs`.

use crate::engine::sync_shim::atomic::{AtomicU64, AtomicUsize, Ordering};
use crossbeam_utils::CachePadded;

/// Workers per word.
const GROUP: usize = 48;
const SEARCHING_ONE: u64 = 1 << GROUP;

/// A copy of one group's word; everything that is decided is decided on such a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word(u64);

impl Word {
    fn parked(self) -> u64 {
        self.0 & (SEARCHING_ONE - 1)
    }

    fn searching(self) -> u32 {
        (self.0 >> GROUP) as u32
    }

    /// Whether a worker is to be woken for new work: one is parked, and no searcher will find the work.
    fn has_worker_to_wake(self) -> bool {
        self.parked() != 0 && self.searching() == 0
    }

    /// The worker to wake for new work, and the word once it is woken. `None`: no worker is parked, or a
    /// searcher will find it.
    ///
    /// Low indices first, so that the same few workers stay warm; `avoid` (the one in the driver's seat,
    /// which costs a system call more to wake) last. None at or above `limit`.
    fn pick(self, avoid: Option<usize>, limit: usize) -> Option<(usize, Word)> {
        let below = if limit < GROUP { (1 << limit) - 1 } else { SEARCHING_ONE - 1 };
        let parked = self.parked() & below;
        if parked == 0 || self.searching() != 0 {
            return None;
        }
        let preferred = avoid.map_or(parked, |worker| parked & !(1 << worker));
        let mask = if preferred != 0 { preferred } else { parked };
        let worker = mask.trailing_zeros() as usize;
        Some((worker, self.woken(worker)))
    }

    /// The word once this worker is woken. `None`: it is not parked.
    fn claim(self, worker: usize) -> Option<Word> {
        (self.parked() & (1 << worker) != 0).then(|| self.woken(worker))
    }

    fn woken(self, worker: usize) -> Word {
        Word((self.0 & !(1 << worker)) + SEARCHING_ONE)
    }
}

#[derive(Debug)]
pub(crate) struct Idle {
    first: CachePadded<First>,
    others: Box<[CachePadded<AtomicU64>]>,
}

/// Each push asks it, so it is not behind a pointer.
#[derive(Debug)]
struct First {
    word: AtomicU64,
    /// The highest of the other words in which a worker has ever parked. 0: in none of them. There may be
    /// room for hundreds of workers, but a wake looks at no more words than have been used.
    others: AtomicUsize,
}

impl Idle {
    pub(crate) fn new(workers: usize) -> Self {
        let word = || AtomicU64::new(0);
        let first = First { word: word(), others: AtomicUsize::new(0) };
        let others = (GROUP..workers).step_by(GROUP).map(|_| CachePadded::new(word())).collect();
        Self { first: CachePadded::new(first), others }
    }

    /// The words behind the first one that have been used.
    #[inline]
    fn others(&self) -> &[CachePadded<AtomicU64>] {
        // Ordering: Relaxed. `announce_park` stores it before the bit, and the fences that order a push and
        // the look at the bit order the push and this look, too.
        &self.others[..self.first.others.load(Ordering::Relaxed)]
    }

    /// The word of a group.
    fn word(&self, group: usize) -> &AtomicU64 {
        match group {
            0 => &self.first.word,
            _ => &self.others[group - 1],
        }
    }

    fn group(&self, worker: usize) -> (&AtomicU64, usize) {
        (self.word(worker / GROUP), worker % GROUP)
    }

    /// Claims a parked worker below `limit` for new work, in `near`'s group first. The caller unparks it.
    ///
    /// A pusher that may not run what it pushed executes a SeqCst fence between the push and this call.
    #[must_use = "the claimed worker has to be unparked"]
    pub(crate) fn pick(&self, near: usize, avoid: Option<usize>, limit: usize) -> Option<usize> {
        let count = 1 + self.others().len();
        let first = near / GROUP;
        (0..count).map(|i| (first + i) % count).find_map(|group| {
            let avoid = avoid.filter(|worker| worker / GROUP == group).map(|worker| worker % GROUP);
            let limit = limit.saturating_sub(group * GROUP);
            let picked = self.change(self.word(group), |word| word.pick(avoid, limit));
            picked.map(|worker| group * GROUP + worker)
        })
    }

    /// Whether [`Idle::pick`] would find a worker to wake. Most pushes ask this, and find none: so it has to
    /// be cheap.
    #[inline]
    pub(crate) fn has_worker_to_wake(&self) -> bool {
        // Ordering: Relaxed, as the load in `change`. Not over a chain as in `parked`, which costs more.
        let has = |group: &AtomicU64| Word(group.load(Ordering::Relaxed)).has_worker_to_wake();
        let any_other = || self.others().iter().any(|group| has(group));
        // Asked first, because there mostly are none: then the slice needs no check of its bounds.
        let others = self.first.others.load(Ordering::Relaxed);
        has(&self.first.word) || (others != 0 && any_other())
    }

    /// Claims this very worker if it is parked. Returns whether it was: then it counts as searching from now
    /// on, and the caller unparks it.
    #[must_use = "the claimed worker has to be unparked"]
    pub(crate) fn claim(&self, worker: usize) -> bool {
        let (group, bit) = self.group(worker);
        self.change(group, |word| word.claim(bit).map(|next| ((), next))).is_some()
    }

    fn change<T>(
        &self,
        group: &AtomicU64,
        decide: impl Fn(Word) -> Option<(T, Word)>,
    ) -> Option<T> {
        // Ordering: Relaxed for the look. For worker pushes a stale word loses a little parallelism at
        // worst; for all others the caller's SeqCst fence orders this load after the push (Dekker, with
        // the fence in the worker's park).
        let mut word = Word(group.load(Ordering::Relaxed));
        loop {
            let (result, next) = decide(word)?;
            // Ordering: AcqRel, so that claims and parks form one chain: a worker that parks after having
            // been claimed sees what the claimer had pushed. Relaxed on failure, the new value is only looked
            // at.
            match group.compare_exchange_weak(word.0, next.0, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(result),
                Err(current) => word = Word(current),
            }
        }
    }

    /// Announces that the worker is about to park. Returns whether it must look everywhere before it sleeps,
    /// at the other workers' queues too. So it must if no worker of its group searches now: either it was the
    /// last searcher and pushes relied on it, or the searcher that kept it from searching has ended without
    /// finding it parked. Otherwise it looks at the shared work alone. Another worker of the group searches,
    /// and will see everything else.
    ///
    /// The caller executes a SeqCst fence next, then looks, then sleeps.
    #[must_use = "the worker may be the only one that looks everywhere"]
    pub(crate) fn announce_park(&self, worker: usize, searching: bool) -> bool {
        // Asked first: each push reads the line. Ordering: Relaxed for both, see `others`.
        if self.first.others.load(Ordering::Relaxed) < worker / GROUP {
            self.first.others.fetch_max(worker / GROUP, Ordering::Relaxed);
        }
        let (group, bit) = self.group(worker);
        let delta = (1u64 << bit).wrapping_sub(if searching { SEARCHING_ONE } else { 0 });
        // Ordering: AcqRel as in `change`. (Wrapping: for a searcher the delta is negative; fetch_add wraps.)
        let before = Word(group.fetch_add(delta, Ordering::AcqRel));
        debug_assert_eq!(before.parked() & (1 << bit), 0, "a worker parks once");
        before.searching() == u32::from(searching)
    }

    /// Ends the worker's park from its own side. Returns whether another thread has claimed it: then it
    /// counts as searching. It does not if the park has ended by an event, by a look that found work, or by
    /// an unpark without a claim: to leave, or to look at a flag.
    #[must_use = "a worker that counts as searching keeps others from searching"]
    pub(crate) fn unpark_self(&self, worker: usize) -> bool {
        let (group, bit) = self.group(worker);
        // Ordering: AcqRel as in `change`: Acquire pairs with the claimer's Release.
        Word(group.fetch_and(!(1 << bit), Ordering::AcqRel)).parked() & (1 << bit) == 0
    }

    /// Becomes the group's searcher, if there is none. Returns whether it has: otherwise a worker of the
    /// group searches already.
    #[must_use = "a worker that counts as searching keeps others from searching"]
    pub(crate) fn start_search(&self, worker: usize) -> bool {
        let (group, _) = self.group(worker);
        let start =
            |word: Word| (word.searching() == 0).then_some(((), Word(word.0 + SEARCHING_ONE)));
        self.change(group, start).is_some()
    }

    /// The worker has found work, and searches no more. Returns whether no worker of the group searches any
    /// more: then it wakes a successor if there may be more.
    #[must_use = "the last searcher wakes a successor"]
    pub(crate) fn stop_search(&self, worker: usize) -> bool {
        let (group, _) = self.group(worker);
        // Ordering: AcqRel as in `change`.
        Word(group.fetch_sub(SEARCHING_ONE, Ordering::AcqRel)).searching() == 1
    }

    /// How many workers are parked.
    pub(crate) fn parked(&self) -> usize {
        let others = self.others().iter().map(|word| &**word);
        let words = std::iter::once(&self.first.word).chain(others);
        // Ordering: Relaxed. The partners are the RMWs on the word, in `change`, `announce_park` and
        // `stop_search`. The caller takes the answer as a hint, or has executed a fence before.
        let parked = words.map(|word| Word(word.load(Ordering::Relaxed)).parked());
        parked.map(|bits| bits.count_ones() as usize).sum()
    }

    pub(crate) fn is_parked(&self, worker: usize) -> bool {
        let (group, bit) = self.group(worker);
        // Ordering: Relaxed, as in `parked`.
        Word(group.load(Ordering::Relaxed)).parked() & (1 << bit) != 0
    }
}

#[cfg(all(test, liten_loom))]
mod loom;
#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn one_searcher_at_a_time_and_low_indices_first() {
        let idle = Idle::new(4);
        for worker in [3, 1, 2] {
            assert!(idle.announce_park(worker, false), "no worker searches");
        }
        assert_eq!(idle.parked(), 3);
        assert_eq!(idle.pick(0, Some(1), usize::MAX), Some(2), "the one in the seat comes last");
        assert_eq!(idle.pick(0, None, usize::MAX), None, "the woken worker searches already");
        assert!(idle.stop_search(2), "it was the last searcher");
        assert_eq!(idle.pick(0, Some(1), usize::MAX), Some(3));
        assert!(idle.stop_search(3));
        assert_eq!(
            idle.pick(0, Some(1), usize::MAX),
            Some(1),
            "better the one in the seat than none"
        );
        assert!(idle.stop_search(1));
        assert_eq!(idle.pick(0, None, usize::MAX), None, "no worker is parked");
    }

    #[test]
    fn the_last_searcher_is_told_so_when_it_parks() {
        let idle = Idle::new(2);
        assert!(idle.start_search(0));
        assert!(!idle.start_search(1), "one searcher at a time");
        assert!(!idle.announce_park(1, false));
        assert!(idle.announce_park(0, true));
        assert_eq!(idle.parked(), 2);
        assert_eq!([(); 2].map(|()| idle.claim(0)), [true, false]);
        assert!(idle.unpark_self(0), "it searches");
        assert!(!idle.unpark_self(1), "it does not");
        assert!(idle.stop_search(0));
    }

    #[test]
    fn a_refused_searcher_is_told_when_it_parks_after_the_searcher_has_gone() {
        let idle = Idle::new(2);
        assert!(idle.start_search(0));
        assert!(!idle.start_search(1));
        assert!(idle.stop_search(0), "it looks for a successor");
        assert_eq!(
            idle.pick(0, None, usize::MAX),
            None,
            "and finds none: the other one is not parked yet"
        );
        assert!(idle.announce_park(1, false), "so that one looks itself");
    }

    /// There is room for many, and words in which none has parked are not looked at.
    #[test]
    fn words_are_looked_at_from_their_first_use_on() {
        let idle = Idle::new(1_000);
        assert_eq!((idle.others.len(), idle.others().len()), (20, 0));
        assert!(idle.announce_park(10, false));
        assert_eq!(idle.others().len(), 0);
        assert!(idle.announce_park(100, false));
        assert_eq!((idle.others().len(), idle.parked()), (2, 2));
        assert_eq!(idle.pick(900, None, usize::MAX), Some(10), "the search begins elsewhere");
        assert!(idle.announce_park(60, false));
        assert_eq!((idle.others().len(), idle.has_worker_to_wake()), (2, true));
    }

    #[test]
    fn workers_beyond_one_word_are_found_in_their_own_group_first() {
        let idle = Idle::new(100);
        for worker in [5, 60, 99] {
            assert!(idle.announce_park(worker, false), "no worker searches");
        }
        assert_eq!(
            idle.pick(65, Some(60), usize::MAX),
            Some(60),
            "alone in its group, so taken although avoided"
        );
        assert_eq!(idle.pick(97, None, usize::MAX), Some(99));
        assert_eq!(idle.pick(97, None, usize::MAX), Some(5));
        assert!(!idle.is_parked(5) && idle.parked() == 0);
    }
}
