//! What a program does about signals. Each host has its own answer, and none comes from the system.

use std::ffi::c_int;
use std::mem::zeroed;

use libc::{
    EINVAL, SA_RESTART, SIG_DFL, SIG_ERR, SIGBUS, SIGFPE, SIGILL, SIGKILL, SIGPIPE, SIGSEGV,
    SIGSTOP, SIGTRAP, sigaction as Action, sighandler_t,
};

use super::fail;
use crate::real;
use crate::world::actor::current;
use crate::world::lock;

/// Whether the calling thread asks about a signal of the run. Those that an instruction causes are
/// the system's, and so is that of a write to a pipe without a reader: standard output is real.
fn is_of_run(signal: c_int) -> bool {
    let is_of_system = matches!(signal, SIGBUS | SIGFPE | SIGILL | SIGPIPE | SIGSEGV | SIGTRAP);
    !is_of_system && current().is_some()
}

pub(super) fn is_signal(number: c_int) -> bool {
    (1..=libc::SIGRTMAX()).contains(&number)
}

/// Sets what the running host does about a signal. Returns what it did before.
fn exchange(signal: c_int, new: Option<Action>) -> Option<Action> {
    if !is_signal(signal) || (new.is_some() && matches!(signal, SIGKILL | SIGSTOP)) {
        return None;
    }
    let mut world = lock();
    let key = (world.running_host(), signal);
    // SAFETY: all zeros are a valid value, with the default action.
    let old = world.actions.get(&key).copied().unwrap_or_else(|| unsafe { zeroed() });
    if let Some(new) = new {
        world.actions.insert(key, new);
    }
    Some(old)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        if !is_of_run(signal) {
            return real::sigaction(signal, new, old);
        }
        let Some(before) = exchange(signal, new.as_ref().copied()) else { return fail(EINVAL) };
        if !old.is_null() {
            old.write(before);
        }
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn signal(signal: c_int, handler: sighandler_t) -> sighandler_t {
    if !is_of_run(signal) {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::signal(signal, handler) };
    }
    // SAFETY: all zeros are a valid value.
    let mut new: Action = unsafe { zeroed() };
    new.sa_sigaction = handler;
    new.sa_flags = SA_RESTART;
    match exchange(signal, Some(new)) {
        Some(before) => before.sa_sigaction,
        None => {
            fail(EINVAL);
            SIG_ERR
        }
    }
}

const _: () = assert!(SIG_DFL == 0, "a zeroed action is the default one");
