//! A hierarchical timer wheel. Pure: no lock, no clock, no call to other code; time is a number
//! passed in.
//!
//! Time is nanoseconds since an epoch of the caller's choice. A *tick* is 2^16 ns (65.5 µs). A deadline
//! belongs to the first tick that does not begin before it, so that an entry which expires with its tick is
//! late by less than a tick and never early. Deadlines within one tick expire together: one wake of the
//! poller instead of many.
//!
//! # Where an entry lies
//!
//! Eight levels of 64 buckets. A bucket of level L spans 64^L ticks, so that 8 × 6 = 48 bits of ticks cover
//! all of a `u64` of nanoseconds (584 years). An entry's level is that of the highest 6-bit digit in which
//! its tick differs from `elapsed` (the tick up to which everything has expired), its bucket is the value
//! of that digit:
//!
//! ```text
//! level         2  1  0
//! elapsed   …   3 17 40    The highest digit that differs is that of level 1 (17, 21), so the entry lies on
//! tick      …   3 21 05    level 1, bucket 21. When time enters that bucket, the entry moves to level 0,
//!                          bucket 5, which is one tick, and there it expires.
//! ```
//!
//! What follows from this, and everything below relies on it:
//!
//! - On each level only buckets after the digit of `elapsed` hold entries, so the first one is
//!   `trailing_zeros` of the level's bitmap. Nothing wraps around.
//! - Every entry of a level is earlier than every entry of the levels above it. So the first bucket of the
//!   lowest level that has one holds the earliest entry.
//! - When a bucket is opened, `elapsed` is set to a tick inside it; each of its entries then shares that
//!   digit and moves to a lower level or expires. An entry moves at most eight times in its life, usually
//!   once or twice, whatever time has passed: empty buckets are never visited.
//! - A bucket is opened as soon as time enters it, so the rule above holds for every entry at every moment,
//!   and not only when it is inserted. Its bucket can be computed whenever it is needed, and an entry does
//!   not remember it: that keeps a place in the slab at 40 bytes for a waker.
//!
//! # Not waking for nothing
//!
//! Each bucket keeps a lower bound of its earliest tick, exact until entries are cancelled. The next
//! deadline is therefore known exactly even if it lies on a high level: a single `sleep(10 s)` costs its
//! poller one wake and not one for each level it would fall through. With bucket starts alone, as most
//! hierarchical wheels have it, a long sleep wakes the poller three or four times. Opening a bucket also
//! jumps right to that tick: a million entries with one deadline expire in 13 ns each, against 39 ns if each
//! of them first moved down level by level.
//!
//! Rejected: a binary heap (cancelling needs the position, sift costs cache misses at a million entries)
//! and exact ordering within a tick. A tick of 2^14 ns: the median lateness of a lone short sleep on Linux,
//! half of which is the tick, falls from 73 µs to 42, but a hundred thousand timers within a second cost 1.6
//! times the processor time, because fewer of them share a wake of the poller.

use crate::engine::slab::{Key, Slab};

/// Nanoseconds per tick, as a power of two.
pub(super) const TICK_BITS: u32 = 16;
/// Buckets per level, as a power of two; one bitmap word holds a level.
const DIGIT_BITS: u32 = 6;
const BUCKETS: usize = 1 << DIGIT_BITS;
const LEVELS: usize = 8;
/// The last tick there is. It never comes: it holds what is due later than a `u64` of nanoseconds can say
/// exactly.
const NEVER: u64 = (1 << (u64::BITS - TICK_BITS)) - 1;
/// The bucket behind all others: entries whose tick had passed when they were inserted.
const OVERDUE: usize = LEVELS * BUCKETS;
/// No entry: the end of a list.
const NIL: u32 = u32::MAX;

/// Deadlines with a value each: insert, cancel, and take out what has expired.
#[derive(Debug)]
pub(crate) struct Wheel<T> {
    /// Every entry due at this tick or before it has been handed out, or is in the bucket `OVERDUE`.
    elapsed: u64,
    /// Per level, one bit for each bucket that holds entries.
    occupied: [u64; LEVELS],
    /// `level * BUCKETS + digit`, then `OVERDUE`. None before the first insertion, and after a drain: they
    /// are 8 KiB, and most shards of most runtimes never have a timer.
    buckets: Box<[Bucket]>,
    entries: Slab<Entry<T>>,
}

/// A doubly linked list of entries in order of insertion.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// No entry of the bucket is due before this tick. Cancelling leaves it as it is: it may be too low,
    /// never too high.
    earliest: u64,
    head: u32,
    tail: u32,
}

impl Bucket {
    const EMPTY: Self = Self { earliest: u64::MAX, head: NIL, tail: NIL };
}

#[derive(Debug)]
struct Entry<T> {
    deadline: u64,
    previous: u32,
    next: u32,
    value: T,
}

impl<T> Wheel<T> {
    /// An empty wheel, at time 0; allocates nothing.
    pub(crate) fn new() -> Self {
        Self { elapsed: 0, occupied: [0; LEVELS], buckets: Box::default(), entries: Slab::new() }
    }

    /// The first entry of a bucket, whether there are buckets or not.
    #[inline]
    fn head(&self, bucket: usize) -> u32 {
        self.buckets.get(bucket).map_or(NIL, |list| list.head)
    }

    #[cold]
    fn make_buckets(&mut self) {
        self.buckets = vec![Bucket::EMPTY; OVERDUE + 1].into_boxed_slice();
    }

    /// Adds an entry. If its deadline has passed, it expires at the next [`Wheel::expire`].
    pub(crate) fn insert(&mut self, deadline: u64, value: T) -> Key {
        let tick = tick_of(deadline);
        if self.buckets.is_empty() {
            self.make_buckets();
        }
        let bucket = self.bucket_for(tick);
        let previous = self.buckets[bucket].tail;
        let key = self.entries.insert(Entry { deadline, previous, next: NIL, value });
        self.append(key.index(), tick, bucket);
        key
    }

    /// Takes the entry out and returns its value, or `None` if it has expired or was cancelled before.
    pub(crate) fn cancel(&mut self, key: Key) -> Option<T> {
        let Entry { deadline, previous, next, value } = self.entries.remove(key)?;
        let bucket = self.bucket_for(tick_of(deadline));
        self.take_out(bucket, previous, next);
        Some(value)
    }

    /// After an entry was removed from the slab: takes it out of its bucket's list.
    #[inline]
    fn take_out(&mut self, bucket: usize, previous: u32, next: u32) {
        if previous == NIL && next == NIL {
            self.mark_empty(bucket);
        } else {
            self.unlink(bucket, previous, next);
        }
    }

    /// Lets the neighbours of an entry, one of which there is, know each other.
    fn unlink(&mut self, bucket: usize, previous: u32, next: u32) {
        match previous {
            NIL => self.buckets[bucket].head = next,
            _ => self.entries.at_mut(previous).next = next,
        }
        match next {
            NIL => self.buckets[bucket].tail = previous,
            _ => self.entries.at_mut(next).previous = previous,
        }
    }

    /// The value of an entry that still waits, or `None` if it has expired or was cancelled.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Calls `each` with the deadlines and values of some entries: see [`Slab::list`].
    pub(crate) fn list(
        &self,
        from: usize,
        count: usize,
        mut each: impl FnMut(u64, &T),
    ) -> Option<usize> {
        self.entries.list(from, count, |entry| each(entry.deadline, &entry.value))
    }

    /// How many entries have been neither handed out nor cancelled.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// When [`Wheel::expire`] has something to do next; `None` if the wheel is empty.
    ///
    /// Never later than [`due_at`] of the earliest deadline. After a cancel it may be earlier, once for
    /// each bucket: the call of `expire` that finds nothing corrects it.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let tick = match self.head(OVERDUE) {
            NIL => self.first_bucket()?.earliest,
            _ => self.elapsed,
        };
        Some(tick << TICK_BITS)
    }

    /// Moves the values of all entries with `due_at(deadline) <= now` to the end of `expired`: in the order
    /// of their ticks, and in the order of insertion within a tick; entries inserted too late come first.
    ///
    /// The work is bounded by the entries that move, not by the time that has passed. A `now` that lies
    /// before an earlier one counts as that one.
    pub(crate) fn expire(&mut self, now: u64, expired: &mut Vec<T>) {
        self.expire_into(now, &mut |_, value| expired.push(value));
    }

    /// As [`Wheel::expire`], but to the nanosecond: moves all entries with `deadline <= now`, with their
    /// deadlines, in no particular order but that of insertion among equal ones.
    ///
    /// For a clock that stands still: no thread has to be woken for each deadline then, so nothing is gained
    /// by ticks, and a test with such a clock relies on its exact moments.
    pub(crate) fn expire_exactly(&mut self, now: u64, expired: &mut Vec<(u64, T)>) {
        self.expire_into(now, &mut |deadline, value| expired.push((deadline, value)));
        // What is left and due belongs to the tick that `now` is in the middle of, the next one to expire, so
        // all of it is in one bucket.
        let Some(First { bucket, .. }) = self.first_bucket() else {
            return;
        };
        let mut index = self.buckets[bucket].head;
        while index != NIL {
            let entry = self.entries.at_mut(index);
            let (next, deadline) = (entry.next, entry.deadline);
            if deadline <= now && tick_of(deadline) != NEVER {
                let Entry { previous, next, value, .. } = self.entries.remove_at(index);
                self.take_out(bucket, previous, next);
                expired.push((deadline, value));
            }
            index = next;
        }
    }

    /// The earliest deadline, to the nanosecond; `None` if no entry will ever expire. Looks at each entry of
    /// a bucket.
    pub(crate) fn earliest(&mut self) -> Option<u64> {
        let bucket = match self.head(OVERDUE) {
            NIL => self.first_bucket()?.bucket,
            _ => OVERDUE,
        };
        let mut earliest = None;
        let mut index = self.buckets[bucket].head;
        while index != NIL {
            let entry = self.entries.at_mut(index);
            earliest =
                Some(earliest.map_or(entry.deadline, |known: u64| known.min(entry.deadline)));
            index = entry.next;
        }
        earliest.filter(|&deadline| tick_of(deadline) != NEVER)
    }

    fn expire_into(&mut self, now: u64, expired: &mut impl FnMut(u64, T)) {
        let now = (now >> TICK_BITS).min(NEVER - 1).max(self.elapsed);
        self.open(OVERDUE, expired);
        while let Some(first) = self.first_bucket() {
            // A bucket that `now` has entered is opened even if its first entry is not due yet: it must not
            // stay on its level once `elapsed` has its digit, or lower levels would no longer come before
            // it.
            if first.start > now {
                break;
            }
            self.elapsed = first.earliest.min(now);
            self.open(first.bucket, expired);
        }
        self.elapsed = now;
    }

    /// Moves every value, expired or not, to the end of `values`, in no particular order.
    pub(crate) fn drain(&mut self, values: &mut Vec<T>) {
        self.occupied = [0; LEVELS];
        self.buckets = Box::default();
        self.entries.drain(|entry| values.push(entry.value));
    }

    /// Empties a bucket: entries that are due go to `expired`, the others to the place that `elapsed` gives
    /// them now.
    fn open(&mut self, bucket: usize, expired: &mut impl FnMut(u64, T)) {
        let mut index = self.head(bucket);
        if index == NIL {
            return;
        }
        self.mark_empty(bucket);
        while index != NIL {
            let entry = self.entries.at_mut(index);
            let (tick, next) = (tick_of(entry.deadline), entry.next);
            if tick <= self.elapsed {
                let Entry { deadline, value, .. } = self.entries.remove_at(index);
                expired(deadline, value);
            } else {
                self.link(index, tick);
            }
            index = next;
        }
    }

    /// Moves an entry that was taken out of a bucket to the one it belongs to now.
    fn link(&mut self, index: u32, tick: u64) {
        let bucket = self.bucket_for(tick);
        let entry = self.entries.at_mut(index);
        entry.previous = self.buckets[bucket].tail;
        entry.next = NIL;
        self.append(index, tick, bucket);
    }

    /// Makes an entry, whose own links are set, the last of a bucket.
    // Always: a timer takes 7 instructions more (1.014) where the compiler makes it a call.
    #[inline(always)]
    fn append(&mut self, index: u32, tick: u64, bucket: usize) {
        if bucket != OVERDUE {
            self.occupied[bucket / BUCKETS] |= 1 << (bucket % BUCKETS);
        }
        let list = &mut self.buckets[bucket];
        list.earliest = list.earliest.min(tick);
        match std::mem::replace(&mut list.tail, index) {
            NIL => list.head = index,
            previous => self.entries.at_mut(previous).next = index,
        }
    }

    fn mark_empty(&mut self, bucket: usize) {
        self.buckets[bucket] = Bucket::EMPTY;
        if bucket != OVERDUE {
            self.occupied[bucket / BUCKETS] &= !(1 << (bucket % BUCKETS));
        }
    }

    fn bucket_for(&self, tick: u64) -> usize {
        if tick <= self.elapsed {
            return OVERDUE;
        }
        let highest_difference = (tick ^ self.elapsed).ilog2();
        let level = highest_difference / DIGIT_BITS;
        let digit = (tick >> (level * DIGIT_BITS)) as usize % BUCKETS;
        level as usize * BUCKETS + digit
    }

    /// The bucket with the earliest entry, leaving out `OVERDUE`.
    fn first_bucket(&self) -> Option<First> {
        let level = self.occupied.iter().position(|&bits| bits != 0)?;
        let digit = self.occupied[level].trailing_zeros();
        let bucket = level * BUCKETS + digit as usize;
        let shift = level as u32 * DIGIT_BITS;
        // The digits above are those of `elapsed`, the ones below are zero.
        let above = self.elapsed >> shift >> DIGIT_BITS << DIGIT_BITS;
        let start = (above | u64::from(digit)) << shift;
        let earliest = self.buckets[bucket].earliest;
        debug_assert!(self.elapsed < start && start <= earliest);
        Some(First { bucket, start, earliest })
    }

    /// Which of the `ticks` ticks that follow `time`, 64 at the most, hold entries; the next one in the
    /// lowest bit. Looks at `sample` entries at the most of the first bucket that spans more than a tick.
    pub(super) fn ticks_ahead(&mut self, time: u64, ticks: u64, sample: usize) -> u64 {
        let first = (time >> TICK_BITS) + 1;
        let mut ahead = 0;
        let mut note = |tick: u64| {
            let distance = tick.wrapping_sub(first);
            if distance < ticks {
                ahead |= 1 << distance;
            }
        };
        let block = self.elapsed >> DIGIT_BITS << DIGIT_BITS;
        let mut digits = self.occupied[0];
        while digits != 0 {
            note(block + u64::from(digits.trailing_zeros()));
            digits &= digits - 1;
        }
        if let Some(bucket) = self.first_closed() {
            let mut index = self.buckets[bucket].head;
            for _ in 0..sample {
                if index == NIL {
                    break;
                }
                let entry = self.entries.at_mut(index);
                note(tick_of(entry.deadline));
                index = entry.next;
            }
        }
        ahead
    }

    /// The first bucket that spans more than a tick.
    fn first_closed(&self) -> Option<usize> {
        let level = 1 + self.occupied[1..].iter().position(|&bits| bits != 0)?;
        Some(level * BUCKETS + self.occupied[level].trailing_zeros() as usize)
    }
}

struct First {
    bucket: usize,
    /// The first tick of its span.
    start: u64,
    /// See [`Bucket::earliest`].
    earliest: u64,
}

/// When an entry with this deadline expires: the deadline rounded up to a tick.
pub(crate) fn due_at(deadline: u64) -> u64 {
    tick_of(deadline) << TICK_BITS
}

fn tick_of(deadline: u64) -> u64 {
    // `(deadline + mask) >> bits` would overflow at the end of time.
    let begun = u64::from(deadline & ((1 << TICK_BITS) - 1) != 0);
    ((deadline >> TICK_BITS) + begun).min(NEVER)
}

#[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
pub(super) mod properties;
#[cfg(test)]
mod tests;
