//! The functions on the stack of a thread that is blocked or computes, as addresses.
//!
//! To a thread that is in a system call no signal is sent: it would make some of these calls fail with
//! `EINTR`, which not all programs expect. The system tells the stack pointer and the program counter of
//! such a thread in `/proc/self/task/ID/syscall`. Of a thread that runs it tells neither, so that one is
//! interrupted: `interruption.rs`.
//!
//! The stack is read through `/proc/self/mem`, where an address that is not mapped is an error and not a
//! fault. What the compiler has written for panics, `.eh_frame`, says where the caller's frame begins.
//!
//! | the thread | what comes of it |
//! |---|---|
//! | is in the call in which it was seen, and has not run since before its stack was read | its stack |
//! | has run meanwhile, or ended | nothing: what was read may be of two moments |
//! | runs, or waits for a processor | its stack at the moment of the signal, if that comes in time |
//! | waits in the kernel for memory | nothing |
//! | is the one that asks | nothing |
//!
//! The stack ends early where the unwind tables are of a kind that is not followed: that of code which is
//! made at run time, of files that were deleted, and of some that is written in assembly. It may also end
//! where the system does not tell a register: `calls.rs`.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod calls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod interruption;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod memory;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod reply_slot;
#[cfg_attr(all(target_os = "linux", target_arch = "x86_64"), path = "thread_stack/linux.rs")]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    path = "thread_stack/elsewhere.rs"
)]
mod system;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod unwinding;

pub(super) use system::ThreadStacks;

use crate::observe::thread_activity::ThreadActivity;

/// Whether a thread that does this is on a processor, or ready to be.
pub(super) fn is_running(activity: &ThreadActivity) -> bool {
    use ThreadActivity::{Computes, Runs, WaitsForProcessor};
    matches!(activity, Runs | Computes | WaitsForProcessor)
}

impl ThreadStacks {
    /// Whether it is tried to read the stack of a thread that does this.
    pub(super) fn can_read(&self, activity: &ThreadActivity) -> bool {
        matches!(activity, ThreadActivity::Calls(_)) || self.may_interrupt()
    }

    /// Returns the addresses on the stack of a thread that was seen to do this. Empty if it does something
    /// else, or if they cannot be known. Waits for 200 ms at most for all threads that it is asked for.
    pub(super) fn of(&mut self, thread: u32, activity: &ThreadActivity) -> Vec<usize> {
        match activity {
            ThreadActivity::Calls(call) => self.addresses(thread, call),
            _ if is_running(activity) => self.interrupted(thread),
            _ => Vec::new(),
        }
    }
}
