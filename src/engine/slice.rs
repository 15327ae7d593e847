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
//! little, and sleep again. The other workers have short ones, but those of the usual length (1 to 3 ms,
//! depending on the machine) while ready tasks wait for long polls (`Watchdog::polls_are_long`) or a task
//! blocks the thread in place. A worker finds out between two polls. So a worker that has something short to
//! do gets the core of a thread that computes, be it one that stays in a long poll, one of the blocking pool,
//! or one of another process.
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
//! A thread whose slices have been set since by other code, or that has another policy than the usual one or
//! a priority above the usual one. And every thread under a filter of system calls, which may end the process
//! when it finds one that it does not know. Where the system knows no slices, or refuses, nothing changes.
//! What a thread has when it first asks counts as usual.
//!
//! # What such a thread starts
//!
//! The system has one way to keep the slices of a thread from what it starts: the flag that resets the policy
//! and the priority, too. A thread with that flag may not choose another policy any more unless it is
//! privileged, and a task may want to. So only the driver thread and the helpers set it. The runtime's own
//! threads give up what they have inherited, and `process::Command` asks for usual slices before it starts a
//! process. What a task starts by std alone has slices of 0.5 ms if its worker has.
#![allow(unsafe_code)]

pub(crate) use imp::choose;

/// How long the slices are that a thread asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slices {
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
    /// The system's own length, which it does not tell.
    pub(super) const DEFAULT: u64 = 0;
    /// What the thread starts has the system's own slices, policy and priority.
    const RESET_ON_FORK: u64 = 1;
    /// The policy stays, and so does the flag above.
    const KEEP_POLICY: u64 = 8;
    /// The calling thread.
    const SELF: libc::pid_t = 0;
    const NO_FLAGS: libc::c_uint = 0;

    /// The slices of one thread. Lengths are in nanoseconds.
    #[derive(Clone, Copy)]
    struct State {
        usual: u64,
        /// The last choice, unless there has been none and the length is inherited from a worker.
        slices: Option<Slices>,
        /// What the system said after that choice.
        length: u64,
        /// The system has refused a choice.
        is_refused: bool,
    }

    thread_local! {
        static STATE: Cell<Option<State>> = const { Cell::new(None) };
    }

    /// Asks for such slices for the calling thread.
    #[cold]
    pub(crate) fn choose(slices: Slices) {
        if is_filtered() {
            return;
        }
        let Some(attributes) = read() else {
            return;
        };
        let now = attributes.sched_runtime;
        let mut state = STATE.get().unwrap_or_else(|| first(now));
        // Threads that are to wait for others, or have a raised priority, are not to be quick.
        let is_usual = attributes.sched_policy == libc::SCHED_OTHER as u32;
        let slices = if is_usual && attributes.sched_nice >= 0 { slices } else { Slices::Usual };
        if !state.is_refused && state.length == now && state.slices != Some(slices) {
            let (length, flag) = match slices {
                Slices::Usual => (state.usual, KEEP_POLICY),
                Slices::Short if state.usual == DEFAULT => (SHORT, KEEP_POLICY),
                Slices::Short => (state.usual.min(SHORT), KEEP_POLICY),
                Slices::Shortest => (SHORTEST, RESET_ON_FORK),
            };
            state.is_refused = !write(attributes, length, flag);
            state.slices = Some(slices);
            state.length = read().map_or(now, |attributes| attributes.sched_runtime);
        }
        STATE.set(Some(state));
    }

    /// Before the first choice, with slices of `length`.
    fn first(length: u64) -> State {
        // Only the worker that has started this thread asks for these.
        let is_inherited = length == SHORT || length == SHORTEST;
        State {
            usual: if is_inherited { DEFAULT } else { length },
            slices: if is_inherited { None } else { Some(Slices::Usual) },
            length,
            is_refused: false,
        }
    }

    /// Whether there is a filter of system calls.
    fn is_filtered() -> bool {
        // SAFETY: the call takes no pointers.
        unsafe { libc::prctl(libc::PR_GET_SECCOMP) != 0 }
    }

    /// What the system says of the calling thread, if it has slices.
    pub(super) fn read() -> Option<sched_attr> {
        // SAFETY: a structure of integers, for which zero is a value.
        let mut attributes: sched_attr = unsafe { mem::zeroed() };
        let size = mem::size_of::<sched_attr>() as u32;
        // SAFETY: the call writes no more than `size` bytes to the structure, which outlives it.
        let known =
            unsafe { libc::syscall(SYS_sched_getattr, SELF, &raw mut attributes, size, NO_FLAGS) };
        attributes.size = size;
        let policy = attributes.sched_policy as libc::c_int;
        let is_fair = [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE].contains(&policy);
        // A system before 6.12 says that slices have no length.
        (known == 0 && is_fair && attributes.sched_runtime != 0).then_some(attributes)
    }

    /// Gives the calling thread slices of `length` nanoseconds. Returns whether the system has done so.
    pub(super) fn write(mut attributes: sched_attr, length: u64, flag: u64) -> bool {
        attributes.sched_runtime = length;
        attributes.sched_flags |= flag;
        // SAFETY: the call reads the structure, whose size stands in it.
        unsafe { libc::syscall(SYS_sched_setattr, SELF, &raw const attributes, NO_FLAGS) == 0 }
    }

    /// Gives the calling thread slices of `length` nanoseconds, as a program may.
    #[cfg(test)]
    pub(super) fn set(length: u64) -> bool {
        read().is_some_and(|attributes| write(attributes, length, KEEP_POLICY))
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, all(test, any(liten_loom, liten_shuttle)))))))]
mod imp {
    /// No other system is known to have slices that a thread may choose.
    pub(crate) fn choose(_: super::Slices) {}
}

#[cfg(all(test, target_os = "linux", not(any(miri, liten_loom, liten_shuttle))))]
mod tests;
