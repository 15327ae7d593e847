//! The memory of this process, and what is mapped there.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// The memory, read as a file.
pub(super) struct Memory<'file>(pub(super) &'file File);

impl Memory<'_> {
    /// Returns what lies at `address`, so many bytes at most. `None` if nothing is mapped there.
    pub(super) fn up_to(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut read = 0;
        while read < length {
            // The end of what is mapped is an error if nothing was read before it.
            match self.0.read_at(&mut bytes[read..], address.checked_add(read as u64)?) {
                Ok(0) | Err(_) => break,
                Ok(more) => read += more,
            }
        }
        bytes.truncate(read);
        (read > 0).then_some(bytes)
    }

    /// Returns so many bytes, or `None`.
    pub(super) fn exactly(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.up_to(address, length).filter(|bytes| bytes.len() == length)
    }
}

/// A number of `N` bytes in a table.
pub(super) fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// A program or a library that is mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapped {
    /// Where its file begins.
    pub(super) base: u64,
    /// All of its parts.
    pub(super) parts: Vec<Range<u64>>,
    /// Those of them that have code.
    pub(super) code: Vec<Range<u64>>,
}

impl Mapped {
    /// The end of the part that `address` is in.
    pub(super) fn end_of_part(&self, address: u64) -> Option<u64> {
        self.parts.iter().find(|part| part.contains(&address)).map(|part| part.end)
    }
}

/// All that is mapped, by `/proc/self/maps`, in the order of the addresses.
pub(super) fn ranges(maps: &str) -> impl Iterator<Item = Range<u64>> {
    maps.lines().filter_map(|line| range(line.split_once(' ')?.0))
}

/// The end of the mapping that `address` is in.
pub(super) fn end_of_mapping(maps: &str, address: u64) -> Option<u64> {
    ranges(maps).find(|range| range.contains(&address)).map(|range| range.end)
}

fn range(text: &str) -> Option<Range<u64>> {
    let (start, end) = text.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    Some(hex(start)?..hex(end)?)
}

/// Reads `/proc/self/maps`: what comes from files, and the code that the kernel gives to each program.
/// Without files that were deleted: at their paths there may be others, from which names would be read.
pub(super) fn mapped(maps: &str) -> Vec<Mapped> {
    let mut all: Vec<(&str, Mapped)> = Vec::new();
    for line in maps.lines() {
        let Some((range, is_code, offset, name)) = mapping(line) else { continue };
        // Also behind a part of the same file: to read debug information, the file is mapped once more.
        if offset == 0 {
            let mapped = Mapped { base: range.start, parts: Vec::new(), code: Vec::new() };
            all.push((name, mapped));
        }
        let Some((_, mapped)) = all.last_mut().filter(|(last, _)| *last == name) else { continue };
        if is_code {
            mapped.code.push(range.clone());
        }
        mapped.parts.push(range);
    }
    all.into_iter().map(|(_, mapped)| mapped).filter(|mapped| !mapped.code.is_empty()).collect()
}

/// One line: where, whether it can be run, which place of the file, the file's name.
fn mapping(line: &str) -> Option<(Range<u64>, bool, u64, &str)> {
    let (range, rest) = line.split_once(' ')?;
    let (rights, rest) = rest.split_once(' ')?;
    let (offset, rest) = rest.split_once(' ')?;
    // The device and the inode are in front of the name.
    let name = rest.splitn(3, ' ').nth(2)?.trim_start();
    let offset = u64::from_str_radix(offset, 16).ok()?;
    let is_there = name.starts_with('/') && !name.ends_with(" (deleted)") || name == "[vdso]";
    is_there.then_some((self::range(range)?, rights.contains('x'), offset, name))
}

#[cfg(test)]
mod tests {
    use super::{Mapped, end_of_mapping, mapped};
    use std::iter;

    #[test]
    fn the_parts_of_a_file_belong_together() {
        let maps = "5500-5510 r--p 00000000 fd:00 1 /a b/program\n\
            55d0-55d4 r--p 00000000 fd:00 1 /a b/program\n\
            55d4-55d9 r-xp 00004000 fd:00 1 /a b/program\n\
            55e0-55e8 rw-p 00000000 00:00 0 [heap]\n\
            7f00-7f10 rw-p 00000000 00:00 0 \n\
            7f10-7f20 r--p 00000000 fd:00 2                          /lib/data\n\
            7ff0-7ff2 r-xp 00000000 00:00 0                          [vdso]\n\
            7ff4-7ff6 r-xp 00000000 fd:00 3                          /lib/old (deleted)\n\
            what is this\n";
        let program = Mapped {
            base: 0x55d0,
            parts: vec![0x55d0..0x55d4, 0x55d4..0x55d9],
            code: iter::once(0x55d4..0x55d9).collect(),
        };
        let all = || iter::once(0x7ff0..0x7ff2).collect();
        let vdso = Mapped { base: 0x7ff0, parts: all(), code: all() };
        let found = mapped(maps);
        assert_eq!(found, [program, vdso]);
        assert_eq!(found[0].end_of_part(0x55d3), Some(0x55d4));
        assert_eq!(found[0].end_of_part(0x55d9), None);
        assert_eq!(mapped(""), []);
        assert_eq!(end_of_mapping(maps, 0x55e0), Some(0x55e8));
        assert_eq!(end_of_mapping(maps, 0x55e8), None);
    }
}
