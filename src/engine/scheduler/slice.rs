//! How soon the system lets a thread run that has been woken on a core which another thread is using.
//!
//! Since Linux 6.12 a thread may say how long a slice of the processor it wants, from 0.1 ms on. A thread
//! that wants a shorter slice than the one that runs gets the core at once, as long as it has used less than
//! its share; otherwise it waits until the slice of the other is over, which is some milliseconds. A short
//! slice is no privilege: over time the thread gets as much of the processor as before.
//!
//! # Which threads have short slices
//!
//! The driver thread and the helpers have the shortest: they sleep until there is something to do, do a
//! little, and sleep again. The other workers have short ones while their polls are short, too, and slices of
//! the usual length, 1.4 to 2.8 ms, while tasks wait for long polls (`Watchdog::polls_are_long`) or block the
//! thread in place. So a worker that has something short to do gets the core of a thread that computes, be
//! it a worker, one of the blocking pool, or one of another process.
//!
//! Measured on two cores, in runs that took turns (liten / tokio; more in `benches/README.md`; `cpu`: the
//! time of the processor):
//!
//! | slices of the workers | udp_relay; cpu | mixed_in_place, p99 | mixed_intervals_equal, cpu |
//! |---|---|---|---|
//! | usual | 0.99; 0.95 | 0.65 to 0.95 | 0.78 to 0.85 |
//! | shortest while polls are short | 0.82; 0.81 | 0.44 to 0.84 | 0.96 to 1.45 |
//! | short while polls are short | 0.81; 0.81 | 0.72 to 0.84 | 0.67 to 0.88 |
//!
//! With the shortest slices, a worker that fires a thousand timers loses its core in the middle of them to
//! the peer that it has woken for half of them. Rejected: short slices for workers whose polls are long, too
//! (`mixed_1ms`, p99: 0.70 instead of 0.24).
//!
//! # What is left alone
//!
//! A thread whose slices the program has set since, that has another policy than the usual one, or a priority
//! above the usual one. And every thread under a filter of system calls, which may end the process when it
//! finds one that it does not know. Where the system knows no slices, or refuses, nothing changes.
//!
//! What such a thread starts, threads and processes, has slices of the usual length. For that the system has
//! only the flag that resets a real-time policy and a raised priority, too, if a task has given its thread
//! one of these before.
#![allow(unsafe_code)]

pub(super) use imp::choose;

/// How long the slices are that a thread asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slices {
    /// As long as they were before the thread asked for other ones.
    Usual,
    /// Shorter than those of a thread that asks for nothing.
    Short,
    /// As short as the system gives them.
    Shortest,
}

#[cfg(all(target_os = "linux", not(any(miri, all(test, any(liten_loom, liten_shuttle))))))]
mod imp {
    use super::Slices;
    use nix::libc::{self, SYS_sched_getattr, SYS_sched_setattr, sched_attr};
    use std::cell::Cell;
    use std::mem;

    /// Nanoseconds. Workers that share a core may each fire a few hundred timers within one slice.
    pub(super) const SHORT: u64 = 500_000;
    /// The least that the system gives, in nanoseconds.
    pub(super) const SHORTEST: u64 = 100_000;
    /// Threads and processes that the thread starts have slices of the usual length.
    const RESET_ON_FORK: u64 = 1;
    /// The calling thread.
    const SELF: libc::pid_t = 0;
    const NO_FLAGS: libc::c_uint = 0;

    /// Lengths of the slices of one thread, in nanoseconds.
    #[derive(Clone, Copy)]
    struct Lengths {
        /// Before the first choice.
        usual: u64,
        /// Since the last choice.
        chosen: u64,
    }

    thread_local! {
        static LENGTHS: Cell<Option<Lengths>> = const { Cell::new(None) };
    }

    /// Asks for such slices for the calling thread.
    #[cold]
    pub(in crate::engine::scheduler) fn choose(slices: Slices) {
        let Some(attributes) = read() else {
            return;
        };
        let now = attributes.sched_runtime;
        let Lengths { usual, chosen } =
            LENGTHS.get().unwrap_or(Lengths { usual: now, chosen: now });
        let length = match slices {
            Slices::Usual => usual,
            Slices::Short => usual.min(SHORT),
            Slices::Shortest => SHORTEST,
        };
        if now == chosen && length != chosen && write(attributes, length) {
            LENGTHS.set(Some(Lengths { usual, chosen: length }));
        }
    }

    /// What the system says of the calling thread, if it may have slices of another length.
    pub(super) fn read() -> Option<sched_attr> {
        // SAFETY: the call takes no pointers. Filters of system calls allow `prctl`, because naming a thread
        // needs it.
        if unsafe { libc::prctl(libc::PR_GET_SECCOMP) } != 0 {
            return None;
        }
        // SAFETY: a structure of integers, for which zero is a value.
        let mut attributes: sched_attr = unsafe { mem::zeroed() };
        let size = mem::size_of::<sched_attr>() as u32;
        // SAFETY: the call writes no more than `size` bytes to the structure, which outlives it.
        let known =
            unsafe { libc::syscall(SYS_sched_getattr, SELF, &raw mut attributes, size, NO_FLAGS) };
        attributes.size = size;
        // Real-time policies know no slices, and idle and batch threads are not to be quick. An older system
        // says that slices have no length.
        let usual = attributes.sched_policy == libc::SCHED_OTHER as u32;
        let may_choose = known == 0 && usual && attributes.sched_nice >= 0;
        (may_choose && attributes.sched_runtime != 0).then_some(attributes)
    }

    /// Gives the calling thread slices of `length` nanoseconds. An error changes nothing, and nothing could
    /// be done about it.
    pub(super) fn write(mut attributes: sched_attr, length: u64) -> bool {
        attributes.sched_runtime = length;
        attributes.sched_flags |= RESET_ON_FORK;
        // SAFETY: the call reads the structure, whose size stands in it.
        unsafe { libc::syscall(SYS_sched_setattr, SELF, &raw const attributes, NO_FLAGS) == 0 }
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, all(test, any(liten_loom, liten_shuttle)))))))]
mod imp {
    /// No other system is known to have slices that a thread may choose.
    pub(in crate::engine::scheduler) fn choose(_: super::Slices) {}
}

#[cfg(all(test, target_os = "linux", not(any(miri, liten_loom, liten_shuttle))))]
mod tests;
