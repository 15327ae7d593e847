//! The functions of the C library that this package stands in for, as the library itself has them.

#![expect(
    clippy::missing_safety_doc,
    reason = "each has the contract of the C library's function of its name"
)]

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::mem::transmute;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{
    addrinfo, clockid_t, epoll_event, gid_t, iovec, itimerspec, mmsghdr, msghdr, nfds_t, pollfd,
    pthread_attr_t, pthread_t, sigset_t, size_t, sockaddr, socklen_t, ssize_t, time_t, timespec,
    timeval, uid_t,
};

/// A thread's first function.
pub(crate) type Start = extern "C" fn(*mut c_void) -> *mut c_void;

/// The next definition of `name` behind ours. Looked up once per function.
///
/// # Panics
///
/// When the C library has no such function, as with a statically linked one.
fn next(cache: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    // Acquire and Release: the address is all there is to see, and it is the same whichever thread
    // looked it up.
    let known = cache.load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    // SAFETY: `name` ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    assert!(!found.is_null(), "liten-sim: the C library has no {name:?}; is it linked statically?");
    cache.store(found, Ordering::Release);
    found
}

/// Calls `f`, and leaves `errno` as it was: the thread may be between a failed call of its own and
/// its look at the reason.
pub(crate) fn keeping_errno<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: the place is this thread's, and moves with it.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let errno = unsafe { *place };
    let result = f();
    // SAFETY: as above.
    unsafe { *place = errno };
    result
}

macro_rules! real {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(pub(crate) unsafe fn $name($($argument: $type),*) -> $result {
            static CACHE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has a zero byte"),
            };
            // SAFETY: the C library's function of this name has this signature, or one that takes
            // further arguments by position. The caller keeps the function's own contract.
            unsafe {
                let function = next(&CACHE, NAME);
                transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(function)($($argument),*)
            }
        })*
    };
}

/// The value of a socket's option, or `None` for a descriptor that does not have it. `value` is
/// written over.
///
/// # Safety
///
/// The option is of type `T`, and any bits are one.
pub(crate) unsafe fn option_of<T>(fd: c_int, level: c_int, name: c_int, mut value: T) -> Option<T> {
    let mut length = size_of::<T>() as socklen_t;
    // SAFETY: both places are ours, and no more than the room is written.
    let result = unsafe { getsockopt(fd, level, name, (&raw mut value).cast(), &raw mut length) };
    (result == 0).then_some(value)
}

real! {
    fn accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
    fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int;
    fn clock_nanosleep(clock: clockid_t, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int;
    fn close(fd: c_int) -> c_int;
    fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    fn dup(fd: c_int) -> c_int;
    fn dup2(fd: c_int, to: c_int) -> c_int;
    fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int;
    fn epoll_create1(flags: c_int) -> c_int;
    fn epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int;
    fn epoll_wait(epoll: c_int, events: *mut epoll_event, room: c_int, timeout: c_int) -> c_int;
    fn eventfd(count: c_uint, flags: c_int) -> c_int;
    fn exit(status: c_int) -> !;
    fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int;
    fn fork() -> c_int;
    fn freeaddrinfo(list: *mut addrinfo) -> ();
    fn getaddrinfo(node: *const c_char, service: *const c_char, hints: *const addrinfo, list: *mut *mut addrinfo)
        -> c_int;
    fn gethostname(name: *mut c_char, length: size_t) -> c_int;
    fn getauxval(kind: std::ffi::c_ulong) -> std::ffi::c_ulong;
    fn getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn getpid() -> libc::pid_t;
    fn getppid() -> libc::pid_t;
    fn gettid() -> libc::pid_t;
    fn sched_getcpu() -> c_int;
    fn sched_setaffinity(process: libc::pid_t, size: size_t, set: *const libc::cpu_set_t) -> c_int;
    fn kill(process: libc::pid_t, signal: c_int) -> c_int;
    fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int;
    fn flock(fd: c_int, operation: c_int) -> c_int;
    fn splice(from: c_int, at: *mut libc::off64_t, to: c_int, to_at: *mut libc::off64_t, length: size_t, flags: c_uint) -> ssize_t;
    fn copy_file_range(from: c_int, at: *mut libc::off64_t, to: c_int, to_at: *mut libc::off64_t, length: size_t, flags: c_uint) -> ssize_t;
    fn sendfile(to: c_int, from: c_int, at: *mut libc::off_t, count: size_t) -> ssize_t;
    fn sendfile64(to: c_int, from: c_int, at: *mut libc::off64_t, count: size_t) -> ssize_t;
    fn getrandom(into: *mut c_void, length: size_t, flags: c_uint) -> ssize_t;
    fn getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int;
    fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int;
    fn ioctl(fd: c_int, request: std::ffi::c_ulong, argument: *mut c_void) -> c_int;
    fn listen(fd: c_int, backlog: c_int) -> c_int;
    fn open64(path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
    fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int;
    fn pipe2(fds: *mut c_int, flags: c_int) -> c_int;
    fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int;
    fn posix_spawn(process: *mut libc::pid_t, path: *const c_char, actions: *const c_void,
        attributes: *const c_void, arguments: *const *mut c_char, environment: *const *mut c_char) -> c_int;
    fn posix_spawnp(process: *mut libc::pid_t, file: *const c_char, actions: *const c_void,
        attributes: *const c_void, arguments: *const *mut c_char, environment: *const *mut c_char) -> c_int;
    fn pthread_create(thread: *mut pthread_t, attributes: *const pthread_attr_t, start: Start, argument: *mut c_void)
        -> c_int;
    fn pthread_detach(thread: pthread_t) -> c_int;
    fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
    fn pthread_getname_np(thread: pthread_t, name: *mut c_char, length: size_t) -> c_int;
    fn pthread_setname_np(thread: pthread_t, name: *const c_char) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int;
    fn raise(signal: c_int) -> c_int;
    fn read(fd: c_int, into: *mut c_void, length: size_t) -> ssize_t;
    fn readlink(path: *const c_char, into: *mut c_char, length: size_t) -> ssize_t;
    fn readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    fn recvfrom(fd: c_int, into: *mut c_void, length: size_t, flags: c_int, address: *mut sockaddr,
        address_length: *mut socklen_t) -> ssize_t;
    fn recvmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec) -> c_int;
    fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    fn sched_getaffinity(process: c_int, size: size_t, set: *mut libc::cpu_set_t) -> c_int;
    fn sched_yield() -> c_int;
    fn sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int;
    fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
    fn sendto(fd: c_int, from: *const c_void, length: size_t, flags: c_int, address: *const sockaddr,
        address_length: socklen_t) -> ssize_t;
    fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int;
    fn sigprocmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int;
    fn setegid(group: gid_t) -> c_int;
    fn seteuid(user: uid_t) -> c_int;
    fn setgid(group: gid_t) -> c_int;
    fn setgroups(count: size_t, groups: *const gid_t) -> c_int;
    fn setns(fd: c_int, kind: c_int) -> c_int;
    fn setregid(real: gid_t, effective: gid_t) -> c_int;
    fn setresgid(real: gid_t, effective: gid_t, saved: gid_t) -> c_int;
    fn setresuid(real: uid_t, effective: uid_t, saved: uid_t) -> c_int;
    fn setreuid(real: uid_t, effective: uid_t) -> c_int;
    fn setuid(user: uid_t) -> c_int;
    fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int;
    fn shutdown(fd: c_int, how: c_int) -> c_int;
    fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int;
    fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t;
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    fn socketpair(domain: c_int, kind: c_int, protocol: c_int, fds: *mut c_int) -> c_int;
    fn syscall(number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long;
    fn sysconf(name: c_int) -> c_long;
    fn time(into: *mut time_t) -> time_t;
    fn timerfd_create(clock: c_int, flags: c_int) -> c_int;
    fn timerfd_gettime(fd: c_int, now: *mut itimerspec) -> c_int;
    fn timerfd_settime(fd: c_int, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int;
    fn unlink(path: *const c_char) -> c_int;
    fn unshare(flags: c_int) -> c_int;
    fn write(fd: c_int, from: *const c_void, length: size_t) -> ssize_t;
    fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
}
