//! The network in words, for a report.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::stream::State;
use super::{Body, Event, HostId, Network, SocketId, Transport, plain};

/// How many connections are told of.
const TOLD: usize = 20;

impl Network {
    /// What one waits for at a socket.
    pub(crate) fn describe(&self, id: SocketId) -> String {
        let socket = self.at(id);
        let port = socket.port;
        let is_datagram = self.transport(id) == Transport::Datagram;
        match (&socket.body, socket.peer) {
            (Body::Stream(stream), _) if stream.state == State::Listen => {
                format!("connections to {}", self.own_name(id))
            }
            (Body::Stream(stream), Some(peer)) if stream.state == State::SynSent => {
                format!("a connection to {}, which is being made", self.name_of(socket.host, peer))
            }
            (_, Some(peer)) if is_datagram => {
                format!("datagrams from {} to port {port}", self.name_of(socket.host, peer))
            }
            (_, Some(peer)) => {
                format!("the connection of port {port} with {}", self.name_of(socket.host, peer))
            }
            (_, None) if port == 0 => "a socket without an address".to_owned(),
            (_, None) if is_datagram => format!("datagrams to {}", self.own_name(id)),
            (_, None) => format!("a socket that is bound to {}", self.own_name(id)),
        }
    }

    /// The socket's own port, with its address if it is not for all of them.
    fn own_name(&self, id: SocketId) -> String {
        let socket = self.at(id);
        match socket.ip {
            Some(ip) => self.name_of(socket.host, SocketAddr::new(ip, socket.port)),
            None => format!("port {}", socket.port),
        }
    }

    /// An address as one writes it in a program: by the name of its host, if it has one.
    fn name_of(&self, from: HostId, address: SocketAddr) -> String {
        let (ip, port) = (plain(address).ip(), address.port());
        match self.owner(from, ip) {
            Some(_) if ip.is_loopback() => format!("localhost:{port}"),
            Some(host) => format!("{}:{port}", self.hosts[host.0].name),
            None => SocketAddr::new(ip, port).to_string(),
        }
    }

    /// A line for each pair of hosts between which packets travel, and for each socket with bytes
    /// that the program has not read.
    pub(crate) fn under_way(&self) -> Vec<String> {
        let mut travelling = BTreeMap::new();
        for event in self.events.all() {
            if let Event::Arrival { from, to, packet } = event {
                let (packets, bytes) = travelling.entry((*from, *to)).or_insert((0_u64, 0_u64));
                *packets += 1;
                *bytes += packet.size();
            }
        }
        let name = |host: HostId| &self.hosts[host.0].name;
        let packets = travelling.into_iter().map(|((from, to), (packets, bytes))| {
            format!(
                "{} → {}: {packets} packets of {bytes} bytes, headers included",
                name(from),
                name(to)
            )
        });
        let unread = self.open().filter_map(|id| {
            let bytes = self.unread(id);
            let host = name(self.at(id).host);
            (bytes > 0).then(|| format!("{host}, {}: {bytes} unread bytes", self.describe(id)))
        });
        packets.chain(unread).collect()
    }

    /// A line for each connection: how much each side has written, and how much the other has read.
    pub(crate) fn transferred(&self) -> Vec<String> {
        let ends = self.open().filter(|id| {
            matches!(&self.at(*id).body, Body::Stream(stream) if stream.state != State::Listen)
        });
        let mut lines: Vec<String> = ends.filter_map(|id| self.transferred_by(id)).collect();
        let more = lines.len().saturating_sub(TOLD);
        if more > 0 {
            lines.truncate(TOLD);
            lines.push(format!("and {more} connections more"));
        }
        lines
    }

    /// None if the line of the other end says it.
    fn transferred_by(&self, id: SocketId) -> Option<String> {
        let (host, own, peer) = self.connection_key(id)?;
        let own_stream = self.at(id).stream();
        let other =
            self.owner(host, peer.ip()).and_then(|at| self.connections.get(&(at, peer, own)));
        let other = other.copied().filter(|other| matches!(self.at(*other).body, Body::Stream(_)));
        // The end that has asked is told of first. It has the higher port, mostly.
        if other.is_some_and(|other| (peer.port(), other) > (own.port(), id)) {
            return None;
        }
        let name = |address: SocketAddr, host: HostId| match address.ip() {
            ip if ip.is_loopback() => format!("{}:{}", self.hosts[host.0].name, address.port()),
            _ => self.name_of(host, address),
        };
        let (here, there) = (name(own, host), name(peer, host));
        let (written, read) = (own_stream.written, own_stream.read);
        Some(match other.map(|other| self.at(other).stream()) {
            Some(other) => format!(
                "{here} wrote {written} bytes, of which {there} read {}; {there} wrote {}, of which \
                 {here} read {read}",
                other.read, other.written
            ),
            None => {
                format!("{here} wrote {written} bytes to {there}, which is gone, and read {read}")
            }
        })
    }

    fn open(&self) -> impl Iterator<Item = SocketId> {
        (0..self.sockets.len()).map(SocketId).filter(|id| self.sockets[id.0].is_some())
    }
}
