//! What the sockets of this process lead to, as Linux tells it under `/proc`. Elsewhere nothing is known.
//!
//! Rejected: `getpeername`, which has to be called while the descriptor cannot be closed, and so under a
//! lock.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The tables of the system, in the order in which they are read. To read one takes a millisecond and more,
/// because the system goes through the sockets of all its processes.
const TABLES: [&str; 4] = ["tcp", "udp", "tcp6", "udp6"];

/// What descriptors lead to. Made for one dump: each table of the system is read once, when a socket is not
/// in those that have been read before.
#[derive(Debug, Default)]
pub(super) struct Targets {
    /// By the numbers of the sockets in the system.
    sockets: HashMap<u64, Socket>,
    /// How many of the tables have been read.
    read: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Socket {
    /// The other end; its own address if it has none, as one that listens.
    address: SocketAddr,
    /// A TCP connection that is open on both sides.
    is_open: bool,
}

impl Targets {
    /// Whether the descriptor is that of a TCP connection whose other end has not closed.
    pub(super) fn is_connection(&mut self, descriptor: i32) -> bool {
        let number = target(descriptor).as_deref().and_then(number);
        number.and_then(|number| self.socket(number)).is_some_and(|socket| socket.is_open)
    }

    pub(super) fn of(&mut self, descriptor: i32) -> Option<String> {
        let target = target(descriptor)?;
        let socket = number(&target).and_then(|number| self.socket(number));
        Some(socket.map_or(target, |socket| socket.address.to_string()))
    }

    fn socket(&mut self, number: u64) -> Option<Socket> {
        loop {
            if let Some(socket) = self.sockets.get(&number) {
                return Some(*socket);
            }
            let table = TABLES.get(self.read)?;
            self.read += 1;
            let is_tcp = table.starts_with("tcp");
            let lines = fs::read_to_string(format!("/proc/self/net/{table}")).unwrap_or_default();
            self.sockets.extend(lines.lines().skip(1).filter_map(|text| line(text, is_tcp)));
        }
    }
}

fn target(descriptor: i32) -> Option<String> {
    let target = fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
    Some(target.display().to_string())
}

/// The number of a socket from what its descriptor leads to.
fn number(target: &str) -> Option<u64> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// The number of a socket, and the socket.
fn line(line: &str, is_tcp: bool) -> Option<(u64, Socket)> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (own, peer) = (address(words.next()?)?, address(words.next()?)?);
    // TCP_ESTABLISHED.
    let is_open = is_tcp && words.next()? == "01";
    let number = words.nth(if is_tcp { 5 } else { 6 })?.parse().ok()?;
    Some((number, Socket { address: if peer.port() == 0 { own } else { peer }, is_open }))
}

/// An address as the kernel prints it: words of four bytes, each in the machine's order.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |index: usize| {
        let word = u32::from_str_radix(address.get(8 * index..8 * index + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let address = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let mut bytes = [0; 16];
            bytes.chunks_mut(4).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word));
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(all(test, target_endian = "little"))]
mod tests {
    use super::line;

    #[test]
    fn lines_are_read_as_the_kernel_writes_them() {
        let seen = |text: &str, is_tcp| {
            line(text, is_tcp)
                .map(|(number, socket)| (number, socket.address.to_string(), socket.is_open))
        };
        let connected = "   0: 0100007F:1F90 0100007F:1267 01 00000000:00000000 00:00000000 00000000 \
                         1000 0 31969 1 0000000000000000 20 4 30 10 -1";
        assert_eq!(seen(connected, true), Some((31969, "127.0.0.1:4711".into(), true)));
        assert_eq!(seen(connected, false), Some((31969, "127.0.0.1:4711".into(), false)));
        let listens = "   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 \
                       0 7 1";
        assert_eq!(seen(listens, true), Some((7, "0.0.0.0:22".into(), false)));
        let six = "0: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:1267 01 \
                   0:0 00:0 0 1000 0 5 1";
        assert_eq!(seen(six, true), Some((5, "[::1]:4711".into(), true)));
        for nothing in ["", "0: x y", "  sl  local_address rem_address"] {
            assert_eq!(seen(nothing, true), None);
        }
    }
}
