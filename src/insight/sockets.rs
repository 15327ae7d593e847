//! What the sockets of this process lead to, as Linux tells it under `/proc`. Elsewhere nothing is known.
//!
//! Rejected: `getpeername`, which has to be called while the descriptor cannot be closed, and so under a
//! lock.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// More sockets than this are not looked up in one dump.
const MOST: usize = 10_000;

/// What descriptors lead to. Made for one dump: the tables of the system are read once, when they are needed.
#[derive(Default)]
pub(super) struct Targets {
    /// The other ends by the numbers of the sockets in the system. For those that listen, their own
    /// addresses.
    peers: Option<HashMap<u64, SocketAddr>>,
    looked_up: usize,
    /// The numbers of TCP connections that are open on both sides.
    connections: Option<HashSet<u64>>,
}

impl Targets {
    /// Whether the descriptor is that of a TCP connection whose other end has not closed.
    pub(super) fn is_connection(&mut self, descriptor: i32) -> bool {
        let connections = || {
            let tables = ["tcp", "tcp6"].map(|name| format!("/proc/self/net/{name}"));
            let tables = tables.iter().filter_map(|path| fs::read_to_string(path).ok());
            tables
                .flat_map(|table| table.lines().filter_map(connection).collect::<Vec<_>>())
                .collect()
        };
        let target = fs::read_link(format!("/proc/self/fd/{descriptor}"));
        let number = target.ok().and_then(|target| {
            target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
        });
        number.is_some_and(|number: u64| {
            self.connections.get_or_insert_with(connections).contains(&number)
        })
    }

    pub(super) fn of(&mut self, descriptor: i32) -> Option<String> {
        self.looked_up += 1;
        if self.looked_up > MOST {
            return None;
        }
        let target = fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?;
        let target = target.display().to_string();
        let peers = || {
            let tables =
                ["tcp", "tcp6", "udp", "udp6"].map(|name| format!("/proc/self/net/{name}"));
            tables.iter().filter_map(|path| fs::read_to_string(path).ok()).fold(
                HashMap::new(),
                |mut peers, table| {
                    peers.extend(table.lines().skip(1).filter_map(line));
                    peers
                },
            )
        };
        let Some(number) = target.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']'))
        else {
            return Some(target);
        };
        let peers = self.peers.get_or_insert_with(peers);
        let peer = number.parse().ok().and_then(|number: u64| peers.get(&number));
        Some(peer.map_or(target, SocketAddr::to_string))
    }
}

/// The number of the socket, if it is connected.
fn connection(line: &str) -> Option<u64> {
    let mut words = line.split_ascii_whitespace().skip(3);
    let state = words.next()?;
    // TCP_ESTABLISHED.
    (state == "01").then(|| words.nth(5)?.parse().ok())?
}

/// The number of a socket, and its peer, or its own address if it has none.
fn line(line: &str) -> Option<(u64, SocketAddr)> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let (own, peer) = (address(words.next()?)?, address(words.next()?)?);
    let number = words.nth(6)?.parse().ok()?;
    Some((number, if peer.port() == 0 { own } else { peer }))
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
    use super::{connection, line};

    #[test]
    fn lines_are_read_as_the_kernel_writes_them() {
        let seen = |text: &str| line(text).map(|(number, address)| (number, address.to_string()));
        let tcp = "   0: 0100007F:1F90 0100007F:1267 01 00000000:00000000 00:00000000 00000000  1000 \
                   0 31969 1 0000000000000000 20 4 30 10 -1";
        assert_eq!(seen(tcp), Some((31969, "127.0.0.1:4711".into())));
        let listens = "   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 \
                       0 7 1";
        assert_eq!(seen(listens), Some((7, "0.0.0.0:22".into())));
        assert_eq!((connection(tcp), connection(listens)), (Some(31969), None));
        let six = "0: 00000000000000000000000001000000:1F90 00000000000000000000000001000000:1267 01 \
                   0:0 00:0 0 1000 0 5 1";
        assert_eq!(seen(six), Some((5, "[::1]:4711".into())));
        assert_eq!(
            (seen(""), seen("0: x y"), seen("  sl  local_address rem_address")),
            (None, None, None)
        );
    }
}
