//! Calls that move bytes between descriptors inside the kernel, which has none of the bytes of a
//! run.
//!
//! They fail with the error by which callers know that they have to read and write themselves.

use std::ffi::{c_int, c_uint};

use libc::{EINVAL, off_t, off64_t, size_t, ssize_t};

use super::descriptor::object;
use super::fail;
use crate::real;

fn is_ours(one: c_int, other: c_int) -> bool {
    object(one).is_some() || object(other).is_some()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn splice(
    from: c_int,
    at: *mut off64_t,
    to: c_int,
    to_at: *mut off64_t,
    length: size_t,
    flags: c_uint,
) -> ssize_t {
    if is_ours(from, to) {
        return fail(EINVAL) as ssize_t;
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::splice(from, at, to, to_at, length, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn copy_file_range(
    from: c_int,
    at: *mut off64_t,
    to: c_int,
    to_at: *mut off64_t,
    length: size_t,
    flags: c_uint,
) -> ssize_t {
    if is_ours(from, to) {
        return fail(EINVAL) as ssize_t;
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::copy_file_range(from, at, to, to_at, length, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile(to: c_int, from: c_int, at: *mut off_t, count: size_t) -> ssize_t {
    if is_ours(from, to) {
        return fail(EINVAL) as ssize_t;
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::sendfile(to, from, at, count) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile64(
    to: c_int,
    from: c_int,
    at: *mut off64_t,
    count: size_t,
) -> ssize_t {
    if is_ours(from, to) {
        return fail(EINVAL) as ssize_t;
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::sendfile64(to, from, at, count) }
}
