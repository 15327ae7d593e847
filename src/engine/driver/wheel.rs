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
//!   and not only when it is inserted.
//!
//! # Putting off
//!
//! An entry whose deadline is set to a later one stays where it lies: only the deadline is noted
//! ([`Wheel::reset`]). So an entry lies in the bucket of its deadline, or in an earlier one; "holds" and
//! "earliest" above mean where entries lie. When that bucket is opened, the entry moves to the bucket of the
//! noted deadline, as an entry of a high level does. A timeout that each message puts off therefore costs one
//! store per message and one move per length of the timeout. The price is that [`Wheel::next_deadline`] may
//! name a moment at which nothing expires: at most once for each move. Rejected: to move the entry at once
//! (two lists, the bitmap and both bounds change for each message: a message cost 1.3 times what it costs on
//! tokio), and to note the deadline outside the wheel, in the timer's future (the poller could not see it, so
//! it would wake the task at the old deadline).
//!
//! So the bucket of an entry cannot be computed from its deadline. It is needed when an entry at an end of
//! its list is taken out, and is written there, in the place of the neighbour that the entry does not have
//! (see [`end_of`]). That keeps a place in the slab at 40 bytes for a waker.
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

use crate::engine::slab::{self, Key, Slab};

/// Nanoseconds per tick, as a power of two.
pub(super) const TICK_BITS: u32 = 16;
/// Buckets per level, as a power of two; one bitmap word holds a level.
const DIGIT_BITS: u32 = 6;
const BUCKETS: usize = 1 << DIGIT_BITS;
const LEVELS: usize = 8;
/// The last tick there is. It never comes: it holds what is due later than a `u64` of nanoseconds can say
/// exactly.
const NEVER: u64 = (1 << (u64::BITS - TICK_BITS)) - 1;
/// The bucket behind all others: entries whose tick had passed when they were inserted, and those of a bucket
/// that was opened, until they have been looked at.
const OPENED: usize = LEVELS * BUCKETS;
/// The end of the list of bucket 0. The end of bucket `b` is `END + b`; no entry has an index from here on.
const END: u32 = u32::MAX - BUCKETS_IN_ALL as u32;
const BUCKETS_IN_ALL: usize = OPENED + 1;

// An index of an entry is never taken for the end of a list.
const _: () = assert!(END >= slab::INDICES);

/// Deadlines with a value each: insert, cancel, and take out what has expired.
#[derive(Debug)]
pub(crate) struct Wheel<T> {
    /// Every entry due at this tick or before it has been handed out, or lies in the bucket `OPENED`.
    elapsed: u64,
    /// Per level, one bit for each bucket that holds entries.
    occupied: [u64; LEVELS],
    /// `level * BUCKETS + digit`, then `OPENED`. None before the first insertion: they are 8 KiB, and most
    /// shards of most runtimes never have a timer.
    buckets: Box<[Bucket]>,
    entries: Slab<Entry<T>>,
}

/// A doubly linked list of entries in order of insertion.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    /// No entry of the bucket is due before this tick. Cancelling and putting off leave it as it is: it may
    /// be too low, never too high.
    earliest: u64,
    /// The first entry, or the list's end if there is none. So is `tail`.
    head: u32,
    tail: u32,
}

impl Bucket {
    /// The list of `bucket`, without entries.
    #[inline]
    fn empty(bucket: usize) -> Self {
        let end = END + bucket as u32;
        Self { earliest: u64::MAX, head: end, tail: end }
    }
}

#[derive(Debug)]
struct Entry<T> {
    deadline: u64,
    /// The neighbours in the bucket's list: the index of an entry, or the end of the list.
    previous: u32,
    next: u32,
    value: T,
}

/// The result of setting another deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reset {
    /// Nothing: the entry has expired or was cancelled.
    Gone,
    /// The deadline is no earlier than the one before.
    PutOff,
    Earlier,
}

/// The bucket whose list ends at this link; `None`: an entry follows.
#[inline]
fn end_of(link: u32) -> Option<usize> {
    link.checked_sub(END).map(|bucket| bucket as usize)
}

impl<T> Wheel<T> {
    /// An empty wheel, at time 0; allocates nothing.
    pub(crate) fn new() -> Self {
        Self { elapsed: 0, occupied: [0; LEVELS], buckets: Box::default(), entries: Slab::new() }
    }

    /// The first entry of a bucket, whether there are buckets or not; or the end of a list.
    #[inline]
    fn head(&self, bucket: usize) -> u32 {
        self.buckets.get(bucket).map_or(END, |list| list.head)
    }

    fn is_empty(&self, bucket: usize) -> bool {
        self.head(bucket) >= END
    }

    #[cold]
    fn make_buckets(&mut self) {
        self.buckets = (0..BUCKETS_IN_ALL).map(Bucket::empty).collect();
    }

    /// Adds an entry. If its deadline has passed, it expires at the next [`Wheel::expire_some`].
    pub(crate) fn insert(&mut self, deadline: u64, value: T) -> Key {
        let tick = tick_of(deadline);
        if self.buckets.is_empty() {
            self.make_buckets();
        }
        let bucket = self.bucket_for(tick);
        let previous = self.buckets[bucket].tail;
        let next = END + bucket as u32;
        let key = self.entries.insert(Entry { deadline, previous, next, value });
        self.append(key.index(), tick, bucket);
        key
    }

    /// Takes the entry out and returns its value, or `None` if it has expired or was cancelled before.
    pub(crate) fn cancel(&mut self, key: Key) -> Option<T> {
        let Entry { previous, next, value, .. } = self.entries.remove(key)?;
        self.take_out(previous, next);
        Some(value)
    }

    /// Sets another deadline of an entry that still waits; see the header.
    #[inline]
    pub(crate) fn reset(&mut self, key: Key, deadline: u64) -> Reset {
        let Some(entry) = self.entries.get_mut(key) else {
            return Reset::Gone;
        };
        let known = std::mem::replace(&mut entry.deadline, deadline);
        if deadline >= known {
            return Reset::PutOff;
        }
        let (previous, next) = (entry.previous, entry.next);
        self.bring_forward(key.index(), previous, next, tick_of(deadline));
        Reset::Earlier
    }

    fn bring_forward(&mut self, index: u32, previous: u32, next: u32, tick: u64) {
        self.take_out(previous, next);
        self.link(index, tick);
    }

    /// Takes an entry, which had these neighbours, out of its bucket's list.
    #[inline]
    fn take_out(&mut self, previous: u32, next: u32) {
        match (end_of(previous), end_of(next)) {
            (Some(bucket), Some(_)) => self.mark_empty(bucket),
            _ => self.unlink(previous, next),
        }
    }

    /// Lets the neighbours of an entry, one of which is an entry, know each other.
    fn unlink(&mut self, previous: u32, next: u32) {
        match end_of(previous) {
            Some(bucket) => self.buckets[bucket].head = next,
            None => self.entries.at_mut(previous).next = next,
        }
        match end_of(next) {
            Some(bucket) => self.buckets[bucket].tail = previous,
            None => self.entries.at_mut(next).previous = previous,
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

    /// When [`Wheel::expire_some`] has something to do next; `None` if the wheel is empty.
    ///
    /// Never later than [`due_at`] of the earliest deadline. After a cancel or a reset it may be earlier,
    /// once for each bucket: the call of `expire_some` that finds nothing corrects it.
    pub(crate) fn next_deadline(&self) -> Option<u64> {
        let tick = match self.is_empty(OPENED) {
            true => self.buckets[self.first_bucket()?.0].earliest,
            false => self.elapsed,
        };
        Some(tick << TICK_BITS)
    }

    /// Moves the values of entries with `due_at(deadline) <= now` to the end of `expired`: in the order of
    /// their ticks, and in the order of insertion within a tick; entries inserted too late come first. An
    /// entry that was put off has no particular place within its tick.
    ///
    /// Looks at no more than `most` entries, and returns whether those were all: if not, it is to be called
    /// again. Between two calls the wheel is as good as ever. The work is bounded by the entries that move,
    /// not by the time that has passed. A `now` that lies before an earlier one counts as that one.
    pub(crate) fn expire_some(&mut self, now: u64, most: usize, expired: &mut Vec<T>) -> bool {
        self.expire_into(now, most, &mut |_, value| expired.push(value))
    }

    /// As [`Wheel::expire_some`], but to the nanosecond: moves all entries with `deadline <= now`, with their
    /// deadlines, in no particular order but that of insertion among equal ones that were not put off.
    ///
    /// For a clock that stands still: no thread has to be woken for each deadline then, so nothing is gained
    /// by ticks, and a test with such a clock relies on its exact moments.
    pub(crate) fn expire_exactly(&mut self, now: u64, expired: &mut Vec<(u64, T)>) {
        self.expire_into(now, usize::MAX, &mut |deadline, value| expired.push((deadline, value)));
        // What is left and due belongs to the tick that `now` is in the middle of, the next one to expire, so
        // all of it lies in one bucket. Every bucket before it has been opened.
        let Some((bucket, _)) = self.first_bucket() else {
            return;
        };
        let mut index = self.buckets[bucket].head;
        while end_of(index).is_none() {
            let entry = self.entries.at_mut(index);
            let (next, deadline) = (entry.next, entry.deadline);
            if deadline <= now && tick_of(deadline) != NEVER {
                let Entry { previous, next, value, .. } = self.entries.remove_at(index);
                self.take_out(previous, next);
                expired.push((deadline, value));
            }
            index = next;
        }
    }

    /// The earliest deadline, to the nanosecond; `None` if no entry will ever expire. Looks at each entry of
    /// a bucket, and moves the entries that were put off out of those before it.
    pub(crate) fn earliest(&mut self) -> Option<u64> {
        loop {
            let bucket = match self.is_empty(OPENED) {
                true => self.first_bucket()?.0,
                false => OPENED,
            };
            // Without any, the bucket is empty now, and the next one is the first.
            if let Some(earliest) = self.earliest_in(bucket) {
                return Some(earliest).filter(|&deadline| tick_of(deadline) != NEVER);
            }
        }
    }

    /// The earliest deadline that belongs in this bucket. Entries that do not, because they were put off,
    /// move to their own.
    fn earliest_in(&mut self, bucket: usize) -> Option<u64> {
        let mut earliest = None;
        let mut index = self.buckets[bucket].head;
        while end_of(index).is_none() {
            let entry = self.entries.at_mut(index);
            let (deadline, previous, next) = (entry.deadline, entry.previous, entry.next);
            if self.bucket_for(tick_of(deadline)) == bucket {
                earliest = Some(earliest.map_or(deadline, |known: u64| known.min(deadline)));
            } else {
                self.take_out(previous, next);
                self.link(index, tick_of(deadline));
            }
            index = next;
        }
        earliest
    }

    fn expire_into(&mut self, now: u64, mut most: usize, expired: &mut impl FnMut(u64, T)) -> bool {
        let now = (now >> TICK_BITS).min(NEVER - 1).max(self.elapsed);
        while self.sort_opened(&mut most, expired) {
            // A bucket that `now` has entered is opened even if its first entry is not due yet: it must not
            // stay on its level once `elapsed` has its digit, or lower levels would no longer come before
            // it.
            let Some((bucket, _)) = self.first_bucket().filter(|&(_, start)| start <= now) else {
                self.elapsed = now;
                return true;
            };
            self.elapsed = self.buckets[bucket].earliest.min(now);
            self.open(bucket);
        }
        false
    }

    /// Moves every value, expired or not, to the end of `values`, in no particular order.
    pub(crate) fn drain(mut self, values: &mut Vec<T>) {
        self.entries.drain(|entry| values.push(entry.value));
    }

    /// Moves the entries of a bucket, as one list, to the bucket `OPENED`, which is empty.
    fn open(&mut self, bucket: usize) {
        let list = self.buckets[bucket];
        self.mark_empty(bucket);
        let end = END + OPENED as u32;
        self.entries.at_mut(list.head).previous = end;
        self.entries.at_mut(list.tail).next = end;
        self.buckets[OPENED] = list;
    }

    /// Empties the bucket `OPENED`: entries that are due go to `expired`, the others to the place that
    /// `elapsed` gives them now. Looks at `most` entries, and lowers that; `false`: there are more.
    fn sort_opened(&mut self, most: &mut usize, expired: &mut impl FnMut(u64, T)) -> bool {
        let mut index = self.head(OPENED);
        if end_of(index).is_some() {
            return true;
        }
        while end_of(index).is_none() {
            if *most == 0 {
                self.buckets[OPENED].head = index;
                self.entries.at_mut(index).previous = END + OPENED as u32;
                return false;
            }
            *most -= 1;
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
        self.mark_empty(OPENED);
        true
    }

    /// Moves an entry that was taken out of a bucket to the one it belongs to now.
    fn link(&mut self, index: u32, tick: u64) {
        let bucket = self.bucket_for(tick);
        let entry = self.entries.at_mut(index);
        entry.previous = self.buckets[bucket].tail;
        entry.next = END + bucket as u32;
        self.append(index, tick, bucket);
    }

    /// Makes an entry, whose own links are set, the last of a bucket.
    // Always: a timer takes 7 instructions more (1.014) where the compiler makes it a call.
    #[inline(always)]
    fn append(&mut self, index: u32, tick: u64, bucket: usize) {
        if bucket != OPENED {
            self.occupied[bucket / BUCKETS] |= 1 << (bucket % BUCKETS);
        }
        let list = &mut self.buckets[bucket];
        list.earliest = list.earliest.min(tick);
        let previous = std::mem::replace(&mut list.tail, index);
        match end_of(previous) {
            Some(_) => list.head = index,
            None => self.entries.at_mut(previous).next = index,
        }
    }

    fn mark_empty(&mut self, bucket: usize) {
        self.buckets[bucket] = Bucket::empty(bucket);
        if bucket != OPENED {
            self.occupied[bucket / BUCKETS] &= !(1 << (bucket % BUCKETS));
        }
    }

    fn bucket_for(&self, tick: u64) -> usize {
        if tick <= self.elapsed {
            return OPENED;
        }
        let highest_difference = (tick ^ self.elapsed).ilog2();
        let level = highest_difference / DIGIT_BITS;
        let digit = (tick >> (level * DIGIT_BITS)) as usize % BUCKETS;
        level as usize * BUCKETS + digit
    }

    /// The bucket with the earliest entry, leaving out `OPENED`, and the first tick of its span.
    fn first_bucket(&self) -> Option<(usize, u64)> {
        let level = self.occupied.iter().position(|&bits| bits != 0)?;
        let digit = self.occupied[level].trailing_zeros();
        let bucket = level * BUCKETS + digit as usize;
        let shift = level as u32 * DIGIT_BITS;
        // The digits above are those of `elapsed`, the ones below are zero.
        let above = self.elapsed >> shift >> DIGIT_BITS << DIGIT_BITS;
        let start = (above | u64::from(digit)) << shift;
        debug_assert!(self.elapsed < start && start <= self.buckets[bucket].earliest);
        Some((bucket, start))
    }

    /// Which of the `ticks` ticks that follow `time`, 64 at most, hold entries; the next one in the
    /// lowest bit. Looks at `sample` entries at most of the first bucket that spans more than a tick.
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
        // The first bucket that spans more than a tick.
        if let Some(level) = self.occupied[1..].iter().position(|&bits| bits != 0) {
            let digit = self.occupied[1 + level].trailing_zeros() as usize;
            let bucket = (1 + level) * BUCKETS + digit;
            let mut index = self.buckets[bucket].head;
            for _ in 0..sample {
                if end_of(index).is_some() {
                    break;
                }
                let entry = self.entries.at_mut(index);
                note(tick_of(entry.deadline));
                index = entry.next;
            }
        }
        ahead
    }
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
