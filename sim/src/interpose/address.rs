//! Addresses between the system's form and Rust's.

use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use libc::{
    AF_INET, AF_INET6, AF_UNIX, EAFNOSUPPORT, EINVAL, in_addr, in6_addr, sa_family_t, sockaddr,
    sockaddr_in, sockaddr_in6, sockaddr_un, socklen_t,
};

use crate::network::Errno;

pub(super) enum Address {
    Internet(SocketAddr),
    /// The bytes of `sun_path` that count. Empty for a socket without a name.
    Unix(Vec<u8>),
}

/// # Safety
///
/// `address` points to `length` readable bytes.
pub(super) unsafe fn read(address: *const sockaddr, length: socklen_t) -> Result<Address, Errno> {
    if address.is_null() || (length as usize) < size_of::<sa_family_t>() {
        return Err(EINVAL);
    }
    // SAFETY: the family is there, and each branch reads no more than `length` bytes.
    unsafe {
        match i32::from((*address).sa_family) {
            AF_INET if length as usize >= size_of::<sockaddr_in>() => {
                let it = address.cast::<sockaddr_in>().read_unaligned();
                let ip = Ipv4Addr::from(it.sin_addr.s_addr.to_ne_bytes());
                Ok(Address::Internet(SocketAddrV4::new(ip, u16::from_be(it.sin_port)).into()))
            }
            AF_INET6 if length as usize >= size_of::<sockaddr_in6>() => {
                let it = address.cast::<sockaddr_in6>().read_unaligned();
                let ip = Ipv6Addr::from(it.sin6_addr.s6_addr);
                let port = u16::from_be(it.sin6_port);
                Ok(Address::Internet(
                    SocketAddrV6::new(ip, port, it.sin6_flowinfo, it.sin6_scope_id).into(),
                ))
            }
            AF_UNIX => {
                let offset = size_of::<sa_family_t>();
                let bytes = std::slice::from_raw_parts(
                    address.cast::<u8>().add(offset),
                    length as usize - offset,
                );
                let is_path = bytes.first().is_some_and(|first| *first != 0);
                let end = if is_path { bytes.iter().position(|byte| *byte == 0) } else { None };
                Ok(Address::Unix(bytes[..end.unwrap_or(bytes.len())].to_vec()))
            }
            AF_INET | AF_INET6 => Err(EINVAL),
            _ => Err(EAFNOSUPPORT),
        }
    }
}

/// Writes as much of `address` as there is room for, and its whole length.
///
/// # Safety
///
/// `into` and `length` are null, or `length` is valid and `into` has so many bytes of room.
pub(super) unsafe fn write(address: &Address, into: *mut sockaddr, length: *mut socklen_t) {
    if into.is_null() || length.is_null() {
        return;
    }
    let bytes = bytes_of(address);
    // SAFETY: no more than the room is written.
    unsafe {
        let room = *length as usize;
        into.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len().min(room));
        *length = bytes.len() as socklen_t;
    }
}

/// The system's form of `address`.
pub(super) fn bytes_of(address: &Address) -> Vec<u8> {
    match address {
        Address::Internet(SocketAddr::V4(it)) => raw(&sockaddr_in {
            sin_family: AF_INET as sa_family_t,
            sin_port: it.port().to_be(),
            sin_addr: in_addr { s_addr: u32::from_ne_bytes(it.ip().octets()) },
            sin_zero: [0; 8],
        }),
        Address::Internet(SocketAddr::V6(it)) => raw(&sockaddr_in6 {
            sin6_family: AF_INET6 as sa_family_t,
            sin6_port: it.port().to_be(),
            sin6_flowinfo: it.flowinfo(),
            sin6_addr: in6_addr { s6_addr: it.ip().octets() },
            sin6_scope_id: it.scope_id(),
        }),
        Address::Unix(name) => {
            let mut it = MaybeUninit::<sockaddr_un>::zeroed();
            // SAFETY: all zeros are a valid value, and the name came out of such an address.
            let it = unsafe {
                (*it.as_mut_ptr()).sun_family = AF_UNIX as sa_family_t;
                it.assume_init()
            };
            let mut bytes = raw(&it);
            let offset = size_of::<sa_family_t>();
            bytes.truncate(offset);
            bytes.extend_from_slice(name);
            // A path is counted with the zero byte behind it.
            if name.first().is_some_and(|first| *first != 0) {
                bytes.push(0);
            }
            bytes
        }
    }
}

fn raw<T>(value: &T) -> Vec<u8> {
    // SAFETY: the callers' types are made of integers without padding between them.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of::<T>()) }
        .to_vec()
}
