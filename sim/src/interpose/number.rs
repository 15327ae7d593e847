//! Calls on descriptors that a program makes by their numbers, past the C library's functions.

use std::ffi::{c_int, c_long};

use libc::{iovec, msghdr, sockaddr, socklen_t};

use super::{descriptor, epoll, option, pair, socket, transfer};

/// What the function of this name returns, in the form of `syscall`.
macro_rules! calls {
    ($number:expr; $($call:ident => $function:path [$($argument:expr),*];)*) => {
        $(if $number == libc::$call {
            return Some($function($($argument as _),*) as c_long);
        })*
    };
}

/// Answers the call, if it is one on descriptors.
///
/// # Safety
///
/// The arguments are what the call of this number takes.
pub(super) unsafe fn answered(number: c_long, arguments: [c_long; 6]) -> Option<c_long> {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: as above; the functions take what the calls take.
    unsafe {
        calls! { number;
            SYS_read => transfer::read[a, b, c];
            SYS_write => transfer::write[a, b, c];
            SYS_readv => transfer::readv[a, b as *const iovec, c];
            SYS_writev => transfer::writev[a, b as *const iovec, c];
            SYS_recvfrom => transfer::recvfrom[a, b, c, d, e as *mut sockaddr, f];
            SYS_sendto => transfer::sendto[a, b, c, d, e as *const sockaddr, f as socklen_t];
            SYS_recvmsg => transfer::recvmsg[a, b as *mut msghdr, c];
            SYS_sendmsg => transfer::sendmsg[a, b as *const msghdr, c];
            SYS_socket => socket::socket[a, b, c];
            SYS_socketpair => pair::socketpair[a, b, c, d as *mut c_int];
            SYS_bind => socket::bind[a, b as *const sockaddr, c as socklen_t];
            SYS_listen => socket::listen[a, b];
            SYS_connect => socket::connect[a, b as *const sockaddr, c as socklen_t];
            SYS_accept4 => socket::accept4[a, b as *mut sockaddr, c as *mut socklen_t, d];
            SYS_shutdown => socket::shutdown[a, b];
            SYS_getsockname => socket::getsockname[a, b as *mut sockaddr, c as *mut socklen_t];
            SYS_getpeername => socket::tell_peer[a, b as *mut sockaddr, c as *mut socklen_t];
            SYS_getsockopt => option::getsockopt[a, b, c, d, e as *mut socklen_t];
            SYS_setsockopt => option::setsockopt[a, b, c, d, e as socklen_t];
            SYS_close => descriptor::close[a];
            SYS_dup => descriptor::dup[a];
            SYS_dup3 => descriptor::dup3[a, b, c];
            SYS_pipe2 => pair::pipe2[a as *mut c_int, b];
            SYS_eventfd2 => pair::eventfd[a, b];
            SYS_epoll_create1 => epoll::epoll_create1[a];
            SYS_epoll_ctl => epoll::epoll_ctl[a, b, c, d];
            SYS_epoll_pwait => epoll::epoll_pwait[a, b, c, d, std::ptr::null()];
        }
    }
    None
}
