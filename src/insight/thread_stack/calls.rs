//! Where a frame ends whose frame pointer is not known.
//!
//! The system does not tell the frame pointer of a thread. A function that has one says at its begin how
//! large its frame is: it saves registers, and then subtracts from the stack pointer. The tables of the
//! compiler say which registers it has saved and where, so both must agree. At the end of the frame there is
//! the address to which the function returns, behind a call. If that call names what it calls, it must be
//! this very function. If the function has pushed arguments for the call that it is in, the end is some words
//! further up.
//!
//! Nothing is found for a function that begins in another way, or aligns its stack. Rejected: to look through
//! the words of the stack for an address behind a call of the function. An earlier, deeper call may have left
//! one. In a function that makes its frame larger later, such an address could still be taken; but compilers
//! of Rust have no such functions.

use super::memory::{Memory, number};
use std::ops::Range;

/// The most bytes of arguments that a function has pushed for the call that it is in.
const MOST_ARGUMENTS: u64 = 64;

/// The most bytes that are read of the code of a function.
const LONGEST_FUNCTION: u64 = 16 << 10;

/// What was read of a stack.
pub(super) struct StackCopy {
    pub(super) begin: u64,
    pub(super) bytes: Vec<u8>,
}

impl StackCopy {
    /// So much of a stack is read at most, from its inner end.
    pub(super) const MOST_BYTES: usize = 256 << 10;

    pub(super) fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.begin)?).ok()?;
        number(&self.bytes, at).map(u64::from_le_bytes)
    }
}

/// Finds the call behind which a function returns.
pub(super) struct Calls<'read> {
    pub(super) memory: &'read Memory<'read>,
    pub(super) stack: &'read StackCopy,
    /// Whether an address is one of code.
    pub(super) is_code: &'read dyn Fn(u64) -> bool,
}

/// What is known of the call in front of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Known(u64),
    /// It stands in a register, or in memory to which one points.
    Unknown,
}

impl Calls<'_> {
    /// Returns where the frame ends that begins at `begin` and belongs to `function`, which has saved its
    /// registers in the last `saved` bytes of it.
    pub(super) fn end_of_frame(&self, begin: u64, function: Range<u64>, saved: u64) -> Option<u64> {
        let length = function.end.checked_sub(function.start)?.min(LONGEST_FUNCTION);
        let code = self.memory.exactly(function.start, usize::try_from(length).ok()?)?;
        let (size, rest) = frame_size(&code, saved)?;
        let end = begin.checked_add(size)?;
        let is_fixed = length < LONGEST_FUNCTION && !changes_its_frame(rest);
        if is_fixed && self.call_at(end) == Some(Target::Unknown) {
            return Some(end);
        }
        let is_known = |end: &u64| match self.call_at(*end) {
            Some(Target::Known(target)) => self.leads_to(target, function.start),
            _ => false,
        };
        (end..=end.checked_add(MOST_ARGUMENTS)?).step_by(8).find(is_known)
    }

    /// The call in front of the address with which a frame that ends there would end.
    fn call_at(&self, end: u64) -> Option<Target> {
        let back = self.stack.word(end - 8)?;
        (self.is_code)(back).then(|| self.call_before(back))?
    }

    fn call_before(&self, back: u64) -> Option<Target> {
        let code = self.memory.exactly(back.checked_sub(7)?, 7)?;
        let relative = || {
            let offset = i32::from_le_bytes(number(&code, 3)?);
            back.checked_add_signed(offset.into())
        };
        match code[..] {
            [_, _, 0xe8, ..] => relative().map(Target::Known),
            [_, 0xff, 0x15, ..] => self.long(relative()?).map(Target::Known),
            // A register, or memory at a register: without an offset, with a short one and a long one. 4 in
            // the last three bits says that another byte follows, with a second register.
            [.., 0xff, 0xd0..=0xd7] | [.., 0xff, 0x10..=0x13 | 0x16 | 0x17] => {
                Some(Target::Unknown)
            }
            [.., 0xff, 0x14, _] | [.., 0xff, 0x50..=0x53 | 0x55..=0x57, _] => Some(Target::Unknown),
            [.., 0xff, 0x54, _, _] => Some(Target::Unknown),
            [_, 0xff, 0x90..=0x93 | 0x95..=0x97, ..] | [0xff, 0x94, ..] => Some(Target::Unknown),
            _ => None,
        }
    }

    /// Whether `target` is the function, or the jump to it that the linker has made, or a function that ends
    /// with a jump to it.
    fn leads_to(&self, target: u64, function: u64) -> bool {
        let jump = || {
            let code = self.memory.exactly(target, 11)?;
            // What marks the target of an indirect call may be in front, and a prefix.
            let begin = if code.starts_with(&[0xf3, 0x0f, 0x1e, 0xfa]) { 4 } else { 0 };
            let begin = begin + usize::from(code.get(begin) == Some(&0xf2));
            let offset = match code.get(begin..begin + 2)? {
                [0xff, 0x25] => i32::from_le_bytes(number(&code, begin + 2)?),
                _ => return None,
            };
            let behind = target.checked_add(begin as u64 + 6)?;
            self.long(behind.checked_add_signed(offset.into())?)
        };
        let ends_there = || {
            let code = self.memory.exactly(target, 64)?;
            let mut jumps = (0..code.len() - 5).filter(|&at| code[at] == 0xe9);
            jumps.find(|&at| {
                let offset = number(&code, at + 1).map(i32::from_le_bytes).unwrap_or_default();
                let behind = target.wrapping_add(at as u64 + 5);
                behind.wrapping_add_signed(offset.into()) == function
            })
        };
        target == function || jump() == Some(function) || ends_there().is_some()
    }

    fn long(&self, address: u64) -> Option<u64> {
        number(&self.memory.exactly(address, 8)?, 0).map(u64::from_le_bytes)
    }
}

/// How large the function with this code makes its frame at its begin, with the frame pointer and the address
/// to which it returns, and the code behind that. `saved`: how much of it the tables say that it saves.
fn frame_size(code: &[u8], saved: u64) -> Option<(u64, &[u8])> {
    // What marks the target of an indirect call.
    let code = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
    // push %rbp; mov %rsp,%rbp
    let mut rest = code.strip_prefix(&[0x55, 0x48, 0x89, 0xe5])?;
    let mut pushed = 16;
    // push
    while let [0x41, 0x50..=0x57, behind @ ..] | [0x50..=0x57, behind @ ..] = rest {
        pushed += 8;
        rest = behind;
    }
    // One more push may stand for a word that is not used.
    if pushed != saved && pushed != saved.checked_add(8)? {
        return None;
    }
    // sub $n,%rsp
    let (size, behind) = match *rest {
        [0x48, 0x83, 0xec, bytes @ ..0x80, ref behind @ ..] => (u64::from(bytes), behind),
        [0x48, 0x81, 0xec, a, b, c, d, ref behind @ ..] => {
            (u32::from_le_bytes([a, b, c, d]).into(), behind)
        }
        _ => (0, rest),
    };
    // and $n,%rsp; movq $0,(%rsp) and orq $0,(%rsp), which touch the pages of a large frame
    let goes_on = [0x83, 0x81].iter().any(|and| behind.starts_with(&[0x48, *and, 0xe4]))
        || behind.starts_with(&[0x48, 0xc7, 0x04, 0x24])
        || behind.starts_with(&[0x48, 0x83, 0x0c, 0x24]);
    (!goes_on).then_some((pushed + size, behind))
}

/// Whether something in this code may make the stack pointer lower, but pushes and calls. It may say so of
/// bytes that are in the middle of other instructions.
fn changes_its_frame(code: &[u8]) -> bool {
    code.windows(3).any(|bytes| match *bytes {
        // sub, and, with a number
        [0x48, 0x83 | 0x81, last] => last == 0xec || last == 0xe4,
        // sub, and, mov, of another register
        [0x48 | 0x4c, 0x29 | 0x21 | 0x89, last] => last & 0xc7 == 0xc4,
        [0x48 | 0x49, 0x2b | 0x23 | 0x8b, last] => last & 0x38 == 0x20,
        // lea
        [0x48..=0x4b, 0x8d, last] => last & 0x38 == 0x20,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::{changes_its_frame, frame_size};

    const BEGIN: [u8; 4] = [0x55, 0x48, 0x89, 0xe5];

    fn size(rest: &[u8], saved: u64) -> Option<u64> {
        let mut code = BEGIN.to_vec();
        code.extend(rest);
        code.resize(64, 0x90);
        frame_size(&code, saved).map(|(size, _)| size)
    }

    #[test]
    fn the_begin_of_a_function_says_how_large_its_frame_is() {
        assert_eq!(size(&[], 16), Some(16));
        // push %r15; push %rbx; sub $0x18,%rsp
        assert_eq!(size(&[0x41, 0x57, 0x53, 0x48, 0x83, 0xec, 0x18], 32), Some(56));
        // push %rbx; push %rax
        assert_eq!(size(&[0x53, 0x50], 24), Some(32));
        // sub $0x1230,%rsp
        assert_eq!(size(&[0x48, 0x81, 0xec, 0x30, 0x12, 0, 0], 16), Some(0x1240));
        let marked = [[0xf3, 0x0f, 0x1e, 0xfa], BEGIN].concat();
        assert_eq!(frame_size(&marked, 16), Some((16, &[][..])));
    }

    #[test]
    fn nothing_is_said_of_a_function_that_begins_in_another_way() {
        assert_eq!(frame_size(&[0x53; 64], 16), None, "without a frame pointer");
        // push %rbx, where the tables say that two registers are saved, or none
        assert_eq!(size(&[0x53], 32), None);
        assert_eq!(size(&[0x53, 0x41, 0x54, 0x50], 16), None);
        // sub $0x18,%rsp; and $-32,%rsp
        assert_eq!(size(&[0x48, 0x83, 0xec, 0x18, 0x48, 0x83, 0xe4, 0xe0], 16), None);
        // sub $0x1000,%rsp; movq $0,(%rsp)
        assert_eq!(size(&[0x48, 0x81, 0xec, 0, 0x10, 0, 0, 0x48, 0xc7, 0x04, 0x24], 16), None);
        // sub $-0x80,%rsp, which makes the frame smaller: not taken for a size
        assert_eq!(size(&[0x48, 0x83, 0xec, 0x80], 16), Some(16));
        assert_eq!(frame_size(&BEGIN[..3], 16), None);
        assert_eq!(frame_size(&[], 16), None);
    }

    #[test]
    fn what_moves_the_stack_pointer_later_is_met() {
        // sub $0x10,%rsp; and $-32,%rsp; sub %rax,%rsp; mov %r10,%rsp; lea -0x10(%rbp),%rsp; mov (%rbx),%rsp
        let moves: [&[u8]; 6] = [
            &[0x48, 0x83, 0xec, 0x10],
            &[0x48, 0x83, 0xe4, 0xe0],
            &[0x48, 0x29, 0xc4],
            &[0x4c, 0x89, 0xd4],
            &[0x48, 0x8d, 0x65, 0xf0],
            &[0x48, 0x8b, 0x23],
        ];
        for one in moves {
            assert!(changes_its_frame(&[&[0x90], one].concat()), "{one:x?}");
        }
        // mov %rsi,%rbx; push %rax; call *%rbx; mov %rsp,%rdi; add $0x10,%rsp
        let others = [0x48, 0x89, 0xf3, 0x50, 0xff, 0xd3, 0x48, 0x89, 0xe7, 0x48, 0x83, 0xc4, 0x10];
        assert!(!changes_its_frame(&others));
    }
}
