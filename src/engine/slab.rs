//! A generational slab. A key finds the value it was made for, or nothing.
//!
//! Five things stand on it: the timer wheel, whose entries link to each other by index; the driver's table
//! of I/O sources, whose keys travel through the operating system as event tokens and may come back late; the
//! registries of tasks; the blocking work that runs; and the pollables that a component waits for.
//!
//! - Values live in chunks of fixed size that never move: growing to a million entries copies chunk headers
//!   only, so a lock held around `insert` is held shortly. Rejected: one `Vec`, which copies everything
//!   each time it doubles.
//! - A chunk whose last value is gone goes back to the allocator, unless it is needed as room for the next
//!   values. Each chunk has a list of its free entries, so that they leave with it. Rejected: to wait until
//!   the slab is empty. A server always has a timer and a socket, and a burst beside them left its memory for
//!   good.
//! - The generation is a counter of the whole slab, written into the entry by each `insert`: no key equals
//!   an earlier one within 2^32 inserts, and entries need no memory of their past, so that chunks can be
//!   given back. Rejected: a counter per entry, which must survive its chunk.
//! - A generation is never zero, so that an `Option<Key>` is no larger than a key and an entry needs no tag.

use std::mem;
use std::num::NonZeroU32;

/// Entries per chunk: large enough to make chunk headers cheap (40 bytes in 256 entries), small enough for a
/// runtime that has one timer.
const CHUNK: u32 = 256;
/// No index: the end of a list.
const NIL: u32 = u32::MAX;
/// Every index is less than this. Code that links values uses the numbers above to say where a list ends.
pub(crate) const INDICES: u32 = u32::MAX - 1_023;

// How a key fits in a `usize`, the width of an event token. The two largest tokens are never keys: the two
// largest packed indices are never given out by a slab of tokens, so that the driver can use them for itself.
#[cfg(not(target_pointer_width = "32"))]
mod token {
    pub(super) const INDEX_BITS: u32 = 32;
    pub(super) const GENERATION_MASK: u32 = u32::MAX;
    pub(super) const CAPACITY: usize = super::INDICES as usize;
}
#[cfg(target_pointer_width = "32")]
mod token {
    // 16 + 16 would allow only 65,536 sockets; a stale token has to survive only until the end of the event
    // batch it came in, so 4,096 generations are plenty. Whole chunks, because the last one need not be
    // filled in order.
    pub(super) const INDEX_BITS: u32 = 20;
    pub(super) const GENERATION_MASK: u32 = (1 << 12) - 1;
    pub(super) const CAPACITY: usize = (1 << INDEX_BITS) - super::CHUNK as usize;
}

/// How many values a slab made by [`Slab::for_tokens`] may hold so that each key still fits in a token.
pub(crate) const TOKEN_CAPACITY: usize = token::CAPACITY;

/// Where a value is and which one it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    index: u32,
    generation: NonZeroU32,
}

impl Key {
    /// The entry, for links between values of one slab.
    pub(crate) fn index(self) -> u32 {
        self.index
    }

    /// Packs a key of a [`Slab::for_tokens`] slab; less than `usize::MAX - 1`.
    pub(crate) fn to_usize(self) -> usize {
        debug_assert!((self.index as usize) < TOKEN_CAPACITY, "more values than tokens");
        let generation = self.generation.get();
        debug_assert_eq!(generation & token::GENERATION_MASK, generation);
        (generation as usize) << token::INDEX_BITS | self.index as usize
    }

    /// The key that [`Key::to_usize`] packed. Any other number gives a key that finds the entry with that
    /// index and generation, if there is one.
    pub(crate) fn from_usize(token: usize) -> Self {
        let index = token as u32 & (u32::MAX >> (u32::BITS - token::INDEX_BITS));
        match NonZeroU32::new((token >> token::INDEX_BITS) as u32) {
            Some(generation) => Self { index, generation },
            // No key is packed like this, and no slab has this index.
            None => Self { index: NIL, generation: NonZeroU32::MIN },
        }
    }
}

/// Values under keys that are never reused by accident.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Chunk<T>>,
    /// The first chunk with room, and through it all others: those with memory that are not full. The chunk
    /// that was full until the last removal comes first, because its free entry is still in the cache.
    roomy: u32,
    /// How many chunks have given their memory back, and the first of them. It leads to the others by `next`.
    vacant: usize,
    first_vacant: u32,
    len: usize,
    /// The generation that the last insert wrote into its entry.
    generation: u32,
    generation_mask: u32,
}

/// Entries whose indices follow each other.
#[derive(Debug)]
struct Chunk<T> {
    /// Never grows beyond its first allocation. Without memory if the chunk has given it back.
    entries: Vec<Entry<T>>,
    /// Head of the list of free entries: last freed, first used again.
    free: u32,
    held: u32,
    /// The neighbours in the list of chunks with room.
    previous: u32,
    next: u32,
}

#[derive(Debug)]
enum Entry<T> {
    Free { next: u32 },
    Held { generation: NonZeroU32, value: T },
}

impl<T> Chunk<T> {
    fn new() -> Self {
        let entries = Vec::with_capacity(CHUNK as usize);
        Self { entries, free: NIL, held: 0, previous: NIL, next: NIL }
    }

    /// Puts `entry` where there is room. Returns its index in the chunk.
    #[inline]
    fn insert(&mut self, entry: Entry<T>) -> u32 {
        self.held += 1;
        let place = self.free;
        match self.entries.get_mut(place as usize) {
            Some(free) => {
                let Entry::Free { next } = mem::replace(free, entry) else {
                    unreachable!("a held entry in the free list")
                };
                self.free = next;
                place
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        }
    }

    /// Takes the value at `place` out, if it is the one of `generation` or that does not matter.
    #[inline]
    fn remove(&mut self, place: u32, of: Option<NonZeroU32>) -> Option<T> {
        let entry = self.entries.get_mut(place as usize)?;
        match entry {
            Entry::Held { generation, .. } if of.is_none_or(|of| of == *generation) => {}
            _ => return None,
        }
        let Entry::Held { value, .. } = mem::replace(entry, Entry::Free { next: self.free }) else {
            unreachable!("looked at three lines above")
        };
        self.free = place;
        self.held -= 1;
        Some(value)
    }
}

impl<T> Slab<T> {
    /// An empty slab; allocates nothing.
    pub(crate) const fn new() -> Self {
        Self::with_generations(u32::MAX)
    }

    /// An empty slab whose keys fit in a `usize` as long as it holds at most [`TOKEN_CAPACITY`] values.
    ///
    /// The caller checks that limit: indices are dense, so a slab that never held more has no larger index.
    pub(crate) const fn for_tokens() -> Self {
        Self::with_generations(token::GENERATION_MASK)
    }

    const fn with_generations(generation_mask: u32) -> Self {
        Self {
            chunks: Vec::new(),
            roomy: NIL,
            vacant: 0,
            first_vacant: NIL,
            len: 0,
            generation: 0,
            generation_mask,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Stores `value` and returns the only key that finds it.
    #[inline]
    pub(crate) fn insert(&mut self, value: T) -> Key {
        let generation = self.next_generation();
        if self.roomy == NIL {
            self.make_room();
        }
        let chunk = &mut self.chunks[self.roomy as usize];
        let index = self.roomy * CHUNK + chunk.insert(Entry::Held { generation, value });
        if chunk.held == CHUNK {
            self.unlink(self.roomy);
        }
        self.len += 1;
        Key { index, generation }
    }

    fn next_generation(&mut self) -> NonZeroU32 {
        let next = self.generation.wrapping_add(1) & self.generation_mask;
        // Zero is left out; one follows it.
        let next = NonZeroU32::new(next).unwrap_or(NonZeroU32::MIN);
        self.generation = next.get();
        next
    }

    /// No chunk has room: adds one, or gives one its memory again.
    #[cold]
    fn make_room(&mut self) {
        let index = match self.chunks.get_mut(self.first_vacant as usize) {
            Some(chunk) => {
                let next = mem::replace(chunk, Chunk::new()).next;
                self.vacant -= 1;
                mem::replace(&mut self.first_vacant, next)
            }
            None => {
                assert!(self.chunks.len() < (INDICES / CHUNK) as usize, "2^32 - 1024 entries");
                self.chunks.push(Chunk::new());
                self.chunks.len() as u32 - 1
            }
        };
        self.link(index);
    }

    /// Chunk `index` has room from now on.
    #[cold]
    fn link(&mut self, index: u32) {
        let next = mem::replace(&mut self.roomy, index);
        let chunk = &mut self.chunks[index as usize];
        (chunk.previous, chunk.next) = (NIL, next);
        if let Some(next) = self.chunks.get_mut(next as usize) {
            next.previous = index;
        }
    }

    /// Chunk `index` has no room any more.
    #[cold]
    fn unlink(&mut self, index: u32) {
        let Chunk { previous, next, .. } = self.chunks[index as usize];
        match self.chunks.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => self.roomy = next,
        }
        if let Some(next) = self.chunks.get_mut(next as usize) {
            next.previous = previous;
        }
    }

    /// The value under `key`, or `None` if it has been removed.
    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let chunk = self.chunks.get((key.index / CHUNK) as usize)?;
        match chunk.entries.get((key.index % CHUNK) as usize)? {
            Entry::Held { generation, value } if *generation == key.generation => Some(value),
            _ => None,
        }
    }

    /// The value under `key`, or `None` if it has been removed.
    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let chunk = self.chunks.get_mut((key.index / CHUNK) as usize)?;
        match chunk.entries.get_mut((key.index % CHUNK) as usize)? {
            Entry::Held { generation, value } if *generation == key.generation => Some(value),
            _ => None,
        }
    }

    /// Takes the value under `key` out, or returns `None` if that has been done before.
    #[inline]
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        self.take(key.index, Some(key.generation))
    }

    /// The value in entry `index`.
    ///
    /// # Panics
    ///
    /// If the entry is free: only links between held values may be followed.
    pub(crate) fn at_mut(&mut self, index: u32) -> &mut T {
        let chunk = &mut self.chunks[(index / CHUNK) as usize];
        match &mut chunk.entries[(index % CHUNK) as usize] {
            Entry::Held { value, .. } => value,
            Entry::Free { .. } => unreachable!("a link to a free entry"),
        }
    }

    /// Takes the value in entry `index` out.
    ///
    /// # Panics
    ///
    /// If the entry is free: only links between held values may be followed.
    #[inline]
    pub(crate) fn remove_at(&mut self, index: u32) -> T {
        self.take(index, None).unwrap_or_else(|| unreachable!("a link to a free entry"))
    }

    #[inline]
    fn take(&mut self, index: u32, of: Option<NonZeroU32>) -> Option<T> {
        let chunk = self.chunks.get_mut((index / CHUNK) as usize)?;
        let value = chunk.remove(index % CHUNK, of)?;
        self.len -= 1;
        if chunk.held == CHUNK - 1 {
            self.link(index / CHUNK);
        } else if chunk.held == 0 && self.chunks.len() > 1 {
            self.emptied(index / CHUNK);
        }
        Some(value)
    }

    /// Chunk `index` has no value any more. Keeps its memory if there is not as much room in the others, so
    /// that values which come and go do not allocate each time.
    #[cold]
    fn emptied(&mut self, index: u32) {
        let room = (self.chunks.len() - self.vacant) * CHUNK as usize - self.len;
        if room >= 2 * CHUNK as usize {
            self.unlink(index);
            let chunk = &mut self.chunks[index as usize];
            (chunk.entries, chunk.free) = (Vec::new(), NIL);
            chunk.next = mem::replace(&mut self.first_vacant, index);
            self.vacant += 1;
        }
        if self.is_empty() {
            self.forget_order();
        }
    }

    /// The slab is empty. All chunks but one have given their memory back: their headers go, too.
    fn forget_order(&mut self) {
        let kept = self.chunks.iter().position(|chunk| chunk.entries.capacity() != 0);
        self.chunks.swap(0, kept.expect("the last chunk that is emptied keeps its memory"));
        self.chunks.truncate(1);
        self.chunks.shrink_to(1);
        let chunk = &mut self.chunks[0];
        chunk.entries.clear();
        (chunk.free, chunk.previous, chunk.next) = (NIL, NIL, NIL);
        (self.roomy, self.vacant, self.first_vacant) = (0, 0, NIL);
    }

    /// Takes every value out, in no particular order, and passes it to `each`.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(T)) {
        (self.roomy, self.vacant, self.first_vacant, self.len) = (NIL, 0, NIL, 0);
        for chunk in mem::take(&mut self.chunks) {
            for entry in chunk.entries {
                if let Entry::Held { value, .. } = entry {
                    each(value);
                }
            }
        }
    }

    /// Every value, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries().map(|(_, value)| value)
    }

    /// Every value with its key, in no particular order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Key, &T)> {
        let entries = (0..).step_by(CHUNK as usize).zip(&self.chunks);
        let entries = entries.flat_map(|(first, chunk)| (first..).zip(&chunk.entries));
        entries.filter_map(|(index, entry)| match entry {
            Entry::Held { generation, value } => {
                Some((Key { index, generation: *generation }, value))
            }
            Entry::Free { .. } => None,
        })
    }

    /// Calls `each` with the values of up to `count` entries from entry `from` on; returns where to go on, or
    /// `None` at the end. A value that stays in the slab from the first call to the last is met once.
    pub(crate) fn list(
        &self,
        from: usize,
        count: usize,
        mut each: impl FnMut(&T),
    ) -> Option<usize> {
        let end = from + count;
        for index in from..end {
            let chunk = self.chunks.get(index / CHUNK as usize)?;
            if let Some(Entry::Held { value, .. }) = chunk.entries.get(index % CHUNK as usize) {
                each(value);
            }
        }
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Key, NonZeroU32, Slab, TOKEN_CAPACITY};
    use std::mem::size_of;

    #[test]
    fn a_key_finds_its_value_until_it_is_removed() {
        let mut slab = Slab::new();
        let a = slab.insert("a");
        let b = slab.insert("b");
        assert_eq!((slab.len(), slab.is_empty()), (2, false));
        assert_eq!(slab.get(a), Some(&"a"));
        *slab.get_mut(b).unwrap() = "c";
        assert_eq!(slab.remove(b), Some("c"));
        assert_eq!(slab.remove(b), None);
        assert_eq!(slab.get(b), None);
        assert_eq!(slab.get_mut(b), None);
        assert_eq!(slab.remove(a), Some("a"));
        assert!(slab.is_empty());
    }

    #[test]
    fn a_stale_key_does_not_find_the_next_value_of_its_slot() {
        let mut slab = Slab::new();
        let stale = slab.insert(0);
        slab.remove(stale);
        for n in 1..10_000 {
            let key = slab.insert(n);
            assert_eq!(key.index(), stale.index(), "the entry is used again");
            assert_eq!(slab.get(stale), None);
            assert_eq!(slab.remove(stale), None);
            assert_eq!(slab.remove(key), Some(n));
        }
    }

    #[test]
    fn a_stale_key_finds_nothing_after_the_memory_was_given_back() {
        let mut slab = Slab::new();
        let first: Vec<Key> = (0..3 * CHUNK).map(|n| slab.insert(n)).collect();
        for &key in &first {
            slab.remove(key).unwrap();
        }
        assert_eq!(slab.chunks.len(), 1);
        let second: Vec<Key> = (0..3 * CHUNK).map(|n| slab.insert(n)).collect();
        assert!(first.iter().all(|&key| slab.get(key).is_none()));
        assert!((0..).zip(&second).all(|(n, &key)| slab.get(key) == Some(&n)));
    }

    #[test]
    fn a_burst_beside_values_that_stay_leaves_little_memory() {
        let mut slab = Slab::new();
        let with_memory = |slab: &Slab<u32>| {
            slab.chunks.iter().filter(|chunk| chunk.entries.capacity() != 0).count()
        };
        let first = slab.insert(0);
        let burst: Vec<Key> = (0..100 * CHUNK).map(|n| slab.insert(n)).collect();
        let last = slab.insert(1);
        burst.iter().for_each(|&key| _ = slab.remove(key).unwrap());
        assert!(with_memory(&slab) <= 3, "{}", with_memory(&slab));
        assert_eq!((slab.get(first), slab.get(last)), (Some(&0), Some(&1)));
        assert!(burst.iter().all(|&key| slab.get(key).is_none()));
        // What has given its memory back is used again before there is more.
        let headers = slab.chunks.len();
        let again: Vec<Key> = (0..100 * CHUNK).map(|n| slab.insert(n)).collect();
        assert_eq!(slab.chunks.len(), headers);
        assert!((0..).zip(&again).all(|(n, &key)| slab.get(key) == Some(&n)));
        assert_eq!(slab.entries().count(), again.len() + 2);
    }

    #[test]
    fn a_value_that_comes_and_goes_at_the_edge_of_a_chunk_allocates_once() {
        let mut slab = Slab::new();
        (0..CHUNK).for_each(|n| _ = slab.insert(n));
        let key = slab.insert(0);
        let memory: *const u32 = slab.get(key).unwrap();
        slab.remove(key);
        for _ in 0..3 {
            let key = slab.insert(0);
            assert_eq!(slab.get(key).unwrap() as *const u32, memory);
            slab.remove(key);
        }
    }

    #[test]
    fn growing_moves_no_value() {
        let mut slab = Slab::new();
        let key = slab.insert(0u32);
        let before: *const u32 = slab.get(key).unwrap();
        for n in 0..10 * CHUNK {
            slab.insert(n);
        }
        let after: *const u32 = slab.get(key).unwrap();
        assert_eq!(before, after);
    }

    #[test]
    fn the_generation_may_wrap() {
        let mut slab = Slab::new();
        slab.generation = u32::MAX - 1;
        let last = slab.insert('l');
        let first = slab.insert('f');
        assert_eq!((slab.get(last), slab.get(first)), (Some(&'l'), Some(&'f')));
        assert_ne!(last.generation, first.generation);
    }

    #[test]
    fn tokens_round_trip_and_two_numbers_are_free() {
        let mut slab = Slab::for_tokens();
        slab.generation = slab.generation_mask - 1;
        for n in 0..3 * CHUNK {
            let key = slab.insert(n);
            assert!(key.to_usize() < usize::MAX - 1);
            assert_eq!(Key::from_usize(key.to_usize()), key);
            assert_eq!(slab.get(Key::from_usize(key.to_usize())), Some(&n));
        }
        let generation = NonZeroU32::new(slab.generation_mask).unwrap();
        let largest = Key { index: TOKEN_CAPACITY as u32 - 1, generation };
        assert!(largest.to_usize() < usize::MAX - 1);
        for free in [usize::MAX, usize::MAX - 1, 0] {
            assert_eq!(slab.get(Key::from_usize(free)), None);
            assert_eq!(slab.remove(Key::from_usize(free)), None);
        }
    }

    #[test]
    fn generations_take_no_room_of_their_own() {
        assert_eq!(size_of::<Option<Key>>(), 8);
        assert_eq!(size_of::<super::Entry<[u32; 9]>>(), 40);
    }

    #[test]
    fn drain_and_iter_see_each_value_once() {
        let mut slab = Slab::new();
        let keys: Vec<Key> = (0..1_000).map(|n| slab.insert(n)).collect();
        for key in keys.iter().step_by(3) {
            slab.remove(*key);
        }
        let mut seen: Vec<i32> = slab.iter().copied().collect();
        seen.sort_unstable();
        let mut drained = Vec::new();
        slab.drain(|value| drained.push(value));
        drained.sort_unstable();
        assert_eq!(drained, (0..1_000).filter(|n| n % 3 != 0).collect::<Vec<_>>());
        assert!(slab.is_empty());
        assert!(keys.iter().all(|&key| slab.get(key).is_none()));
        slab.insert(1);
        assert_eq!(slab.iter().count(), 1);
    }

    /// Against a map, in random order, across growth and release, beside a value that stays and without.
    #[test]
    fn behaves_like_a_map() {
        let mut slab = Slab::new();
        like_a_map(&mut slab);
        slab.insert(u64::MAX);
        like_a_map(&mut slab);
    }

    fn like_a_map(slab: &mut Slab<u64>) {
        let stays = slab.len();
        let mut model: Vec<(Key, u64)> = Vec::new();
        let mut stale: Vec<Key> = Vec::new();
        let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = |bound: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 20) as usize % bound
        };
        for round in 0..200_000_u64 {
            // Phases of growth and of decline, each down to empty.
            let growing = round / 10_000 % 2 == 0;
            if model.is_empty() || (random(4) != 0) == growing {
                model.push((slab.insert(round), round));
            } else {
                let (key, value) = model.swap_remove(random(model.len()));
                assert_eq!(slab.remove(key), Some(value));
                stale.push(key);
            }
            assert_eq!(slab.len(), model.len() + stays);
            if let Some(&key) = stale.get(random(stale.len().max(1))) {
                assert_eq!(slab.get(key), None);
            }
            if !model.is_empty() {
                let (key, value) = model[random(model.len())];
                assert_eq!(slab.get(key), Some(&value));
            }
        }
        model.iter().for_each(|&(key, value)| assert_eq!(slab.remove(key), Some(value)));
    }
}
