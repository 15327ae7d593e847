//! What a program asks of its machine: names, addresses, processors, randomness.

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::mem::zeroed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ptr::null_mut;
use std::slice;

use libc::{
    _SC_NPROCESSORS_CONF, _SC_NPROCESSORS_ONLN, AF_INET, AF_INET6, AF_UNSPEC, AI_PASSIVE, CPU_SET,
    EAI_NONAME, EAI_SERVICE, EINVAL, ENAMETOOLONG, IPPROTO_TCP, IPPROTO_UDP, SOCK_DGRAM,
    SOCK_STREAM, addrinfo, cpu_set_t, size_t, ssize_t,
};

use super::address::{Address, bytes_of};
use super::fail;
use crate::choices::Kind;
use crate::real;
use crate::world::actor::current;
use crate::world::{World, lock, turn};

/// An entry of a list, in one allocation, so that the list is freed by its own pointers alone.
#[repr(C)]
struct Entry {
    info: addrinfo,
    /// Room for the larger of both forms.
    address: [u8; 28],
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getaddrinfo(
    node: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    list: *mut *mut addrinfo,
) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        if turn::step().is_none() {
            return real::getaddrinfo(node, service, hints, list);
        }
        let text =
            |text: *const c_char| (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy());
        let (family, kind, flags) = match hints.as_ref() {
            Some(hints) => (hints.ai_family, hints.ai_socktype, hints.ai_flags),
            None => (AF_UNSPEC, 0, 0),
        };
        let Ok(port) = text(service).map_or(Ok(0), |service| service.parse::<u16>()) else {
            return EAI_SERVICE;
        };
        let found = match text(node) {
            Some(name) => lock().look_up(&name),
            None if flags & AI_PASSIVE != 0 => {
                vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()]
            }
            None => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
        };
        let wanted = |ip: &IpAddr| family == AF_UNSPEC || (family == AF_INET) == ip.is_ipv4();
        let addresses: Vec<SocketAddr> =
            found.into_iter().filter(wanted).map(|ip| (ip, port).into()).collect();
        if addresses.is_empty() {
            return EAI_NONAME;
        }
        list.write(list_of(&addresses, kind));
        0
    }
}

impl World {
    /// The addresses of a name, as the running host knows them.
    fn look_up(&self, name: &str) -> Vec<IpAddr> {
        if let Ok(ip) = name.parse::<IpAddr>() {
            return vec![ip];
        }
        if name == "localhost" {
            return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        }
        let host = self.network.host_named(name.trim_end_matches('.'));
        host.map(|host| self.network.addresses(host).to_vec()).unwrap_or_default()
    }
}

/// A list as `getaddrinfo` gives it: an entry for each address and kind of socket.
fn list_of(addresses: &[SocketAddr], kind: c_int) -> *mut addrinfo {
    let kinds: &[(c_int, c_int)] = match kind {
        SOCK_STREAM => &[(SOCK_STREAM, IPPROTO_TCP)],
        SOCK_DGRAM => &[(SOCK_DGRAM, IPPROTO_UDP)],
        _ => &[(SOCK_STREAM, IPPROTO_TCP), (SOCK_DGRAM, IPPROTO_UDP)],
    };
    let mut next = null_mut();
    for address in addresses.iter().rev() {
        for (kind, protocol) in kinds.iter().rev() {
            let bytes = bytes_of(&Address::Internet(*address));
            // SAFETY: all zeros are a valid value.
            let mut entry = Box::new(Entry { info: unsafe { zeroed() }, address: [0; 28] });
            entry.address[..bytes.len()].copy_from_slice(&bytes);
            entry.info.ai_family = if address.is_ipv4() { AF_INET } else { AF_INET6 };
            entry.info.ai_socktype = *kind;
            entry.info.ai_protocol = *protocol;
            entry.info.ai_addrlen = bytes.len() as u32;
            entry.info.ai_next = next;
            let entry = Box::into_raw(entry);
            // SAFETY: the entry is ours; the pointer is into the same allocation and lives as long.
            unsafe { (*entry).info.ai_addr = (&raw mut (*entry).address).cast() };
            next = entry.cast();
        }
    }
    next
}

#[unsafe(no_mangle)]
unsafe extern "C" fn freeaddrinfo(list: *mut addrinfo) {
    // SAFETY: the caller's contract is the C library's. A thread of the run only has lists of ours.
    unsafe {
        if current().is_none() {
            return real::freeaddrinfo(list);
        }
        let mut next = list;
        while !next.is_null() {
            let entry = Box::from_raw(next.cast::<Entry>());
            next = entry.info.ai_next;
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gethostname(into: *mut c_char, length: size_t) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        if turn::step().is_none() {
            return real::gethostname(into, length);
        }
        let world = lock();
        let name = world.hosts[world.running_host()].name.as_bytes();
        if name.len() >= length {
            return fail(ENAMETOOLONG);
        }
        into.cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), name.len());
        into.add(name.len()).write(0);
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(process: c_int, size: size_t, set: *mut cpu_set_t) -> c_int {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        if turn::step().is_none() {
            return real::sched_getaffinity(process, size, set);
        }
        if size < size_of::<cpu_set_t>() {
            return fail(EINVAL);
        }
        let mut own: cpu_set_t = zeroed();
        let world = lock();
        (0..world.hosts[world.running_host()].cpus).for_each(|cpu| CPU_SET(cpu, &mut own));
        set.write(own);
        0
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sysconf(name: c_int) -> c_long {
    if matches!(name, _SC_NPROCESSORS_CONF | _SC_NPROCESSORS_ONLN) && current().is_some() {
        let world = lock();
        return world.hosts[world.running_host()].cpus as c_long;
    }
    // SAFETY: the call takes no pointers.
    unsafe { real::sysconf(name) }
}

/// # Safety
///
/// As for the C library's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn getrandom(
    into: *mut c_void,
    length: size_t,
    flags: c_uint,
) -> ssize_t {
    // SAFETY: the caller's contract is the C library's.
    unsafe {
        if turn::step_anywhere().is_none() {
            return real::getrandom(into, length, flags);
        }
        let mut draw = lock().draw_for_running(Kind::Random);
        for part in slice::from_raw_parts_mut(into.cast::<u8>(), length).chunks_mut(8) {
            part.copy_from_slice(&draw.next().to_ne_bytes()[..part.len()]);
        }
        length as ssize_t
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(into: *mut c_void, length: size_t) -> c_int {
    // SAFETY: the caller's contract is the C library's, in which this is the other without flags.
    unsafe { if getrandom(into, length, 0) == length as ssize_t { 0 } else { -1 } }
}
