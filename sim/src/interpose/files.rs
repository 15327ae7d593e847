//! Files are the machine's own. What tells of this process and this machine is hidden, because it
//! differs from run to run.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use libc::{ENOENT, pid_t};

use super::fail;
use crate::real;
use crate::world::actor::current;
use crate::world::{lock, turn};

/// Folders whose files show what threads do, how busy the machine is, and what it is allowed. The
/// maps of memory stay: stack traces are made with them, and runs have the same.
fn is_hidden(path: &CStr) -> bool {
    let path = path.to_bytes();
    let of_process =
        path.starts_with(b"/proc/") && !path.ends_with(b"/maps") && !path.ends_with(b"/exe");
    let is_random = path == b"/dev/random" || path == b"/dev/urandom";
    of_process || is_random || path.starts_with(b"/sys/")
}

/// # Safety
///
/// As for the C library's `open`.
unsafe fn open_unless_hidden(path: *const c_char, open: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the caller gave a string.
    if current().is_some() && is_hidden(unsafe { CStr::from_ptr(path) }) {
        return fail(ENOENT);
    }
    open()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's contract is the C library's. Where no mode is meant, it is not looked
    // at.
    unsafe { open_unless_hidden(path, || real::open64(path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: as above.
    unsafe { open_unless_hidden(path, || real::open64(path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat(
    folder: c_int,
    path: *const c_char,
    flags: c_int,
    mode: c_uint,
) -> c_int {
    // SAFETY: as above.
    unsafe { open_unless_hidden(path, || real::openat(folder, path, flags, mode)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawn(
    process: *mut pid_t,
    path: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    if current().is_some() {
        super::thread::refuse("a child process");
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::posix_spawn(process, path, actions, attributes, arguments, environment) }
}

/// A path that a socket is bound to is no file: the run alone knows it.
#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    turn::end_if_doomed();
    // SAFETY: the caller gave a string.
    if current().is_some() && lock().unlink_unix(unsafe { CStr::from_ptr(path) }.to_bytes()) {
        return 0;
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::unlink(path) }
}

/// Starting another program: `posix_spawn` returns its error.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    process: *mut pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    if current().is_some() {
        super::thread::refuse("a child process");
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::posix_spawnp(process, file, actions, attributes, arguments, environment) }
}
