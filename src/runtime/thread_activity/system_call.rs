//! The system calls that a thread may wait in.

use nix::libc;

/// The name of a system call, and whether its first argument is a descriptor.
pub(super) fn name(number: u64) -> Option<(&'static str, bool)> {
    let known = CALLS.iter().find(|(known, ..)| u64::try_from(*known) == Ok(number));
    known.map(|&(_, name, of_file)| (name, of_file))
}

/// Those that all processors with Linux know under the same names.
const CALLS: &[(libc::c_long, &str, bool)] = &[
    (libc::SYS_read, "read", true),
    (libc::SYS_write, "write", true),
    (libc::SYS_readv, "readv", true),
    (libc::SYS_writev, "writev", true),
    (libc::SYS_pread64, "pread", true),
    (libc::SYS_pwrite64, "pwrite", true),
    (libc::SYS_preadv, "preadv", true),
    (libc::SYS_pwritev, "pwritev", true),
    (libc::SYS_fsync, "fsync", true),
    (libc::SYS_fdatasync, "fdatasync", true),
    (libc::SYS_flock, "flock", true),
    (libc::SYS_ioctl, "ioctl", true),
    (libc::SYS_getdents64, "getdents", true),
    (libc::SYS_splice, "splice", true),
    (libc::SYS_copy_file_range, "copy_file_range", true),
    (libc::SYS_accept4, "accept", true),
    (libc::SYS_connect, "connect", true),
    (libc::SYS_recvfrom, "recvfrom", true),
    (libc::SYS_recvmsg, "recvmsg", true),
    (libc::SYS_sendto, "sendto", true),
    (libc::SYS_sendmsg, "sendmsg", true),
    (libc::SYS_epoll_pwait, "epoll_wait", true),
    (libc::SYS_openat, "open", false),
    (libc::SYS_unlinkat, "unlink", false),
    (libc::SYS_futex, "futex", false),
    (libc::SYS_nanosleep, "nanosleep", false),
    (libc::SYS_clock_nanosleep, "clock_nanosleep", false),
    (libc::SYS_ppoll, "poll", false),
    (libc::SYS_pselect6, "select", false),
    (libc::SYS_wait4, "wait", false),
    (libc::SYS_waitid, "wait", false),
    (libc::SYS_munmap, "munmap", false),
    (libc::SYS_madvise, "madvise", false),
    (libc::SYS_sched_yield, "sched_yield", false),
];
