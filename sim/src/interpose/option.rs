//! Options of sockets. The kernel keeps them; we answer for what it cannot know.

use std::ffi::{c_int, c_void};

use libc::{
    ENOPROTOOPT, SO_ACCEPTCONN, SO_ERROR, SO_PEERCRED, SOL_SOCKET, SOL_UDP, UDP_GRO, UDP_SEGMENT,
    socklen_t,
};

use super::descriptor::object;
use super::fail;
use crate::objects::Kind;
use crate::objects::unix::{UnixSocket, UnixState};
use crate::real;
use crate::world::{lock, turn};

/// Whether an option asks the kernel to cut or join datagrams. A run's network does not, and
/// programs go on without.
fn is_batching(level: c_int, name: c_int) -> bool {
    level == SOL_UDP && matches!(name, UDP_SEGMENT | UDP_GRO)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((_, id)) = object(fd) else {
            return real::getsockopt(fd, level, name, value, length);
        };
        if is_batching(level, name) {
            return fail(ENOPROTOOPT);
        }
        let mut world = lock();
        let ours = match world.kind_mut(id) {
            Ok(Kind::Socket(socket)) => {
                let socket = *socket;
                match (level, name) {
                    (SOL_SOCKET, SO_ERROR) => number(world.network.take_error(socket)),
                    (SOL_SOCKET, SO_ACCEPTCONN) => {
                        number(world.network.is_listening(socket).into())
                    }
                    _ => None,
                }
            }
            Ok(Kind::Unix(socket)) => of_unix(socket, level, name),
            _ => None,
        };
        drop(world);
        let ours = match ours {
            Some(Answer::Number(number)) => number.to_ne_bytes().to_vec(),
            Some(Answer::Peer) => this_process(),
            None => return real::getsockopt(fd, level, name, value, length),
        };
        let room = (*length as usize).min(ours.len());
        value.cast::<u8>().copy_from_nonoverlapping(ours.as_ptr(), room);
        *length = room as socklen_t;
        0
    }
}

enum Answer {
    Number(c_int),
    /// The process at the other end.
    Peer,
}

fn number(number: c_int) -> Option<Answer> {
    Some(Answer::Number(number))
}

fn of_unix(socket: &mut UnixSocket, level: c_int, name: c_int) -> Option<Answer> {
    match (level, name) {
        (SOL_SOCKET, SO_ERROR) => number(std::mem::take(&mut socket.error)),
        (SOL_SOCKET, SO_ACCEPTCONN) => {
            number(matches!(socket.state, UnixState::Listening { .. }).into())
        }
        (SOL_SOCKET, SO_PEERCRED) if socket.is_connected() => Some(Answer::Peer),
        _ => None,
    }
}

/// The peer of a Unix socket is a socket of the same host, which is one process.
fn this_process() -> Vec<u8> {
    // SAFETY: the calls take no arguments.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let process = super::process::process().unwrap_or(0);
    [process.to_ne_bytes(), user.to_ne_bytes(), group.to_ne_bytes()].concat()
}

/// The options that an accepted TCP socket has of its listener, each with the size of its value.
const INHERITED: [(c_int, c_int, usize); 14] = [
    (SOL_SOCKET, libc::SO_LINGER, size_of::<libc::linger>()),
    (SOL_SOCKET, libc::SO_KEEPALIVE, size_of::<c_int>()),
    (SOL_SOCKET, libc::SO_RCVTIMEO, size_of::<libc::timeval>()),
    (SOL_SOCKET, libc::SO_SNDTIMEO, size_of::<libc::timeval>()),
    (SOL_SOCKET, libc::SO_REUSEADDR, size_of::<c_int>()),
    (SOL_SOCKET, libc::SO_REUSEPORT, size_of::<c_int>()),
    (SOL_SOCKET, libc::SO_OOBINLINE, size_of::<c_int>()),
    (libc::IPPROTO_IP, libc::IP_TTL, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, size_of::<c_int>()),
    (libc::IPPROTO_TCP, libc::TCP_LINGER2, size_of::<c_int>()),
];

/// Gives the accepted socket what the kernel would give it. A value that is none stays away.
pub(super) fn inherit(listener: c_int, accepted: c_int) {
    for (level, name, size) in INHERITED {
        let mut value = [0_u64; 2];
        let mut length = size as socklen_t;
        let place = (&raw mut value).cast::<c_void>();
        // SAFETY: the place has room for the value of each option.
        unsafe {
            if real::getsockopt(listener, level, name, place, &raw mut length) == 0 {
                real::setsockopt(accepted, level, name, place, length);
            }
        }
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    turn::end_if_doomed();
    if is_batching(level, name) && object(fd).is_some() {
        return fail(ENOPROTOOPT);
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::setsockopt(fd, level, name, value, length) }
}
