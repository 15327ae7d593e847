//! Calls that move bytes between descriptors inside the kernel, which has none of the bytes of a
//! run.
//!
//! They fail with the error by which callers know that they have to read and write themselves.

use std::ffi::{c_int, c_uint};

use libc::{EINVAL, off_t, off64_t, size_t, ssize_t};

use super::descriptor::object;
use super::fail;
use crate::real;

/// Calls that fail where one of the two descriptors in brackets is the run's.
macro_rules! refused {
    ($($name:ident[$one:ident, $other:ident]($($argument:ident: $type:ty),*);)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> ssize_t {
            if object($one).is_some() || object($other).is_some() {
                return fail(EINVAL) as ssize_t;
            }
            // SAFETY: the caller's contract is the C library's.
            unsafe { real::$name($($argument),*) }
        })*
    };
}

refused! {
    splice[from, to](from: c_int, at: *mut off64_t, to: c_int, to_at: *mut off64_t, length: size_t,
        flags: c_uint);
    copy_file_range[from, to](from: c_int, at: *mut off64_t, to: c_int, to_at: *mut off64_t,
        length: size_t, flags: c_uint);
    sendfile[from, to](to: c_int, from: c_int, at: *mut off_t, count: size_t);
    sendfile64[from, to](to: c_int, from: c_int, at: *mut off64_t, count: size_t);
}
