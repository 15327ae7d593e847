//! How soon the system lets a thread run that has been woken on a core which another thread is using.
//!
//! The driver thread and the spare workers sleep until there is something to do, do a little, and sleep
//! again, beside workers that compute. Since Linux 6.12 a thread may say how long a slice of the processor it
//! wants, from 0.1 ms on. A thread that wants a shorter slice than the one that runs gets the core at once,
//! as long as it has used less than its share; otherwise it waits until the slice of the other is over, which
//! is some milliseconds. A short slice is no privilege: over time the thread gets as much of the processor as
//! before.
//!
//! Measured with an echo beside tasks that compute for 1 ms per poll (`mixed_1ms`, two workers and the load
//! on two cores): the 99th percentile is 0.32 of tokio's, and 0.82 without. Where the system knows no slices,
//! or refuses, nothing changes.
#![allow(unsafe_code)]

pub(super) use imp::shorten;

#[cfg(all(target_os = "linux", not(any(miri, all(test, any(liten_loom, liten_shuttle))))))]
mod imp {
    use nix::libc::{self, SYS_sched_getattr, SYS_sched_setattr, sched_attr};
    use std::mem;

    /// The shortest that the system gives, in nanoseconds.
    const SHORTEST: u64 = 100_000;
    /// Threads and processes that the thread starts have slices of the usual length.
    const RESET_ON_FORK: u64 = 1;
    /// The calling thread.
    const SELF: libc::pid_t = 0;
    const NO_FLAGS: libc::c_uint = 0;

    /// Asks for short slices for the calling thread, if it is scheduled like any other.
    pub(in crate::engine::scheduler) fn shorten() {
        // SAFETY: the call takes no pointers. Filters of system calls allow
        // `prctl`, because naming a thread needs it.
        if unsafe { libc::prctl(libc::PR_GET_SECCOMP) } != 0 {
            return;
        }
        // SAFETY: a structure of integers, for which zero is a value.
        let mut attributes: sched_attr = unsafe { mem::zeroed() };
        let size = mem::size_of::<sched_attr>() as u32;
        // SAFETY: the call writes no more than `size` bytes to the structure, which outlives it.
        let known =
            unsafe { libc::syscall(SYS_sched_getattr, SELF, &raw mut attributes, size, NO_FLAGS) };
        // Real-time policies know no slices, and idle and batch threads are not to be quick.
        let usual = attributes.sched_policy == libc::SCHED_OTHER as u32;
        if known != 0 || !usual || attributes.sched_nice < 0 {
            return;
        }
        attributes.size = size;
        attributes.sched_runtime = SHORTEST;
        attributes.sched_flags |= RESET_ON_FORK;
        // SAFETY: the call reads `size` bytes of the structure. An error changes nothing, and there is
        // nothing that could be done about it.
        unsafe { libc::syscall(SYS_sched_setattr, SELF, &raw const attributes, NO_FLAGS) };
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, all(test, any(liten_loom, liten_shuttle)))))))]
mod imp {
    /// No other system is known to have slices that a thread may choose.
    pub(in crate::engine::scheduler) fn shorten() {}
}
