//! Options of sockets. The kernel keeps them; we answer for what it cannot know.

use std::ffi::{c_int, c_void};

use libc::{
    ENOPROTOOPT, SO_ACCEPTCONN, SO_ERROR, SOL_SOCKET, SOL_UDP, UDP_GRO, UDP_SEGMENT, socklen_t,
};

use super::descriptor::object;
use super::fail;
use crate::objects::Kind;
use crate::real;
use crate::world::lock;

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
        let Ok(Kind::Socket(socket)) = world.kind_mut(id) else {
            return real::getsockopt(fd, level, name, value, length);
        };
        let socket = *socket;
        let ours = match (level, name) {
            (SOL_SOCKET, SO_ERROR) => world.network.take_error(socket),
            (SOL_SOCKET, SO_ACCEPTCONN) => world.network.is_listening(socket).into(),
            _ => return real::getsockopt(fd, level, name, value, length),
        };
        let room = (*length as usize).min(size_of::<c_int>());
        value.cast::<u8>().copy_from_nonoverlapping(ours.to_ne_bytes().as_ptr(), room);
        *length = room as socklen_t;
        0
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
    if is_batching(level, name) && object(fd).is_some() {
        return fail(ENOPROTOOPT);
    }
    // SAFETY: the caller's contract is the C library's.
    unsafe { real::setsockopt(fd, level, name, value, length) }
}
