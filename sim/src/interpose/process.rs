//! This process and others: the numbers by which the system knows it and its threads, which differ
//! from run to run, so that hosts have others; signals to itself; new processes, which a run does
//! not have.

use std::ffi::{c_char, c_int, c_uint, c_void};

use libc::{EINVAL, ENOSYS, cpu_set_t, pid_t, pthread_t, size_t};

use super::signal::is_signal;
use super::{answer, fail};
use crate::real;
use crate::world::actor::current;
use crate::world::{World, lock, signals, turn};

/// The number of the first host's process. No process of a system starts with one that another
/// program knows.
const FIRST_PROCESS: usize = 1_000;
/// The number of the first thread, beyond those of processes.
const FIRST_THREAD: usize = 100_000;

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
unsafe extern "C" fn kill(target: pid_t, signal: c_int) -> c_int {
    if let Some(own) = process() {
        if target == own {
            return to_itself(signal).unwrap_or(0);
        }
        refuse("a signal to another process");
    }
    // SAFETY: the call takes no pointers.
    unsafe { real::kill(target, signal) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn raise(signal: c_int) -> c_int {
    // SAFETY: the call takes no pointers.
    to_itself(signal).unwrap_or_else(|| unsafe { real::raise(signal) })
}

/// A signal of the calling thread to its own host. The thread has handled it when this returns.
fn to_itself(signal: c_int) -> Option<c_int> {
    let me = turn::step()?;
    Some(match signal {
        // A question whether there is such a process.
        0 => 0,
        signal if is_signal(signal) => {
            signals::raise(lock(), me, signal);
            0
        }
        _ => fail(EINVAL),
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
    refuse("a signal to a thread");
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::pthread_kill(thread, signal) }
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

#[unsafe(no_mangle)]
unsafe extern "C" fn fork() -> pid_t {
    refuse("a process of its own");
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::fork() }
}

/// A function that starts another program, of which both take the same arguments.
macro_rules! spawns {
    ($($name:ident)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            process: *mut pid_t,
            program: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            arguments: *const *mut c_char,
            environment: *const *mut c_char,
        ) -> c_int {
            refuse("a child process");
            // SAFETY: the caller's contract is the C library's.
            unsafe { real::$name(process, program, actions, attributes, arguments, environment) }
        })*
    };
}

spawns! { posix_spawn posix_spawnp }

/// Ends the run, if the calling thread is one of it, because the program asks for what a run cannot
/// give.
fn refuse(what: &str) {
    if current().is_some() {
        refuse_locked(&mut lock(), what);
    }
}

/// As [`refuse`], for a thread of the run that goes on with the lock.
pub(super) fn refuse_locked(world: &mut World, what: &str) -> ! {
    world.end_refused(format!("the program asks for {what}, which a simulation does not have"))
}
