//! Numbers by which the system knows this process and its threads. They differ from run to run, so
//! hosts have others.

use std::ffi::{c_int, c_uint};

use libc::{ENOSYS, LOCK_NB, cpu_set_t, pid_t, pthread_t, size_t};

use super::thread::refuse;
use super::{answer, fail};
use crate::real;
use crate::world::actor::{Waits, current};
use crate::world::{lock, turn};

/// The number of the first host's process. No process of a system starts with one that another
/// program knows.
const FIRST_PROCESS: usize = 1_000;
/// The number of the first thread, beyond those of processes.
const FIRST_THREAD: usize = 100_000;
/// How long a thread waits before it tries to lock a file again, in nanoseconds.
const PAUSE: u64 = 1_000_000;

/// What the calling thread's host has as its number.
pub(super) fn process() -> Option<pid_t> {
    current()?;
    let world = lock();
    Some((FIRST_PROCESS + world.running_host()) as pid_t)
}

pub(super) fn thread() -> Option<pid_t> {
    Some((FIRST_THREAD + current()?.0) as pid_t)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpid() -> pid_t {
    // SAFETY: the call takes no arguments.
    process().unwrap_or_else(|| unsafe { real::getpid() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getppid() -> pid_t {
    // SAFETY: the call takes no arguments.
    if current().is_some() { 1 } else { unsafe { real::getppid() } }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettid() -> pid_t {
    // SAFETY: the call takes no arguments.
    thread().unwrap_or_else(|| unsafe { real::gettid() })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getcpu() -> c_int {
    // SAFETY: the call takes no arguments.
    if current().is_some() { 0 } else { unsafe { real::sched_getcpu() } }
}

/// All threads of a run share one processor. That they see several is only told to them.
#[unsafe(no_mangle)]
unsafe extern "C" fn sched_setaffinity(
    process: pid_t,
    size: size_t,
    set: *const cpu_set_t,
) -> c_int {
    if current().is_some() {
        return 0;
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::sched_setaffinity(process, size, set) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn kill(process: pid_t, signal: c_int) -> c_int {
    if current().is_some() && signal != 0 {
        refuse("a signal to a process");
    }
    // SAFETY: the call takes no pointers.
    unsafe { real::kill(process, signal) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
    if current().is_some() {
        refuse("a signal to a thread");
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::pthread_kill(thread, signal) }
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

/// `getcpu` by its number.
///
/// # Safety
///
/// Both are null or places for a number.
pub(super) unsafe fn getcpu(cpu: *mut c_uint, node: *mut c_uint) -> c_int {
    for place in [cpu, node] {
        if !place.is_null() {
            // SAFETY: as above.
            unsafe { place.write(0) };
        }
    }
    answer(if current().is_some() { Ok(0) } else { Err(ENOSYS) })
}
