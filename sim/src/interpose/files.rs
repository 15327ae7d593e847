//! Files are the machine's own. What tells of this process and this machine is hidden, because it
//! differs from run to run.

use std::ffi::{CStr, c_char, c_int, c_uint};

use libc::{ENOENT, LOCK_NB};

use super::fail;
use crate::real;
use crate::world::actor::{Waits, current};
use crate::world::{lock, turn};

/// How long a thread waits before it tries to lock a file again, in nanoseconds.
const PAUSE: u64 = 1_000_000;

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

/// The kernel would stop the only thread that runs. So a thread asks again until it gets the lock.
#[unsafe(no_mangle)]
unsafe extern "C" fn flock(fd: c_int, operation: c_int) -> c_int {
    let Some(me) = turn::step() else {
        // SAFETY: the call takes no pointers.
        return unsafe { real::flock(fd, operation) };
    };
    loop {
        // SAFETY: the call takes no pointers. The place of `errno` is this thread's.
        let (result, errno) =
            unsafe { (real::flock(fd, operation | LOCK_NB), *libc::__errno_location()) };
        if result == 0 {
            let mut world = lock();
            let host = world.running_host();
            world.locked_files.retain(|(_, locked)| *locked != fd);
            if operation & libc::LOCK_UN == 0 {
                world.locked_files.push((host, fd));
            }
        }
        if result == 0 || errno != libc::EWOULDBLOCK || operation & LOCK_NB != 0 {
            return if result == 0 { 0 } else { fail(errno) };
        }
        let world = lock();
        let until = world.now + PAUSE;
        turn::sleep(world, me, Waits::Sleep, Some(until));
    }
}
