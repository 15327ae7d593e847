//! A queue of values in chunks.
//!
//! A channel has two: the senders push into one under the channel's lock, and the receiver takes values out
//! of the other without a lock. When the receiver's is empty, the two are exchanged.
//!
//! Why chunks: a ring that grows moves all its values, and it would do so under the lock, while all senders
//! and the receiver wait. A chunk that is full is put aside as it is. So one push moves the values of less
//! than one chunk, or the 32-byte handles of the full chunks: 128 KiB for a million small values.
//!
//! What stays allocated after a burst: the chunk in use and one spare chunk in each of the two queues, and
//! the handles of [`KEPT`] chunks. The first chunk grows by doubling, so that a channel that never holds many
//! values never has a large chunk. In the steady state nothing is allocated while the values fit into a chunk
//! and its spare.

use crate::impls::impl_default;
use crate::runtime::gauges::Gauge;
use std::collections::VecDeque;
use std::mem;

/// A chunk has room for about this many bytes of values, but for at least `CHUNK_MIN` and at most `CHUNK_MAX`
/// values.
const CHUNK_BYTES: usize = 4096;
const CHUNK_MIN: usize = 32;
const CHUNK_MAX: usize = 256;

/// For how many handles of full chunks the memory is kept.
const KEPT: usize = 32;

/// Values, the oldest first.
#[derive(Debug)]
pub(super) struct Queue<T> {
    /// The chunks before `last`. None of them is empty, and all but the first are full.
    full: VecDeque<VecDeque<T>>,
    last: VecDeque<T>,
    /// An empty chunk, with memory or without.
    spare: VecDeque<T>,
    /// Is told how many values there are when a chunk has become full, or empty.
    pub(super) gauge: Gauge,
}

impl_default!([T] Queue<T>);

impl<T> Queue<T> {
    /// For how many values a chunk has room: a power of two, as the capacity of a `VecDeque` that grows.
    const CHUNK: usize = {
        let fit = CHUNK_BYTES / if size_of::<T>() == 0 { 1 } else { size_of::<T>() };
        let at_most = if fit > CHUNK_MAX { CHUNK_MAX } else { fit };
        if at_most < CHUNK_MIN { CHUNK_MIN } else { 1 << at_most.ilog2() }
    };

    /// Returns an empty queue, without memory.
    pub(super) const fn new() -> Self {
        Self::measured(Gauge::NONE)
    }

    /// The same, with a gauge.
    pub(super) const fn measured(gauge: Gauge) -> Self {
        Self { full: VecDeque::new(), last: VecDeque::new(), spare: VecDeque::new(), gauge }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_empty() && self.full.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        let first = self.full.front().map_or(0, VecDeque::len);
        first + self.full.len().saturating_sub(1) * Self::CHUNK + self.last.len()
    }

    /// The same, without the last chunk, and as if all others were full.
    fn len_of_full(&self) -> usize {
        self.full.len() * Self::CHUNK
    }

    #[inline]
    pub(super) fn push(&mut self, value: T) {
        if self.last.len() == Self::CHUNK {
            self.put_aside();
        }
        self.last.push_back(value);
    }

    #[cold]
    fn put_aside(&mut self) {
        let mut next = mem::take(&mut self.spare);
        next.reserve_exact(Self::CHUNK);
        self.full.push_back(mem::replace(&mut self.last, next));
        self.gauge.set_length(|| self.len_of_full());
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        if self.full.is_empty() {
            return self.last.pop_front();
        }
        let value = self.full.front_mut().and_then(VecDeque::pop_front);
        self.tidy_up();
        value
    }

    /// Takes the value out of a queue that has only this one.
    #[inline]
    pub(super) fn pop_single(&mut self) -> Option<T> {
        if self.full.is_empty() && self.last.len() == 1 { self.last.pop_front() } else { None }
    }

    /// Moves up to `limit` values to the end of `buffer`; returns how many.
    pub(super) fn pop_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
        let mut moved = 0;
        while moved < limit && !self.is_empty() {
            let chunk = self.full.front_mut().unwrap_or(&mut self.last);
            let count = chunk.len().min(limit - moved);
            buffer.extend(chunk.drain(..count));
            moved += count;
            self.tidy_up();
        }
        moved
    }

    /// Keeps the memory of a first chunk that has become empty, as the spare one.
    fn tidy_up(&mut self) {
        if self.full.front().is_some_and(VecDeque::is_empty) {
            self.spare = self.full.pop_front().unwrap_or_default();
            self.gauge.set_taken(self.len_of_full());
            if self.full.is_empty() && self.full.capacity() > KEPT {
                self.full = VecDeque::new();
            }
        }
    }

    /// Takes all values of `other`, and leaves this queue's memory there. To be called on an empty queue.
    #[inline]
    pub(super) fn take_all(&mut self, other: &mut Self) {
        debug_assert!(self.is_empty());
        mem::swap(&mut self.last, &mut other.last);
        if !other.full.is_empty() {
            mem::swap(&mut self.full, &mut other.full);
            mem::swap(&mut self.spare, &mut other.spare);
            let gauge = &self.gauge;
            gauge.note_user();
            gauge.set_taken(self.len_of_full());
            gauge.set_length(|| 0);
        }
    }

    /// For how many values there is memory, and for how many handles of chunks.
    #[cfg(all(test, not(any(liten_loom, liten_shuttle))))]
    pub(super) fn memory(&self) -> (usize, usize) {
        let full: usize = self.full.iter().map(VecDeque::capacity).sum();
        (full + self.last.capacity() + self.spare.capacity(), self.full.capacity())
    }
}
