//! The registers and the stack of a thread that computes, copied by a signal handler on that thread.
//!
//! The system tells nothing of where a thread is that runs. So it gets `SIGURG`, which Go's runtime uses for
//! the same purpose: nothing else sends it but a socket with urgent data of which the program has asked to be
//! told, and it is ignored where nothing handles it. The handler copies the registers that the system has
//! saved, and reads the stack through `/proc/self/mem`, where an address that is not mapped is an error and
//! not a fault. All else is done by the thread that has asked, which waits for the copy for some time.
//!
//! What this may do to a program: a call that waits fails with `EINTR` although the handler is installed with
//! `SA_RESTART`, such as `nanosleep`, `epoll_wait`, or `recv` on a socket with a timeout; and one that moves
//! bytes returns with some of them. POSIX allows both at any time. A thread is sent the signal only
//! after it was seen to run, twice: so it must have begun to wait at this very moment. And nothing is sent
//!
//! - if the program has a handler for `SIGURG` of its own, or `LITEN_STACK_SIGNAL` is 0;
//! - to a thread that blocks the signal, and to the one that asks.
//!
//! A thread that does not get a processor in time is not waited for any longer, and nothing is known of it.
//!
//! Rejected: `perf_event_open`, which most containers and the defaults of some systems forbid; to be traced
//! by a child, which Yama forbids; and `process_vm_readv`, for which a filter of system calls may end the
//! process.

#![allow(unsafe_code)]

use super::calls::StackCopy;
use super::is_running;
use super::reply_slot::{Asker, ReplySlot};
use crate::engine::scheduler::thread_number;
use crate::engine::sync_shim::StaticMutex;
use crate::observe::spare_descriptors::read_to_string;
use crate::observe::thread_activity;
use gimli::X86_64;
use nix::libc;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use std::{env, io, mem, process, ptr, thread};

/// Turns the signal off if it is 0.
const VARIABLE: &str = "LITEN_STACK_SIGNAL";

/// One look at the answer is followed by the next after so long.
const PAUSE: Duration = Duration::from_micros(50);

/// One thread is waited for as long as this.
const LONGEST_WAIT: Duration = Duration::from_millis(50);

/// In the order of the numbers that the tables of the compiler give them.
const REGISTERS: [libc::c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RDX,
    libc::REG_RCX,
    libc::REG_RBX,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_RBP,
    libc::REG_RSP,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// What a thread was interrupted in.
pub(super) struct Interrupted {
    pub(super) pc: u64,
    /// As in [`REGISTERS`].
    pub(super) registers: [u64; 16],
    pub(super) stack: StackCopy,
}

/// What the handler is given, and what it writes.
struct Exchange {
    /// `/proc/self/mem`.
    memory: RawFd,
    /// What is mapped, in the order of the addresses.
    mapped: Vec<Range<u64>>,
    pc: u64,
    registers: [u64; 16],
    length: usize,
    bytes: Box<[u8]>,
}

/// Never dropped, so that a handler that comes late finds it.
static SLOT: LazyLock<ReplySlot<Exchange>> = LazyLock::new(|| {
    ReplySlot::new(Exchange {
        memory: -1,
        mapped: Vec::new(),
        pc: 0,
        registers: [0; 16],
        length: 0,
        bytes: vec![0; StackCopy::MOST_BYTES].into_boxed_slice(),
    })
});

/// What is needed to ask, and is shared by all that do.
struct Asking {
    asker: Asker<'static, Exchange>,
    /// Stays open until the thread that was asked has written.
    memory: Option<File>,
}

static ASKING: LazyLock<StaticMutex<Asking>> = LazyLock::new(|| {
    // SAFETY: this runs once.
    let asker = unsafe { SLOT.asker() };
    StaticMutex::new(Asking { asker, memory: None })
});

static IS_OFF: LazyLock<bool> =
    LazyLock::new(|| env::var_os(VARIABLE).is_some_and(|value| value == "0"));

/// Interrupts a thread of this process that was seen to run, and returns what it was in. Waits for `patience`
/// at most. `mapped`: what is mapped.
pub(super) fn interrupt(
    thread: u32,
    patience: Duration,
    mapped: impl Iterator<Item = Range<u64>>,
) -> Option<Interrupted> {
    if *IS_OFF || patience.is_zero() || thread_number() == thread || blocks_it(thread)? {
        return None;
    }
    let (began, patience) = (Instant::now(), patience.min(LONGEST_WAIT));
    // In a process that was forked while a thread held it, it is held for ever.
    let mut asking = ASKING.try_lock_for(patience)?;
    if !ensure_handler() {
        return None;
    }
    let Asking { asker, memory } = &mut *asking;
    let file = File::open("/proc/self/mem").ok()?;
    let prepare = |copy: &mut Exchange| {
        copy.memory = file.as_raw_fd();
        copy.mapped.clear();
        copy.mapped.extend(mapped);
    };
    // If the last thread still writes, it reads from the file that it was given.
    if !is_running(&thread_activity::look(thread, None)) || !asker.ask(thread, prepare) {
        return None;
    }
    *memory = Some(file);
    let mut answer = None;
    if send(thread).is_ok() {
        while answer.is_none() && began.elapsed() < patience {
            thread::sleep(PAUSE);
            answer = asker.take(read);
        }
    }
    if answer.is_none() && !asker.withdraw(thread) {
        // `None`: it writes, and the file stays open.
        answer = Some(asker.take(read)?);
    }
    *memory = None;
    answer
}

/// Whether the thread blocks the signal.
fn blocks_it(thread: u32) -> Option<bool> {
    let status = read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:"))?;
    let blocked = u64::from_str_radix(blocked.trim(), 16).ok()?;
    Some(blocked & (1 << (libc::SIGURG - 1)) != 0)
}

fn read(copy: &Exchange) -> Interrupted {
    let begin = copy.registers[usize::from(X86_64::RSP.0)];
    let bytes = copy.bytes[..copy.length].to_vec();
    let stack = StackCopy { begin, bytes };
    Interrupted { pc: copy.pc, registers: copy.registers, stack }
}

/// Installs the handler below, unless the program has one. Returns whether the signal comes to ours.
fn ensure_handler() -> bool {
    let of_ours: extern "C" fn(_, _, _) = on_signal;
    let ours = of_ours as libc::sighandler_t;
    let is_free = |handler| [libc::SIG_DFL, libc::SIG_IGN].contains(&handler);
    // SAFETY: all zeros are an action; the pointers are to live ones. The handler does only what a handler
    // may do.
    unsafe {
        let mut before: libc::sigaction = mem::zeroed();
        if libc::sigaction(libc::SIGURG, ptr::null(), &mut before) != 0 {
            return false;
        }
        if !is_free(before.sa_sigaction) {
            return before.sa_sigaction == ours;
        }
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = ours;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | stack_flag();
        libc::sigfillset(&mut action.sa_mask);
        if libc::sigaction(libc::SIGURG, &action, &mut before) != 0 {
            return false;
        }
        // The program may have installed one in between.
        let is_ours = is_free(before.sa_sigaction);
        if !is_ours {
            libc::sigaction(libc::SIGURG, &before, ptr::null_mut());
        }
        is_ours
    }
}

/// Lets the handler run on the thread's alternative stack, if it has one: the code that it interrupts may be
/// on a small stack of its own. std makes the alternative one of 8 KiB, or of what the system saves, if that
/// is more: then there is no room left for the handler.
fn stack_flag() -> libc::c_int {
    const OF_HANDLER: u64 = 4096;
    // SAFETY: no memory is involved.
    let saved = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) };
    if saved + OF_HANDLER <= 8192 { libc::SA_ONSTACK } else { 0 }
}

fn send(thread: u32) -> io::Result<()> {
    // SAFETY: no memory is involved. If the thread has ended, and another one has its number by now, that
    // one answers.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, process::id(), thread, libc::SIGURG) };
    if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Answers on the thread that is interrupted. It calls nothing that a signal handler must not call: it makes
/// system calls, allocates nothing and takes no lock. [`SLOT`] was made before the handler was installed.
extern "C" fn on_signal(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the address is that of this thread's error code, for as long as it lives.
    let code = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { *code };
    // SAFETY: no memory is involved.
    let thread = unsafe { libc::syscall(libc::SYS_gettid) };
    // SAFETY: the system passes a context to a handler with `SA_SIGINFO`.
    let saved = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    SLOT.answer(thread as u32, |copy| {
        copy.pc = saved[libc::REG_RIP as usize] as u64;
        copy.registers = REGISTERS.map(|register| saved[register as usize] as u64);
        let begin = saved[libc::REG_RSP as usize] as u64;
        let is_it = |range: &&Range<u64>| range.contains(&begin);
        let end = copy.mapped.iter().find(is_it).map_or(begin, |range| range.end);
        let most = copy.bytes.len().min((end - begin) as usize);
        copy.length =
            copy.bytes.get_mut(..most).map_or(0, |bytes| copy_stack(copy.memory, begin, bytes));
    });
    // SAFETY: as above.
    unsafe { *code = before };
}

/// Returns how many bytes were read.
fn copy_stack(memory: RawFd, begin: u64, bytes: &mut [u8]) -> usize {
    let mut length = 0;
    while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
        // As a bare call: libc's function is one in which a thread may be cancelled.
        // SAFETY: the system writes into `rest` alone. If the descriptor is another file's by now, what is
        // read is of no use, but no harm.
        let read = unsafe {
            let (buffer, at) = (rest.as_mut_ptr(), begin + length as u64);
            libc::syscall(libc::SYS_pread64, memory, buffer, rest.len(), at)
        };
        match usize::try_from(read) {
            Ok(more @ 1..) => length += more,
            _ => break,
        }
    }
    length
}
