//! The functions that this package stands in for.
//!
//! The linker finds these before the C library's. On a thread of the run each of them is answered
//! by the world. On every other thread, and while this package itself works, it is the C library's
//! own.
//!
//! A call past the C library, by an instruction of the program's own, is not seen here.

#![expect(
    clippy::missing_safety_doc,
    reason = "each has the contract of the C library's function of its name"
)]

use std::ffi::c_int;

use crate::network::Errno;

mod address;
mod clock;
mod descriptor;
mod epoll;
mod files;
mod futex;
mod kernel;
mod names;
mod number;
mod option;
mod pair;
mod poll;
mod process;
mod shortcut;
mod signal;
mod socket;
mod task;
pub(crate) mod thread;
mod transfer;

/// What a failed call returns; the caller finds `errno` in its place.
fn fail(errno: Errno) -> c_int {
    // SAFETY: the place of `errno` is this thread's.
    unsafe { *libc::__errno_location() = errno };
    -1
}

fn answer(result: Result<c_int, Errno>) -> c_int {
    result.unwrap_or_else(fail)
}

fn answer_size(result: Result<usize, Errno>) -> libc::ssize_t {
    match result {
        // A transfer is never longer than its buffer, which fits.
        Ok(size) => size as libc::ssize_t,
        Err(errno) => fail(errno) as libc::ssize_t,
    }
}
