//! The turn goes to another thread without the kernel.
//!
//! A thread that gives the turn away leaves its registers on its stack, and in its [`Place`] where
//! that stack is and where its thread-local memory is. A thread that goes on with it finds all there. The
//! kernel knows nothing of it: for it one thread runs, the carrier, and the others wait. So what
//! the C library and the compiler reach by the thread's own memory belongs to the thread, and what
//! the kernel keeps for each of its threads belongs to the carrier.
//!
//! | what | whose | why that is right |
//! |---|---|---|
//! | registers that a call keeps, MXCSR, the control word of the x87 | the thread's | they are saved and loaded |
//! | other registers, vectors | no thread's | a switch is a call, which changes them |
//! | thread-locals of Rust and C, `errno`, `pthread_self`, values by keys, caches of allocators | the thread's | they lie in its thread-local memory, which moves with it; so an address that was taken before a switch is right after it |
//! | the stack and its guard, unwinding, panics, scopes, `setjmp` | the thread's | each runs on the stack that the C library gave it, and no frame spans two of them |
//! | the number in the C library's descriptor: mutexes with owners, robust ones, `pthread_join` | the thread's | it names the kernel thread of its birth, to which a thread goes back before it ends. There the kernel clears the number, wakes joins and gives up robust mutexes. After a crash it does so when that kernel thread gives a turn away |
//! | destructors at the end of a thread | the thread's | they are part of it; it goes back after the last of them |
//! | masks of signals, rights, filters and lists that are set for one thread | bound | the thread that sets one belongs to its kernel thread from then on, as do the threads that it creates: `interpose/kernel.rs` |
//! | the stack for handlers of signals | the carrier's | each kernel thread has one of ours, so that a stack overflow is reported whichever kernel thread runs the thread. What a thread sets is remembered and not used |
//! | the name of a kernel thread | the thread's | a thread goes home to set it and to read it |
//! | the C library's area for `rseq` | the carrier's | a thread may read a number of its processor there that is old. A run has one processor, and `sched_getcpu` answers 0 |
//! | a call that waits in the kernel | the carrier's | it keeps the turn, as without fibers. The thread that watches looks at the carrier |
//! | `gettid`, `getpid` | the run's | neither the kernel nor the C library answers them |
//! | `fork`, signals to threads | no thread's | a run has none. One from outside meets any kernel thread, as without fibers |
//! | contended locks of C that inherit priorities | the carrier's | a contended lock of C ends a run in any case |
//! | nice value, slice of the scheduler, `prctl`, keys of memory protection | the carrier's | no choice depends on them |
//!
//! Shadow stacks would have to be changed too, so with them each turn goes through the kernel.
//! Sanitizers find their state by thread-local memory, and what one thread leaves to the next is
//! ordered by the lock on the world. The functions below tell debuggers and profilers where the
//! frames are, at each instruction but that between two stacks. A debugger shows kernel threads, and
//! so the carrier's stack alone: `LITEN_SIM_BATON=kernel` shows all, and the choices are the same.
//! A handler of a signal must not give the turn away: it may be on the carrier's stack.

use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::stack_t;

use super::Home;
use crate::real;

/// Room for handlers of signals: of those that meet the thread which runs and ask for a stack of
/// their own, and of those that meet a kernel thread which waits.
const SCRATCH: usize = 64 * 1_024;

/// Where a thread goes on.
#[repr(C, align(16))]
pub(super) struct Place {
    /// The end of what it left on its stack. 0 while it runs, and before its first turn.
    stack: AtomicUsize,
    /// Its FS base.
    locals: AtomicUsize,
    /// What the thread takes for its stack for handlers of signals.
    alternate: Cell<stack_t>,
    /// Of the kernel thread that was born with it.
    scratch: UnsafeCell<[u8; SCRATCH]>,
}

// SAFETY: only the thread that has the turn uses `alternate`, and only the kernel thread of this
// place `scratch`.
unsafe impl Sync for Place {}

impl Place {
    /// The calling thread begins, on its own kernel thread, whose stack for handlers of signals is
    /// `scratch` from now on.
    pub(super) fn begin(&self) {
        let own = stack_t { ss_sp: self.scratch.get().cast(), ss_flags: 0, ss_size: SCRATCH };
        let mut before = stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: both are valid, and the stack lives as long as the process.
        unsafe { real::sigaltstack(&raw const own, &raw mut before) };
        self.alternate.set(before);
    }

    pub(super) fn alternate(&self, new: Option<stack_t>) -> stack_t {
        let before = self.alternate.get();
        self.alternate.set(new.unwrap_or(before));
        before
    }

    pub(super) fn is_left(&self) -> bool {
        // Relaxed: a thread is left by the holder of the turn, as the caller is.
        self.stack.load(Ordering::Relaxed) != 0
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{are_possible, hand_over, load, switch};

#[cfg(not(target_arch = "x86_64"))]
pub(super) use elsewhere::{are_possible, hand_over, load, switch};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::{asm, naked_asm};
    use std::mem::offset_of;

    use libc::{FUTEX_PRIVATE_FLAG, FUTEX_WAIT, FUTEX_WAKE, SYS_exit, SYS_futex};

    use super::super::{DIE, GO, WAIT};
    use super::{Home, Place, SCRATCH};

    const WORD: usize = offset_of!(Home, word);
    const STACK: usize = offset_of!(Home, place) + offset_of!(Place, stack);
    const LOCALS: usize = offset_of!(Home, place) + offset_of!(Place, locals);
    const SCRATCH_END: usize = offset_of!(Home, place) + offset_of!(Place, scratch) + SCRATCH;

    /// Whether a program may change where its thread-local memory is, and no shadow stack watches
    /// where its stack is.
    pub(in super::super) fn are_possible() -> bool {
        /// The kernel lets programs use the instructions: `HWCAP2_FSGSBASE`.
        const FSGSBASE: u64 = 1 << 1;
        let shadow: u64;
        // SAFETY: the instruction reads the pointer to the shadow stack. Without one, and on a
        // processor that knows none, it does nothing.
        unsafe {
            asm!("xor {0:e}, {0:e}", "rdsspq {0}", out(reg) shadow, options(nomem, nostack));
        }
        // SAFETY: the call takes a number.
        shadow == 0 && unsafe { libc::getauxval(libc::AT_HWCAP2) } & FSGSBASE != 0
    }

    /// Leaves the thread of the home in `rdi`. The return address is above what it leaves.
    macro_rules! save {
        () => {
            "
            .cfi_startproc
            lea rsp, [rsp - 56]
            .cfi_def_cfa_offset 64
            mov [rsp + 48], rbp
            .cfi_offset rbp, -16
            mov [rsp + 40], rbx
            .cfi_offset rbx, -24
            mov [rsp + 32], r12
            .cfi_offset r12, -32
            mov [rsp + 24], r13
            .cfi_offset r13, -40
            mov [rsp + 16], r14
            .cfi_offset r14, -48
            mov [rsp + 8], r15
            .cfi_offset r15, -56
            stmxcsr [rsp]
            fnstcw [rsp + 4]
            rdfsbase rax
            mov [rdi + {locals}], rax
            mov [rdi + {stack}], rsp
            "
        };
    }

    /// Goes on with the thread of the home in a register.
    macro_rules! load {
        ($home:literal) => {
            concat!(
                "
            mov rax, [",
                $home,
                " + {locals}]
            wrfsbase rax
            mov rsp, [",
                $home,
                " + {stack}]
            .cfi_def_cfa_offset 64
            mov qword ptr [",
                $home,
                " + {stack}], 0
            ldmxcsr [rsp]
            fldcw [rsp + 4]
            mov r15, [rsp + 8]
            mov r14, [rsp + 16]
            mov r13, [rsp + 24]
            mov r12, [rsp + 32]
            mov rbx, [rsp + 40]
            mov rbp, [rsp + 48]
            lea rsp, [rsp + 56]
            .cfi_def_cfa_offset 8
            ret
            .cfi_endproc
            "
            )
        };
    }

    /// Leaves `mine` and goes on as `next`.
    ///
    /// # Safety
    ///
    /// The caller is the thread of `mine` and has the turn. `next` is left, and its kernel thread
    /// is not told to go on with it.
    #[unsafe(naked)]
    pub(in super::super) unsafe extern "C" fn switch(mine: &Home, next: &Home) {
        naked_asm!(save!(), load!("rsi"), stack = const STACK, locals = const LOCALS)
    }

    /// Goes on as `next`.
    ///
    /// # Safety
    ///
    /// As for [`switch`]. The caller is never gone on with.
    #[unsafe(naked)]
    pub(in super::super) unsafe extern "C" fn load(next: &Home) -> ! {
        naked_asm!(".cfi_startproc", load!("rdi"), stack = const STACK, locals = const LOCALS)
    }

    /// Leaves `mine`, gives the turn to the kernel thread of `next`, if there is one, and waits at
    /// the word of `carrier` until it may go on with the thread of that, or is to end. It waits on
    /// the scratch of `carrier` and with the thread-local memory of that, because the stack and the
    /// memory of `mine` may be in use at once.
    ///
    /// # Safety
    ///
    /// The caller is the thread of `mine`, and `carrier` is the home of its kernel thread. It has
    /// the turn if there is a `next`, whose kernel thread waits.
    #[unsafe(naked)]
    pub(in super::super) unsafe extern "C" fn hand_over(
        mine: &Home,
        next: Option<&Home>,
        carrier: &Home,
    ) {
        naked_asm!(
            save!(),
            "
            mov r13, rdx
            mov rax, [r13 + {locals}]
            wrfsbase rax
            .cfi_undefined rip
            lea rsp, [r13 + {scratch}]
            test rsi, rsi
            jz 2f
            mov eax, {go}
            xchg [rsi + {word}], eax
            lea rdi, [rsi + {word}]
            mov esi, {wake}
            mov edx, 1
            mov eax, {futex}
            syscall
            2:
            mov eax, [r13 + {word}]
            cmp eax, {wait}
            je 3f
            cmp eax, {die}
            je 4f
            // The question may come before the thread is left, which it is about to be.
            cmp qword ptr [r13 + {stack}], 0
            jne 5f
            pause
            jmp 2b
            3:
            lea rdi, [r13 + {word}]
            mov esi, {sleep}
            mov edx, {wait}
            xor r10d, r10d
            mov eax, {futex}
            syscall
            jmp 2b
            4:
            xor edi, edi
            mov eax, {exit}
            syscall
            ud2
            5:
            cmp eax, {go}
            jne 6f
            mov dword ptr [r13 + {word}], {wait}
            6:
            ",
            load!("r13"),
            word = const WORD,
            stack = const STACK,
            locals = const LOCALS,
            scratch = const SCRATCH_END,
            wait = const WAIT,
            go = const GO,
            die = const DIE,
            wake = const FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
            sleep = const FUTEX_WAIT | FUTEX_PRIVATE_FLAG,
            futex = const SYS_futex,
            exit = const SYS_exit,
        )
    }
}

/// On other processors each turn goes through the kernel.
#[cfg(not(target_arch = "x86_64"))]
#[expect(clippy::missing_safety_doc, reason = "they are never called")]
mod elsewhere {
    use super::Home;

    pub(in super::super) fn are_possible() -> bool {
        false
    }

    pub(in super::super) unsafe fn switch(_: &Home, _: &Home) {
        unreachable!("no thread is left");
    }

    pub(in super::super) unsafe fn load(_: &Home) -> ! {
        unreachable!("no thread is left");
    }

    pub(in super::super) unsafe fn hand_over(_: &Home, _: Option<&Home>, _: &Home) {
        unreachable!("no thread is left");
    }
}
