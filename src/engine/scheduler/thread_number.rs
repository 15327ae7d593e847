//! The system's number of the calling thread, by which other threads can ask the system what it does.

/// No thread has it.
pub(super) const NONE: u32 = 0;

/// In the place of a number that the system does not tell. No thread has it either.
pub(super) const UNKNOWN: u32 = u32::MAX;

/// In the place of the number of a thread that rests. No thread has this one, too.
pub(super) const RESTS: u32 = u32::MAX - 1;

/// One system call, once per worker.
#[cfg(all(target_os = "linux", not(any(miri, all(test, any(liten_loom, liten_shuttle))))))]
pub(super) fn current() -> u32 {
    u32::try_from(nix::unistd::gettid().as_raw()).unwrap_or(UNKNOWN)
}

/// Other systems tell nothing about a thread by its number.
#[cfg(not(all(target_os = "linux", not(any(miri, all(test, any(liten_loom, liten_shuttle)))))))]
pub(super) fn current() -> u32 {
    UNKNOWN
}
