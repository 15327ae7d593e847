//! From a frame to that of the caller, by the tables of the compiler.

use super::calls::Calls;
use super::memory::{Mapped, Memory, number};
use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, ParsedEhFrameHdr,
    Pointer, Register, RegisterRule, UnwindContext, UnwindSection, X86_64,
};

/// So many registers are followed: those that a program computes with.
const REGISTERS: usize = 16;
/// The most bytes of a table that are read: that of the largest programs has some tens of millions.
const LARGEST_TABLE: u64 = 128 << 20;

type Slice<'bytes> = EndianSlice<'bytes, LittleEndian>;

/// The registers of a frame, as far as they are known.
pub(super) struct Frame {
    pub(super) pc: u64,
    /// By the numbers that the tables give them.
    pub(super) registers: [Option<u64>; REGISTERS],
}

impl Frame {
    /// The innermost one. Of its other registers nothing is known.
    pub(super) fn new(pc: u64, stack_pointer: u64) -> Self {
        let mut registers = [None; REGISTERS];
        registers[usize::from(X86_64::RSP.0)] = Some(stack_pointer);
        Self { pc, registers }
    }

    fn register(&self, register: Register) -> Option<u64> {
        *self.registers.get(usize::from(register.0))?
    }
}

/// The tables of a program or a library.
pub(super) struct Tables {
    header: Vec<u8>,
    frames: Vec<u8>,
    bases: BaseAddresses,
}

impl Tables {
    /// Reads them. `None` if there are none, or if they are of another form than expected.
    pub(super) fn read(memory: &Memory<'_>, mapped: &Mapped) -> Option<Self> {
        let (address, length) = header_place(memory, mapped.base)?;
        let header = memory.exactly(address, usize::try_from(length.min(LARGEST_TABLE)).ok()?)?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(address);
        let Pointer::Direct(frames) = parsed(&header, &bases)?.eh_frame_ptr() else { return None };
        // The table says where it ends, and lies in one part of the file.
        let length = mapped.end_of_part(frames)?.checked_sub(frames)?;
        let table = memory.up_to(frames, usize::try_from(length.min(LARGEST_TABLE)).ok()?)?;
        Some(Self { header, frames: table, bases: bases.set_eh_frame(frames) })
    }

    /// Makes `frame` that of its caller. `at`: an address in the function whose frame it is.
    pub(super) fn unwind(&self, frame: &mut Frame, at: u64, calls: &Calls<'_>) -> Option<()> {
        let frames = EhFrame::new(&self.frames, LittleEndian);
        let header = parsed(&self.header, &self.bases)?;
        let mut context = UnwindContext::new();
        let table = header.table()?;
        let function =
            table.fde_for_address(&frames, &self.bases, at, EhFrame::cie_from_offset).ok()?;
        let row = function.unwind_info_for_address(&frames, &self.bases, &mut context, at).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let cfa = match frame.register(*register) {
            Some(value) => value.checked_add_signed(*offset)?,
            // The system does not tell the frame pointer, and no inner frame has saved it.
            None if *register == X86_64::RBP && *offset == 16 => {
                let saved = (0..REGISTERS as u16).filter_map(|number| {
                    match rule(row.register(Register(number))) {
                        Some(RegisterRule::Offset(offset)) => Some(offset.unsigned_abs()),
                        _ => None,
                    }
                });
                let saved = saved.max()?;
                let function = function.initial_address()..function.end_address();
                calls.end_of_frame(frame.register(X86_64::RSP)?, function, saved)?
            }
            None => return None,
        };
        let saved = |register| match rule(row.register(register)) {
            Some(RegisterRule::Offset(offset)) => calls.stack.word(cfa.checked_add_signed(offset)?),
            Some(RegisterRule::ValOffset(offset)) => cfa.checked_add_signed(offset),
            None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => {
                frame.register(register)
            }
            Some(_) => None,
        };
        let pc = saved(X86_64::RA)?;
        let mut registers = [None; REGISTERS];
        for (number, value) in (0..).zip(&mut registers) {
            *value = saved(Register(number));
        }
        registers[usize::from(X86_64::RSP.0)] = Some(cfa);
        // Each frame lies above the one that it has called, or the tables are wrong.
        let is_above = frame.register(X86_64::RSP).is_some_and(|inner| inner < cfa);
        *frame = Frame { pc, registers };
        is_above.then_some(())
    }
}

/// gimli returns an `Option` of it from 0.33 on, which needs a newer compiler than this crate does.
fn rule(rule: impl Into<Option<RegisterRule<usize>>>) -> Option<RegisterRule<usize>> {
    rule.into()
}

fn parsed<'bytes>(
    header: &'bytes [u8],
    bases: &BaseAddresses,
) -> Option<ParsedEhFrameHdr<Slice<'bytes>>> {
    EhFrameHdr::new(header, LittleEndian).parse(bases, 8).ok()
}

/// Where the header of the tables is, and how long: the file itself says it at its begin.
fn header_place(memory: &Memory<'_>, base: u64) -> Option<(u64, u64)> {
    const LOAD: u32 = 1;
    const UNWIND_TABLES: u32 = 0x6474_e550;
    const SIZE: usize = 56;
    let file = memory.exactly(base, 64)?;
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let at = u64::from_le_bytes(number(&file, 32)?);
    let count = usize::from(u16::from_le_bytes(number(&file, 56)?));
    let table = memory.exactly(base.checked_add(at)?, count.checked_mul(SIZE)?)?;
    let long = |entry: &[u8], at| number(entry, at).map(u64::from_le_bytes);
    let of_kind = |wanted| {
        table
            .chunks_exact(SIZE)
            .filter(move |entry| number(entry, 0).map(u32::from_le_bytes) == Some(wanted))
    };
    // What the file calls the address of its begin.
    let named =
        of_kind(LOAD).find(|entry| long(entry, 8) == Some(0)).and_then(|entry| long(entry, 16))?;
    let entry = of_kind(UNWIND_TABLES).next()?;
    let address = base.wrapping_sub(named).wrapping_add(long(entry, 16)?);
    Some((address, long(entry, 40)?))
}
