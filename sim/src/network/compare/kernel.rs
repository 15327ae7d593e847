//! The kernel's sockets: the calls of the scripts, made for real on descriptors with `O_NONBLOCK`.

use std::collections::BTreeMap;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::super::{Errno, SocketId, Transport, Version};
use super::MASK;

/// The kernel's side of a socket.
pub(super) struct Real(OwnedFd);

fn check(result: libc::c_int) -> Result<libc::c_int, Errno> {
    if result >= 0 { Ok(result) } else { Err(errno()) }
}

fn check_size(result: libc::ssize_t) -> Result<usize, Errno> {
    usize::try_from(result).map_err(|_| errno())
}

fn errno() -> Errno {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// An address with its length, as the kernel wants it.
fn raw(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zeros are a valid value of both kinds of address, and both fit into the storage.
    unsafe {
        let mut storage: libc::sockaddr_storage = zeroed();
        let length = match address {
            SocketAddr::V4(address) => {
                let mut to: libc::sockaddr_in = zeroed();
                to.sin_family = libc::AF_INET as libc::sa_family_t;
                to.sin_port = address.port().to_be();
                to.sin_addr.s_addr = address.ip().to_bits().to_be();
                (&raw mut storage).cast::<libc::sockaddr_in>().write(to);
                size_of::<libc::sockaddr_in>()
            }
            SocketAddr::V6(address) => {
                let mut to: libc::sockaddr_in6 = zeroed();
                to.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                to.sin6_port = address.port().to_be();
                to.sin6_addr.s6_addr = address.ip().octets();
                (&raw mut storage).cast::<libc::sockaddr_in6>().write(to);
                size_of::<libc::sockaddr_in6>()
            }
        };
        (storage, length as libc::socklen_t)
    }
}

fn address_of(storage: &libc::sockaddr_storage) -> SocketAddr {
    if i32::from(storage.ss_family) == libc::AF_INET {
        // SAFETY: the family says which kind of address it is.
        let from = unsafe { &*(&raw const *storage).cast::<libc::sockaddr_in>() };
        let ip = Ipv4Addr::from_bits(u32::from_be(from.sin_addr.s_addr));
        return SocketAddr::new(IpAddr::V4(ip), u16::from_be(from.sin_port));
    }
    // SAFETY: scripts use two families only.
    let from = unsafe { &*(&raw const *storage).cast::<libc::sockaddr_in6>() };
    SocketAddr::new(
        IpAddr::V6(Ipv6Addr::from(from.sin6_addr.s6_addr)),
        u16::from_be(from.sin6_port),
    )
}

/// Calls a function that fills in an address.
fn with_address(
    call: impl FnOnce(*mut libc::sockaddr, *mut libc::socklen_t) -> i64,
) -> Result<(i64, SocketAddr), Errno> {
    // SAFETY: all zeros are a valid address.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    let result = call((&raw mut storage).cast(), &raw mut length);
    if result < 0 { Err(errno()) } else { Ok((result, address_of(&storage))) }
}

// SAFETY of the calls below: the descriptor is open, and each pointer is valid for the length
// beside it.
impl Real {
    pub(super) fn new(version: Version, transport: Transport) -> Self {
        let family = if version == Version::V4 { libc::AF_INET } else { libc::AF_INET6 };
        let kind =
            if transport == Transport::Stream { libc::SOCK_STREAM } else { libc::SOCK_DGRAM };
        let fd = check(unsafe {
            libc::socket(family, kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0)
        });
        let real = Real(unsafe { OwnedFd::from_raw_fd(fd.unwrap()) });
        if transport == Transport::Stream {
            real.set(libc::IPPROTO_TCP, libc::TCP_NODELAY, &1);
        }
        real
    }

    pub(super) fn fd(&self) -> libc::c_int {
        self.0.as_raw_fd()
    }

    pub(super) fn set<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) {
        let length = size_of::<T>() as libc::socklen_t;
        check(unsafe {
            libc::setsockopt(self.fd(), level, name, (&raw const *value).cast(), length)
        })
        .unwrap();
    }

    pub(super) fn bind(&self, address: SocketAddr, reuse: bool) -> Result<(), Errno> {
        self.set(libc::SOL_SOCKET, libc::SO_REUSEADDR, &i32::from(reuse));
        let (address, length) = raw(address);
        check(unsafe { libc::bind(self.fd(), (&raw const address).cast(), length) }).map(drop)
    }

    pub(super) fn listen(&self, backlog: i32) -> Result<(), Errno> {
        check(unsafe { libc::listen(self.fd(), backlog) }).map(drop)
    }

    pub(super) fn connect(&self, address: SocketAddr) -> Result<(), Errno> {
        let (address, length) = raw(address);
        check(unsafe { libc::connect(self.fd(), (&raw const address).cast(), length) }).map(drop)
    }

    pub(super) fn disconnect(&self) {
        let mut address = raw(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0));
        address.0.ss_family = libc::AF_UNSPEC as libc::sa_family_t;
        check(unsafe { libc::connect(self.fd(), (&raw const address.0).cast(), address.1) })
            .unwrap();
    }

    pub(super) fn accept(&self) -> Result<(Real, SocketAddr), Errno> {
        let (fd, address) = with_address(|address, length| {
            i64::from(unsafe { libc::accept4(self.fd(), address, length, libc::SOCK_NONBLOCK) })
        })?;
        Ok((Real(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) }), address))
    }

    pub(super) fn read(&self, into: &mut [u8], peek: bool) -> Result<usize, Errno> {
        let flags = if peek { libc::MSG_PEEK } else { 0 };
        check_size(unsafe { libc::recv(self.fd(), into.as_mut_ptr().cast(), into.len(), flags) })
    }

    pub(super) fn receive_from(
        &self,
        into: &mut [u8],
        peek: bool,
    ) -> Result<(usize, usize, SocketAddr), Errno> {
        let flags = libc::MSG_TRUNC | if peek { libc::MSG_PEEK } else { 0 };
        let (full, from) = with_address(|address, length| {
            let data = into.as_mut_ptr().cast();
            (unsafe { libc::recvfrom(self.fd(), data, into.len(), flags, address, length) }) as i64
        })?;
        Ok((into.len().min(full as usize), full as usize, from))
    }

    pub(super) fn send(&self, data: &[u8], to: Option<SocketAddr>) -> Result<usize, Errno> {
        let to = to.map(raw);
        let (address, length) =
            to.as_ref().map_or((std::ptr::null(), 0), |(to, length)| (&raw const *to, *length));
        let flags = libc::MSG_NOSIGNAL;
        let (start, count) = (data.as_ptr().cast(), data.len());
        check_size(unsafe { libc::sendto(self.fd(), start, count, flags, address.cast(), length) })
    }

    pub(super) fn shutdown(&self, read: bool, write: bool) -> Result<(), Errno> {
        let how = match (read, write) {
            (true, true) => libc::SHUT_RDWR,
            (true, false) => libc::SHUT_RD,
            _ => libc::SHUT_WR,
        };
        check(unsafe { libc::shutdown(self.fd(), how) }).map(drop)
    }

    pub(super) fn readiness(&self) -> u32 {
        let wanted = libc::POLLIN | libc::POLLOUT | libc::POLLRDHUP;
        let mut poll = libc::pollfd { fd: self.fd(), events: wanted, revents: 0 };
        check(unsafe { libc::poll(&raw mut poll, 1, 0) }).unwrap();
        u32::from(poll.revents as u16)
    }

    pub(super) fn take_error(&self) -> Errno {
        let (mut error, mut length) = (0, size_of::<Errno>() as libc::socklen_t);
        let (level, name) = (libc::SOL_SOCKET, libc::SO_ERROR);
        check(unsafe {
            libc::getsockopt(self.fd(), level, name, (&raw mut error).cast(), &raw mut length)
        })
        .unwrap();
        error
    }

    pub(super) fn unread(&self) -> Option<usize> {
        let mut count: libc::c_int = 0;
        check(unsafe { libc::ioctl(self.fd(), libc::FIONREAD, &raw mut count) })
            .ok()
            .map(|_| count as usize)
    }

    pub(super) fn local_address(&self) -> SocketAddr {
        with_address(|address, length| {
            i64::from(unsafe { libc::getsockname(self.fd(), address, length) })
        })
        .unwrap()
        .1
    }

    pub(super) fn peer_address(&self) -> Option<SocketAddr> {
        let call =
            |address, length| i64::from(unsafe { libc::getpeername(self.fd(), address, length) });
        with_address(call).ok().map(|(_, address)| address)
    }
}

/// The kernel's edge-triggered epoll.
pub(super) struct Epoll(OwnedFd);

impl Epoll {
    pub(super) fn new() -> Self {
        // SAFETY: the descriptor is new and has no other owner.
        Epoll(unsafe {
            OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC)).unwrap())
        })
    }

    pub(super) fn add(&self, real: &Real, model: SocketId) {
        let mut event =
            libc::epoll_event { events: MASK | libc::EPOLLET as u32, u64: model.0 as u64 };
        let (epoll, fd) = (self.0.as_raw_fd(), real.fd());
        // SAFETY: both descriptors are open, and the event lives for the call.
        check(unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event) }).unwrap();
    }

    pub(super) fn take(&self, into: &mut BTreeMap<SocketId, u32>) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 32];
        // SAFETY: the kernel writes at most 32 events.
        let count =
            check(unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), 32, 0) })
                .unwrap();
        for event in &events[..count as usize] {
            *into.entry(SocketId(event.u64 as usize)).or_default() |= event.events;
        }
    }
}
