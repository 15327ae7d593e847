//! What the kernel keeps for each of its threads. A thread of the run that asks for it must be on
//! the kernel thread with which it was born: see `baton`.
//!
//! A thread that changes it stays there, and so do the threads that it creates, because they
//! inherit it.

use std::ffi::{c_char, c_int, c_long};

use libc::{gid_t, pthread_t, sigset_t, size_t, stack_t, uid_t};

use crate::baton::Baton;
use crate::real;
use crate::world::actor::current;
use crate::world::lock;

/// The calling thread's baton, if it is one of the run.
fn own() -> Option<Baton> {
    let me = current()?;
    Some(lock().actors[me.0].baton)
}

fn bind() {
    if let Some(baton) = own() {
        baton.bind();
    }
}

/// Functions after which a thread stays on its kernel thread. Each may say when it is one.
macro_rules! binds {
    ($(fn $name:ident($($argument:ident: $type:ty),*) $(if $condition:expr)?;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            if true $(&& $condition)? {
                bind();
            }
            // SAFETY: the caller's contract is the C library's.
            unsafe { real::$name($($argument),*) }
        })*
    };
}

binds! {
    // A null set asks for the mask. Threads that are not bound have the same.
    fn pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) if !set.is_null();
    fn sigprocmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) if !set.is_null();
    fn setns(fd: c_int, kind: c_int);
    fn unshare(flags: c_int);
    // The C library sends signals to the other threads here, and each must know itself.
    fn setuid(user: uid_t);
    fn setgid(group: gid_t);
    fn seteuid(user: uid_t);
    fn setegid(group: gid_t);
    fn setreuid(real: uid_t, effective: uid_t);
    fn setregid(real: gid_t, effective: gid_t);
    fn setresuid(real: uid_t, effective: uid_t, saved: uid_t);
    fn setresgid(real: gid_t, effective: gid_t, saved: gid_t);
    fn setgroups(count: size_t, groups: *const gid_t);
}

/// The same for calls that are made by their numbers.
pub(super) fn prepare(number: c_long) {
    let binds = matches!(
        number,
        libc::SYS_rt_sigprocmask
            | libc::SYS_capset
            | libc::SYS_rseq
            | libc::SYS_seccomp
            | libc::SYS_set_robust_list
            | libc::SYS_set_tid_address
            | libc::SYS_setns
            | libc::SYS_unshare
    );
    #[cfg(target_arch = "x86_64")]
    let binds = binds || number == libc::SYS_arch_prctl;
    if binds {
        bind();
    }
}

/// Threads of the run have one of ours where they do not stay on their kernel threads: what each
/// asks for is remembered only.
#[unsafe(no_mangle)]
unsafe extern "C" fn sigaltstack(new: *const stack_t, old: *mut stack_t) -> c_int {
    // SAFETY: it is null or valid.
    let wanted = unsafe { new.as_ref() }.copied();
    let Some(before) = own().and_then(|baton| baton.alternate(wanted)) else {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::sigaltstack(new, old) };
    };
    if !old.is_null() {
        // SAFETY: the caller gave a place for it.
        unsafe { old.write(before) };
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_getname_np(
    thread: pthread_t,
    name: *mut c_char,
    length: size_t,
) -> c_int {
    go_home();
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::pthread_getname_np(thread, name, length) }
}

/// For calls that ask for what the kernel keeps for the calling thread, and change nothing that
/// another thread could notice.
pub(super) fn go_home() {
    if let Some(baton) = own() {
        baton.go_home();
    }
}
