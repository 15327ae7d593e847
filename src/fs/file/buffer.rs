//! Bytes between a file and its user.

use std::io;

/// Bytes that came in at one end and go out at the other.
///
/// The memory stays initialised from one use to the next, so that it is zeroed once per file and not for
/// each read. (Reading into uninitialised memory would save that too, with `unsafe`.)
#[derive(Debug, Default)]
pub(super) struct Buffer {
    memory: Vec<u8>,
    /// The bytes are `memory[start..end]`.
    start: usize,
    end: usize,
}

impl Buffer {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Removes the first `count` bytes.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end, "no more is taken than there is");
    }

    pub(super) fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Puts what one read of at most `limit` bytes brings in the place of what was there.
    pub(super) fn fill(
        &mut self,
        limit: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<()> {
        self.clear();
        if self.memory.len() < limit {
            // Not `resize`, which may copy bytes that are not needed.
            self.memory = vec![0; limit];
        }
        // A source that claims more than it was given room for must not make us panic later.
        self.end = read(&mut self.memory[..limit])?.min(limit);
        Ok(())
    }

    /// Forgets all but the first `count` bytes.
    pub(super) fn truncate(&mut self, count: usize) {
        self.end = self.end.min(self.start.saturating_add(count));
    }

    /// Puts the first `limit` bytes of `parts` in the place of what was there; returns how many there were.
    pub(super) fn put<'a>(
        &mut self,
        parts: impl IntoIterator<Item = &'a [u8]>,
        limit: usize,
    ) -> usize {
        self.clear();
        for part in parts {
            let part = &part[..part.len().min(limit - self.end)];
            let over = part.len().min(self.memory.len() - self.end);
            let (old, new) = part.split_at(over);
            self.memory[self.end..self.end + over].copy_from_slice(old);
            self.memory.extend_from_slice(new);
            self.end += part.len();
        }
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;
    use std::io::{self, Read};

    #[test]
    fn parts_are_put_together_up_to_the_limit() {
        let mut buffer = Buffer::default();
        let parts: [&[u8]; 4] = [b"ab", b"", b"cde", b"f"];
        assert_eq!(buffer.put(parts, 4), 4);
        assert_eq!(buffer.bytes(), b"abcd");
        assert_eq!(buffer.put(parts, 100), 6);
        assert_eq!(buffer.bytes(), b"abcdef");
        buffer.consume(2);
        assert_eq!(buffer.bytes(), b"cdef");
        assert_eq!(buffer.put(parts, 1), 1);
        assert_eq!(buffer.bytes(), b"a");
        assert_eq!(buffer.put([], 1), 0);
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_read_replaces_what_was_there() {
        let mut buffer = Buffer::default();
        let mut source = &b"0123456789"[..];
        buffer.fill(3, |room| source.read(room)).unwrap();
        assert_eq!(buffer.bytes(), b"012");
        buffer.consume(1);
        buffer.truncate(1);
        assert_eq!(buffer.bytes(), b"1");
        buffer.truncate(7);
        assert_eq!(buffer.bytes(), b"1");
        buffer.fill(3, |_| Ok(1_000)).unwrap();
        assert_eq!(buffer.bytes().len(), 3, "more than there was room for");
        buffer.fill(3, |_| Ok(0)).unwrap();
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_failed_read_leaves_nothing_of_what_was_there() {
        let mut buffer = Buffer::default();
        buffer.put([&b"old"[..]], 3);
        let error = buffer.fill(3, |_| Err(io::ErrorKind::IsADirectory.into())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
        assert!(buffer.is_empty());
    }
}
