//! Bytes between a file and its user.

use std::io::{self, ErrorKind, Read};

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
    pub(super) fn fill(&mut self, mut source: impl Read, limit: usize) -> io::Result<()> {
        self.clear();
        if self.memory.len() < limit {
            // Not `resize`, which may copy bytes that are not needed.
            self.memory = vec![0; limit];
        }
        loop {
            match source.read(&mut self.memory[..limit]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => {
                    // A source that claims more than it was given room for must not make us panic later.
                    self.end = read?.min(limit);
                    return Ok(());
                }
            }
        }
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
    fn a_read_is_repeated_when_it_was_interrupted_and_otherwise_made_once() {
        struct Source(u32);
        impl Read for Source {
            fn read(&mut self, memory: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                if self.0 < 3 {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                memory[..2].copy_from_slice(b"xy");
                Ok(2)
            }
        }
        let mut buffer = Buffer::default();
        let mut source = Source(0);
        buffer.fill(&mut source, 5).unwrap();
        assert_eq!((buffer.bytes(), source.0), (&b"xy"[..], 3));
        buffer.fill(&b"0123456789"[..], 3).unwrap();
        assert_eq!(buffer.bytes(), b"012");
        buffer.fill(io::empty(), 3).unwrap();
        assert!(buffer.is_empty());
    }

    #[test]
    fn a_failed_read_leaves_nothing_of_what_was_there() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::IsADirectory.into())
            }
        }
        let mut buffer = Buffer::default();
        buffer.put([&b"old"[..]], 3);
        assert_eq!(buffer.fill(Broken, 3).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert!(buffer.is_empty());
    }
}
