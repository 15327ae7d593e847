//! Gives the system what the program has freed.
//!
//! The C library of most Linux systems keeps freed memory for later. How much it keeps depends on the largest
//! block that the program has ever freed, and a table of all functions of a large program has some 20 MB. So
//! without this, what the names of one tree have taken stays with the program, once for each thread that has
//! looked some up.
#![allow(unsafe_code)]

#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
pub(super) fn give_back() {
    // SAFETY: it may be called at any time by any thread. Memory that is in use is left alone.
    unsafe { nix::libc::malloc_trim(0) };
}

/// Other C libraries decide that themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
pub(super) fn give_back() {}
