//! Making sockets, and connecting them.

use std::ffi::c_int;

use libc::{
    AF_INET, AF_INET6, AF_UNIX, AF_UNSPEC, EAFNOSUPPORT, EAGAIN, EINPROGRESS, EINVAL, ENOTCONN,
    ENOTSOCK, EOPNOTSUPP, IPPROTO_IPV6, IPV6_V6ONLY, SHUT_RD, SHUT_RDWR, SHUT_WR, SO_RCVTIMEO,
    SO_REUSEADDR, SO_REUSEPORT, SO_SNDTIMEO, SOCK_CLOEXEC, SOCK_DGRAM, SOCK_NONBLOCK,
    SOCK_SEQPACKET, SOCK_STREAM, SOL_SOCKET, sockaddr, socklen_t,
};

use super::address::{self, Address};
use super::descriptor::{is_nonblocking, object};
use super::option::inherit;
use super::transfer::Call;
use super::{answer, fail};
use crate::network::{Errno, Transport, Version};
use crate::objects::unix::UnixSocket;
use crate::objects::{ERR, HUP, Kind, OUT, ObjectId};
use crate::real;
use crate::world::actor::ActorId;
use crate::world::{World, lock, turn};

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        if turn::step().is_none() {
            return real::socket(domain, kind, protocol);
        }
        if !matches!(domain, AF_INET | AF_INET6 | AF_UNIX) {
            return fail(EAFNOSUPPORT);
        }
        let fd = real::socket(domain, kind, protocol);
        if fd < 0 {
            return fd;
        }
        let made = lock().add_socket(fd, domain, kind & !(SOCK_CLOEXEC | SOCK_NONBLOCK));
        if let Err(errno) = made {
            real::close(fd);
            return fail(errno);
        }
        fd
    }
}

impl World {
    fn add_socket(&mut self, fd: c_int, domain: c_int, kind: c_int) -> Result<ObjectId, Errno> {
        if domain == AF_UNIX {
            let socket = UnixSocket::of_type(kind).ok_or(EAFNOSUPPORT)?;
            return Ok(self.add_object(fd, Kind::Unix(socket)));
        }
        let transport = match kind {
            SOCK_STREAM => Transport::Stream,
            SOCK_DGRAM => Transport::Datagram,
            _ => return Err(EAFNOSUPPORT),
        };
        let version = if domain == AF_INET { Version::V4 } else { Version::V6 };
        let host = self.hosts[self.running_host()].network;
        let socket = self.network.socket(host, version, transport);
        Ok(self.add_object(fd, Kind::Socket(socket)))
    }
}

/// The value of an option with a number, which the kernel keeps for us.
fn option(fd: c_int, level: c_int, name: c_int) -> bool {
    // SAFETY: the options that are asked for are numbers.
    unsafe { real::option_of::<c_int>(fd, level, name, 0) }.is_some_and(|value| value != 0)
}

/// Whether others may have the same address, and the same address at the same time.
fn reuse_of(fd: c_int) -> (bool, bool) {
    (option(fd, SOL_SOCKET, SO_REUSEADDR), option(fd, SOL_SOCKET, SO_REUSEPORT))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn bind(fd: c_int, to: *const sockaddr, length: socklen_t) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((_, id)) = object(fd) else { return real::bind(fd, to, length) };
        let to = match address::read(to, length) {
            Ok(to) => to,
            Err(errno) => return fail(errno),
        };
        answer(bind_to(fd, id, to).map(|()| 0))
    }
}

fn bind_to(fd: c_int, id: ObjectId, to: Address) -> Result<(), Errno> {
    let mut world = lock();
    match to {
        Address::Unix(name) => world.bind_unix(id, name),
        Address::Internet(to) => {
            let socket = world.socket_of(id)?;
            world.network.set_only_v6(socket, option(fd, IPPROTO_IPV6, IPV6_V6ONLY));
            let (reuse_address, reuse_port) = reuse_of(fd);
            world.network.bind(socket, to, reuse_address, reuse_port)
        }
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    let Some((_, id)) = object(fd) else {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::listen(fd, backlog) };
    };
    let mut world = lock();
    let result = match world.kind_mut(id) {
        Ok(Kind::Unix(_)) => world.listen_unix(id, longest_queue(backlog)),
        Ok(Kind::Socket(socket)) => {
            let socket = *socket;
            let (address, port) = reuse_of(fd);
            world.network.set_reuse(socket, address, port);
            world.network.listen(socket, backlog)
        }
        _ => Err(ENOTSOCK),
    };
    answer(result.map(|()| 0))
}

/// The system reads the number without its sign, and has a greatest one: `net.core.somaxconn`.
fn longest_queue(backlog: c_int) -> usize {
    (backlog.cast_unsigned() as usize).min(4_096)
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn connect(
    fd: c_int,
    to: *const sockaddr,
    length: socklen_t,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((me, id)) = object(fd) else { return real::connect(fd, to, length) };
        if !to.is_null() && i32::from((*to).sa_family) == AF_UNSPEC {
            let mut world = lock();
            if matches!(world.kind_mut(id), Ok(Kind::Unix(_))) {
                return answer(world.connect_datagrams(id, None).map(|()| 0));
            }
            let socket = match world.socket_of(id) {
                Ok(socket) => socket,
                Err(errno) => return fail(errno),
            };
            world.network.disconnect(socket);
            return 0;
        }
        let to = match address::read(to, length) {
            Ok(to) => to,
            Err(errno) => return fail(errno),
        };
        answer(connect_to(me, fd, id, &to).map(|()| 0))
    }
}

fn connect_to(me: ActorId, fd: c_int, id: ObjectId, to: &Address) -> Result<(), Errno> {
    let to = match to {
        Address::Unix(name) => {
            // A blocking call waits for room in the queue.
            let call = Call { me, fd, id, flags: 0, bound: SO_SNDTIMEO };
            return call.run(lock(), |world| world.connect_unix(id, name));
        }
        Address::Internet(to) => *to,
    };
    let mut world = lock();
    let socket = world.socket_of(id)?;
    let (address, port) = reuse_of(fd);
    world.network.set_reuse(socket, address, port);
    match world.with_network(|network, moment| network.connect(moment, socket, to)) {
        Err(EINPROGRESS) if !is_nonblocking(&mut world, fd, id) => {}
        other => return other,
    }
    drop(world);
    // A blocking call waits for the answer, which is then the socket's error.
    let call = Call { me, fd, id, flags: 0, bound: SO_SNDTIMEO };
    let done = call.run(lock(), |world| match world.readiness(id) & (OUT | ERR | HUP) {
        0 => Err(EAGAIN),
        _ => match world.network.take_error(socket) {
            0 => Ok(()),
            errno => Err(errno),
        },
    });
    done.map_err(|errno| if errno == EAGAIN { EINPROGRESS } else { errno })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept(fd: c_int, from: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is the C library's, in which this is the other without flags.
    unsafe { accept4(fd, from, length, 0) }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn accept4(
    fd: c_int,
    from: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((me, id)) = object(fd) else { return real::accept4(fd, from, length, flags) };
        let call = Call { me, fd, id, flags: 0, bound: SO_RCVTIMEO };
        match accept_call(&call, flags) {
            Ok((accepted, peer)) => {
                address::write(&peer, from, length);
                accepted
            }
            Err(errno) => fail(errno),
        }
    }
}

fn accept_call(call: &Call, flags: c_int) -> Result<(c_int, Address), Errno> {
    let listener = call.id;
    let unix_type = match lock().kind_mut(listener)? {
        Kind::Unix(socket) if socket.has_packets => Some(SOCK_SEQPACKET),
        Kind::Unix(_) => Some(SOCK_STREAM),
        _ => None,
    };
    if let Some(kind) = unix_type {
        call.run(lock(), |world| world.can_accept_unix(listener))?;
        let fd = placeholder(AF_UNIX, kind | flags)?;
        let mut world = lock();
        let id = world.add_object(fd, Kind::Unix(UnixSocket::default()));
        world.accept_unix(listener, id)?;
        let Ok(Kind::Unix(socket)) = world.kind_mut(id) else { return Err(EINVAL) };
        let peer = Address::Unix(socket.peer_name.clone().unwrap_or_default());
        return Ok((fd, peer));
    }
    let (socket, peer) = call.run(lock(), |world| {
        let socket = world.socket_of(listener)?;
        world.with_network(|network, moment| network.accept(moment, socket))
    })?;
    let domain = if peer.is_ipv4() { AF_INET } else { AF_INET6 };
    let fd = match placeholder(domain, SOCK_STREAM | flags) {
        Ok(fd) => fd,
        Err(errno) => {
            lock().with_network(|network, moment| network.close(moment, socket, Some(0)));
            return Err(errno);
        }
    };
    inherit(call.fd, fd);
    lock().add_object(fd, Kind::Socket(socket));
    Ok((fd, Address::Internet(peer)))
}

/// The kernel's socket behind an accepted one.
fn placeholder(domain: c_int, kind: c_int) -> Result<c_int, Errno> {
    // SAFETY: the call takes no pointers, and the place of `errno` is this thread's.
    unsafe {
        let fd = real::socket(domain, kind, 0);
        if fd < 0 { Err(*libc::__errno_location()) } else { Ok(fd) }
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    let Some((_, id)) = object(fd) else {
        // SAFETY: the caller's contract is the C library's.
        return unsafe { real::shutdown(fd, how) };
    };
    let (read, write) = match how {
        SHUT_RD => (true, false),
        SHUT_WR => (false, true),
        SHUT_RDWR => (true, true),
        _ => return fail(EINVAL),
    };
    let mut world = lock();
    let result = match world.kind_mut(id) {
        Ok(Kind::Unix(_)) => world.shutdown_unix(id, read, write),
        Ok(Kind::Socket(socket)) => {
            let socket = *socket;
            world.with_network(|network, moment| network.shutdown(moment, socket, read, write))
        }
        _ => Err(ENOTSOCK),
    };
    answer(result.map(|()| 0))
}

fn local_name(id: ObjectId) -> Result<Address, Errno> {
    let mut world = lock();
    match world.kind_mut(id)? {
        Kind::Unix(socket) => Ok(Address::Unix(socket.name.clone().unwrap_or_default())),
        Kind::Socket(socket) => {
            let socket = *socket;
            Ok(Address::Internet(world.network.local_address(socket)))
        }
        _ => Err(ENOTSOCK),
    }
}

fn peer_name(id: ObjectId) -> Result<Address, Errno> {
    let mut world = lock();
    match world.kind_mut(id)? {
        Kind::Unix(socket) if socket.is_connected() => {
            Ok(Address::Unix(socket.peer_name.clone().unwrap_or_default()))
        }
        Kind::Unix(_) => Err(ENOTCONN),
        Kind::Socket(socket) => {
            let socket = *socket;
            world.network.peer_address(socket).map(Address::Internet).ok_or(ENOTCONN)
        }
        _ => Err(EOPNOTSUPP),
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getsockname(
    fd: c_int,
    into: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((_, id)) = object(fd) else { return real::getsockname(fd, into, length) };
        answer(local_name(id).map(|name| {
            address::write(&name, into, length);
            0
        }))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpeername(fd: c_int, into: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe { tell_peer(fd, into, length) }
}

/// `getpeername`, also for a program whose own function of that name makes the call by its number.
///
/// # Safety
///
/// As for the C library's `getpeername`.
pub(super) unsafe fn tell_peer(fd: c_int, into: *mut sockaddr, length: *mut socklen_t) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        let Some((_, id)) = object(fd) else { return real::getpeername(fd, into, length) };
        answer(peer_name(id).map(|name| {
            address::write(&name, into, length);
            0
        }))
    }
}
