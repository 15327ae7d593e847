//! The system calls that a thread may wait in, by the names that the kernel has for them.

use nix::libc;

/// The name of a system call, and whether its first argument is a descriptor.
pub(super) fn name(number: u64) -> Option<(&'static str, bool)> {
    let known = CALLS.iter().chain(MORE).find(|(known, ..)| u64::try_from(*known) == Ok(number));
    known.map(|&(_, name, of_file)| (name, of_file))
}

type Call = (libc::c_long, &'static str, bool);

/// The calls that Linux has on every processor.
const CALLS: &[Call] = &[
    (libc::SYS_read, "read", true),
    (libc::SYS_write, "write", true),
    (libc::SYS_readv, "readv", true),
    (libc::SYS_writev, "writev", true),
    (libc::SYS_pread64, "pread64", true),
    (libc::SYS_pwrite64, "pwrite64", true),
    (libc::SYS_preadv, "preadv", true),
    (libc::SYS_pwritev, "pwritev", true),
    (libc::SYS_fsync, "fsync", true),
    (libc::SYS_fdatasync, "fdatasync", true),
    (libc::SYS_flock, "flock", true),
    (libc::SYS_ioctl, "ioctl", true),
    (libc::SYS_getdents64, "getdents64", true),
    (libc::SYS_splice, "splice", true),
    (libc::SYS_copy_file_range, "copy_file_range", true),
    (libc::SYS_accept4, "accept4", true),
    (libc::SYS_connect, "connect", true),
    (libc::SYS_recvfrom, "recvfrom", true),
    (libc::SYS_recvmsg, "recvmsg", true),
    (libc::SYS_sendto, "sendto", true),
    (libc::SYS_sendmsg, "sendmsg", true),
    (libc::SYS_epoll_pwait, "epoll_pwait", true),
    (libc::SYS_openat, "openat", false),
    (libc::SYS_unlinkat, "unlinkat", false),
    (libc::SYS_futex, "futex", false),
    (libc::SYS_nanosleep, "nanosleep", false),
    (libc::SYS_clock_nanosleep, "clock_nanosleep", false),
    (libc::SYS_ppoll, "ppoll", false),
    (libc::SYS_pselect6, "pselect6", false),
    (libc::SYS_wait4, "wait4", false),
    (libc::SYS_waitid, "waitid", false),
    (libc::SYS_munmap, "munmap", false),
    (libc::SYS_madvise, "madvise", false),
    (libc::SYS_sched_yield, "sched_yield", false),
];

/// The calls that Linux has on this kind of processor besides.
#[cfg(target_arch = "x86_64")]
const MORE: &[Call] = &[
    (libc::SYS_accept, "accept", true),
    (libc::SYS_epoll_wait, "epoll_wait", true),
    (libc::SYS_open, "open", false),
    (libc::SYS_poll, "poll", false),
    (libc::SYS_select, "select", false),
];
#[cfg(target_arch = "aarch64")]
const MORE: &[Call] = &[(libc::SYS_accept, "accept", true)];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MORE: &[Call] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    const NUMBERS: &[(u64, &str)] = &[
        (2, "open"),
        (7, "poll"),
        (23, "select"),
        (43, "accept"),
        (232, "epoll_wait"),
        (257, "openat"),
        (270, "pselect6"),
        (271, "ppoll"),
        (281, "epoll_pwait"),
        (288, "accept4"),
    ];
    #[cfg(target_arch = "aarch64")]
    const NUMBERS: &[(u64, &str)] = &[
        (22, "epoll_pwait"),
        (56, "openat"),
        (72, "pselect6"),
        (73, "ppoll"),
        (202, "accept"),
        (242, "accept4"),
    ];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    const NUMBERS: &[(u64, &str)] = &[];

    #[test]
    fn calls_in_which_threads_wait_have_their_names() {
        for &(number, expected) in NUMBERS {
            assert_eq!(name(number).map(|(name, _)| name), Some(expected), "{number}");
        }
        assert_eq!(name(u64::MAX), None);
    }
}
