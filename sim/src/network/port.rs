//! Which socket has which port, and which one gets what arrives for it.
//!
//! The rules for sharing a port are those of `inet_csk_bind_conflict` (TCP) and
//! `udp_lib_lport_inuse` (UDP).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::stream::State;
use super::{Body, Errno, HostId, Network, Socket, SocketId, Transport, Version, plain};
use crate::choices::mix;

/// `net.ipv4.ip_local_port_range` of Linux.
pub(super) const EPHEMERAL: (u16, u16) = (32_768, 60_999);

impl Socket {
    fn covers(&self, ip: IpAddr) -> bool {
        match (self.ip, ip) {
            (Some(own), ip) => own == ip,
            (None, IpAddr::V4(_)) => self.version == Version::V4 || !self.only_v6,
            (None, IpAddr::V6(_)) => self.version == Version::V6 && !self.only_v4,
        }
    }

    fn overlaps(&self, other: &Socket) -> bool {
        let unspecified = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
        match (self.ip, other.ip) {
            (Some(ip), _) => other.covers(ip),
            (_, Some(ip)) => self.covers(ip),
            (None, None) => unspecified.into_iter().any(|ip| self.covers(ip) && other.covers(ip)),
        }
    }

    fn conflicts(&self, other: &Socket) -> bool {
        let listens = matches!(&other.body, Body::Stream(stream) if stream.state == State::Listen);
        let shared = self.reuse_address && other.reuse_address && !listens
            || self.reuse_port && other.reuse_port;
        !shared && self.overlaps(other)
    }

    fn is_listener(&self) -> bool {
        matches!(&self.body, Body::Stream(stream) if stream.state == State::Listen)
    }
}

impl Network {
    pub(crate) fn bind(
        &mut self,
        id: SocketId,
        address: SocketAddr,
        reuse_address: bool,
        reuse_port: bool,
    ) -> Result<(), Errno> {
        let socket = self.at(id);
        let (host, port) = (socket.host, address.port());
        match (socket.version, address) {
            (Version::V4, SocketAddr::V6(_)) => return Err(libc::EAFNOSUPPORT),
            (Version::V6, SocketAddr::V4(_)) => return Err(libc::EINVAL),
            _ => {}
        }
        let ip = plain(address).ip();
        if ip != address.ip() && socket.only_v6 {
            return Err(libc::EINVAL);
        }
        let active = matches!(&socket.body, Body::Stream(stream) if stream.state != State::Closed);
        let active = active
            || socket.holds_port
            || socket.peer.is_some() && socket.transport() == Transport::Datagram;
        let absent = !ip.is_unspecified() && self.owner(host, ip) != Some(host);
        // The two versions look at these in a different order.
        if absent && (socket.version == Version::V4 || !active) {
            return Err(libc::EADDRNOTAVAIL);
        }
        if active {
            return Err(libc::EINVAL);
        }
        let before = (socket.reuse_address, socket.reuse_port);
        let socket = self.at_mut(id);
        socket.ip = (!ip.is_unspecified()).then_some(ip);
        socket.only_v4 = ip.is_unspecified() && ip != address.ip();
        (socket.reuse_address, socket.reuse_port) = (reuse_address, reuse_port);
        let port = match port {
            0 => self.free_port(id),
            port => (!self.port_conflicts(id, port)).then_some(port),
        };
        let Some(port) = port else {
            // Linux forgets even an address that the socket had before.
            let socket = self.at_mut(id);
            (socket.ip, socket.only_v4) = (None, false);
            (socket.reuse_address, socket.reuse_port) = before;
            return Err(libc::EADDRINUSE);
        };
        self.take_port(id, port);
        let socket = self.at_mut(id);
        socket.keeps_ip |= socket.ip.is_some() || socket.only_v4;
        // Linux locks the port only if the program named one.
        socket.keeps_port |= address.port() != 0;
        Ok(())
    }

    /// `SO_REUSEADDR` and `SO_REUSEPORT` as they are after `bind`, or without one.
    pub(crate) fn set_reuse(&mut self, id: SocketId, address: bool, port: bool) {
        let socket = self.at_mut(id);
        (socket.reuse_address, socket.reuse_port) = (address, port);
    }

    /// Whether another socket keeps this one from having `port`.
    pub(super) fn port_conflicts(&self, id: SocketId, port: u16) -> bool {
        let socket = self.at(id);
        let others = self.ports.get(&(socket.host, socket.transport(), port));
        others.into_iter().flatten().any(|other| *other != id && socket.conflicts(self.at(*other)))
    }

    pub(super) fn take_port(&mut self, id: SocketId, port: u16) {
        let socket = self.at_mut(id);
        socket.port = port;
        socket.holds_port = true;
        let key = (socket.host, socket.transport(), port);
        self.ports.entry(key).or_default().push(id);
    }

    pub(super) fn leave_port(&mut self, id: SocketId) {
        let socket = self.at_mut(id);
        socket.holds_port = false;
        let key = (socket.host, socket.transport(), socket.port);
        if let Some(owners) = self.ports.get_mut(&key) {
            owners.retain(|owner| *owner != id);
            if owners.is_empty() {
                self.ports.remove(&key);
            }
        }
    }

    /// The next port that no socket of the same transport has.
    pub(super) fn free_port(&mut self, id: SocketId) -> Option<u16> {
        let (host, transport) = (self.at(id).host, self.transport(id));
        self.next_port_where(host, |network, port| {
            !network.ports.contains_key(&(host, transport, port))
        })
    }

    /// A port for a connection from `ip` to `peer`. Connections to different peers can share one.
    pub(super) fn connection_port(
        &mut self,
        id: SocketId,
        ip: IpAddr,
        peer: SocketAddr,
    ) -> Option<u16> {
        if let Some(port) = self.free_port(id) {
            return Some(port);
        }
        let host = self.at(id).host;
        self.next_port_where(host, |network, port| {
            let users = network.ports.get(&(host, Transport::Stream, port));
            let connected = |user: &SocketId| network.at(*user).peer.is_some();
            let own = SocketAddr::new(ip, port);
            let pair = network.connections.get(&(host, own, peer));
            let free = pair.is_none_or(|id| matches!(network.at(*id).body, Body::TimeWait(_)));
            free && users.into_iter().flatten().all(connected)
        })
    }

    fn next_port_where(
        &mut self,
        host: HostId,
        fits: impl Fn(&Network, u16) -> bool,
    ) -> Option<u16> {
        let mut port = self.hosts[host.0].next_port;
        for _ in EPHEMERAL.0..=EPHEMERAL.1 {
            let candidate = port;
            port = if port == EPHEMERAL.1 { EPHEMERAL.0 } else { port + 1 };
            if fits(self, candidate) {
                self.hosts[host.0].next_port = port;
                return Some(candidate);
            }
        }
        None
    }

    /// Checks a destination, and finds the address that the socket sends from. `0.0.0.0` means the
    /// own host.
    pub(super) fn route(
        &self,
        id: SocketId,
        to: SocketAddr,
    ) -> Result<(IpAddr, SocketAddr), Errno> {
        let socket = self.at(id);
        match (socket.version, to) {
            (Version::V4, SocketAddr::V6(_)) => return Err(libc::EAFNOSUPPORT),
            (Version::V6, SocketAddr::V4(_)) if socket.transport() == Transport::Stream => {
                return Err(libc::EINVAL);
            }
            _ => {}
        }
        let mut to = plain(to);
        if to.ip().is_unspecified() {
            let own = socket.ip.filter(|ip| ip.is_ipv4());
            to.set_ip(match (to.ip(), own) {
                (IpAddr::V4(_), Some(own)) => own,
                (IpAddr::V6(_), None) if !socket.only_v4 => IpAddr::V6(Ipv6Addr::LOCALHOST),
                _ => IpAddr::V4(Ipv4Addr::LOCALHOST),
            });
        }
        if socket.version == Version::V6 && socket.only_v6 && to.is_ipv4() {
            return Err(libc::ENETUNREACH);
        }
        let [v4, v6] = self.hosts[socket.host.0].addresses;
        let inside = match to.ip() {
            IpAddr::V4(ip) => ip.is_loopback() || ip.octets()[..2] == [10, 0],
            IpAddr::V6(ip) => ip.is_loopback() || ip.segments()[..4] == [0xfd00, 0, 0, 0],
        };
        if !inside {
            return Err(libc::ENETUNREACH);
        }
        let from = match (socket.ip, to.ip()) {
            (Some(own), to) if own.is_ipv4() && to.is_ipv6() => return Err(libc::EAFNOSUPPORT),
            (None, to) if socket.only_v4 && to.is_ipv6() => return Err(libc::EAFNOSUPPORT),
            (Some(own), to) if own.is_ipv6() && to.is_ipv4() => return Err(libc::ENETUNREACH),
            (Some(own), to)
                if own.is_loopback() && self.owner(socket.host, to) != Some(socket.host) =>
            {
                return Err(libc::EINVAL);
            }
            (Some(own), _) => own,
            (None, to) if to == v4 || to == v6 => to,
            (None, IpAddr::V4(ip)) if ip.is_loopback() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            (None, IpAddr::V6(ip)) if ip.is_loopback() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            (None, IpAddr::V4(_)) => v4,
            (None, IpAddr::V6(_)) => v6,
        };
        Ok((from, to))
    }

    pub(super) fn listener_for(
        &self,
        host: HostId,
        to: SocketAddr,
        from: SocketAddr,
    ) -> Option<SocketId> {
        self.best_receiver(host, Transport::Stream, to, from)
    }

    /// The receiver of a SYN or a datagram: the socket with the closest match. Of equal ones the
    /// last wins, except that a group with `SO_REUSEPORT` shares the senders out.
    pub(super) fn best_receiver(
        &self,
        host: HostId,
        transport: Transport,
        to: SocketAddr,
        from: SocketAddr,
    ) -> Option<SocketId> {
        let owners = self.ports.get(&(host, transport, to.port()))?;
        let score = |id: SocketId| -> Option<u8> {
            let socket = self.at(id);
            let wanted = match transport {
                Transport::Stream => socket.is_listener(),
                Transport::Datagram => socket.peer.is_none_or(|peer| peer == from),
            };
            let connected = transport == Transport::Datagram && socket.peer.is_some();
            let exact = u8::from(socket.ip.is_some()) * 2;
            let same_version = u8::from((socket.version == Version::V4) == to.is_ipv4());
            (wanted && socket.covers(to.ip()))
                .then_some(u8::from(connected) * 4 + exact + same_version)
        };
        let best = owners.iter().filter_map(|id| score(*id)).max()?;
        let equal: Vec<SocketId> =
            owners.iter().copied().filter(|id| score(*id) == Some(best)).collect();
        let last = *equal.last()?;
        if best < 4 && equal.len() > 1 && self.at(last).reuse_port {
            let hash = mix(u64::from(from.port()) ^ mix(ip_bits(from.ip())));
            return Some(equal[(hash % equal.len() as u64) as usize]);
        }
        Some(last)
    }
}

fn ip_bits(ip: IpAddr) -> u64 {
    match ip {
        IpAddr::V4(ip) => u64::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits() as u64,
    }
}
