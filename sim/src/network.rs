//! The network of a run: hosts, links, and a model of the TCP and UDP of Linux.
//!
//! Nothing here makes a system call. Time is the caller's: each call that can send a packet gets a
//! [`Moment`], and [`Network::advance`] handles what is due. Everything that could go either way is
//! a choice of [`Choices`].
//!
//! All calls act as on a descriptor with `O_NONBLOCK`. The caller makes a blocking call of them by
//! waiting for the readiness bit. Two things differ between the two kinds of call in Linux, and the
//! caller has to know them: a blocking `recv` on a UDP socket whose receiving side is shut down
//! returns 0, not `EAGAIN`; and `read` acts as `recv`, so `read(2)` with a length of zero must
//! return 0 without a call to it.
//!
//! Not modelled: multicast, broadcast, IP options, out-of-band data, congestion control, Nagle's
//! delay, delayed acknowledgements, simultaneous open. A TCP socket that connects to itself is
//! refused.

mod datagram;
mod events;
mod link;
mod packet;
mod port;
mod segment;
mod stream;
mod told;
mod transmission;

#[cfg(test)]
mod compare;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::choices::{Choices, Table};
use datagram::Datagrams;
use events::{EventKey, Events};
use link::Path;
pub(crate) use link::{Link, link_entity};
use packet::Packet;
use stream::{State, Stream};

pub(crate) type Errno = libc::c_int;

/// Virtual time since the run began.
pub(crate) type Nanos = u64;

pub(crate) const MICROSECOND: Nanos = 1_000;
pub(crate) const MILLISECOND: Nanos = 1_000_000;
pub(crate) const SECOND: Nanos = 1_000_000_000;

#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub(crate) struct HostId(pub(crate) usize);

#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub(crate) struct SocketId(pub(crate) usize);

#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub(crate) enum Transport {
    /// TCP.
    Stream,
    /// UDP.
    Datagram,
}

#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub(crate) enum Version {
    V4,
    V6,
}

/// The time of a call, and what decides about it.
pub(crate) struct Moment<'a> {
    pub(crate) now: Nanos,
    pub(crate) choices: &'a mut Choices,
}

pub(crate) const IN: u32 = libc::EPOLLIN as u32;
pub(crate) const OUT: u32 = libc::EPOLLOUT as u32;
pub(crate) const ERR: u32 = libc::EPOLLERR as u32;
pub(crate) const HUP: u32 = libc::EPOLLHUP as u32;
pub(crate) const RDHUP: u32 = libc::EPOLLRDHUP as u32;
/// A change of state wakes every waiter, whatever it waits for.
pub(crate) const ANY: u32 = IN | OUT | ERR | HUP | RDHUP;

struct Host {
    name: String,
    addresses: [IpAddr; 2],
    on: bool,
    /// Where the search for a free port goes on.
    next_port: u16,
}

/// Which sides of a socket are shut down.
#[derive(Copy, Clone, Default, PartialEq, Eq)]
struct Shut {
    read: bool,
    write: bool,
}

impl Shut {
    const BOTH: Shut = Shut { read: true, write: true };
}

struct Socket {
    host: HostId,
    version: Version,
    only_v6: bool,
    /// An IPv6 socket that is bound to `::ffff:0.0.0.0`.
    only_v4: bool,
    /// `None` is the wildcard address. An IPv4 address of an IPv6 socket is kept as IPv4.
    ip: Option<IpAddr>,
    /// 0 before the socket gets its first port. It is shown even after the socket has given it up.
    port: u16,
    holds_port: bool,
    /// The program chose the address, so it outlives the connection.
    keeps_ip: bool,
    /// The same for the port.
    keeps_port: bool,
    reuse_address: bool,
    reuse_port: bool,
    peer: Option<SocketAddr>,
    error: Errno,
    shut: Shut,
    /// The program has closed it; the protocol still works on it.
    orphan: bool,
    body: Body,
}

enum Body {
    Stream(Box<Stream>),
    Datagrams(Datagrams),
    /// What Linux keeps of a TCP connection for a minute after its end.
    TimeWait(transmission::TimeWait),
}

enum Event {
    Arrival {
        from: HostId,
        to: HostId,
        packet: Packet,
    },
    Timer(SocketId),
    /// No host answered when this one asked for the neighbour's hardware address.
    Unreachable(SocketId, SocketAddr),
}

pub(crate) struct Network {
    hosts: Vec<Host>,
    owners: Table<IpAddr, HostId>,
    default_link: Link,
    paths: Table<(HostId, HostId), Path>,
    /// The paths that keep packets back.
    holding: BTreeSet<(HostId, HostId)>,
    sockets: Vec<Option<Socket>>,
    free: Vec<usize>,
    ports: BTreeMap<(HostId, Transport, u16), Vec<SocketId>>,
    /// TCP connections by host, own address and peer's address.
    connections: Table<(HostId, SocketAddr, SocketAddr), SocketId>,
    events: Events,
    /// How many connections were begun: each has its own sequence numbers.
    begun: u64,
    touched: Vec<(SocketId, u32)>,
}

impl Network {
    pub(crate) fn new() -> Self {
        Self {
            hosts: Vec::new(),
            owners: Table::default(),
            default_link: Link::default(),
            paths: Table::default(),
            holding: BTreeSet::new(),
            sockets: Vec::new(),
            free: Vec::new(),
            ports: BTreeMap::new(),
            connections: Table::default(),
            events: Events::default(),
            begun: 0,
            touched: Vec::new(),
        }
    }

    /// Adds a host with the addresses 10.0.x.y and fd00::n. A network has room for 65,534 hosts.
    pub(crate) fn add_host(&mut self, name: &str) -> HostId {
        let id = HostId(self.hosts.len());
        let n = u16::try_from(id.0 + 1).expect("at most 65,534 hosts");
        let [high, low] = n.to_be_bytes();
        let v4 = IpAddr::V4(Ipv4Addr::new(10, 0, high, low));
        let v6 = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n));
        self.owners.insert(v4, id);
        self.owners.insert(v6, id);
        let name = name.to_owned();
        self.hosts.push(Host { name, addresses: [v4, v6], on: true, next_port: port::EPHEMERAL.0 });
        id
    }

    pub(crate) fn host_named(&self, name: &str) -> Option<HostId> {
        self.hosts.iter().position(|host| host.name == name).map(HostId)
    }

    pub(crate) fn addresses(&self, host: HostId) -> [IpAddr; 2] {
        self.hosts[host.0].addresses
    }

    pub(crate) fn socket(
        &mut self,
        host: HostId,
        version: Version,
        transport: Transport,
    ) -> SocketId {
        let body = match transport {
            Transport::Stream => Body::Stream(Box::default()),
            Transport::Datagram => Body::Datagrams(Datagrams::default()),
        };
        self.insert(Socket {
            host,
            version,
            only_v6: false,
            only_v4: false,
            ip: None,
            port: 0,
            holds_port: false,
            keeps_ip: false,
            keeps_port: false,
            reuse_address: false,
            reuse_port: false,
            peer: None,
            error: 0,
            shut: Shut::default(),
            orphan: false,
            body,
        })
    }

    /// Whether an IPv6 socket leaves IPv4 to others. It has no effect on a socket that has a port
    /// already.
    pub(crate) fn set_only_v6(&mut self, id: SocketId, only: bool) {
        let socket = self.at_mut(id);
        if !socket.holds_port {
            socket.only_v6 = only;
        }
    }

    /// The bits of `poll`, as `tcp_poll` and `udp_poll` of Linux compute them.
    pub(crate) fn readiness(&self, id: SocketId) -> u32 {
        let socket = self.at(id);
        let mut bits = match &socket.body {
            Body::Stream(stream) if stream.state == State::Listen => {
                return if stream.queue.is_empty() { 0 } else { IN };
            }
            Body::Stream(stream) => stream.readiness(socket.shut),
            Body::Datagrams(datagrams) => datagrams.readiness(socket.shut),
            Body::TimeWait(_) => HUP,
        };
        if socket.error != 0 {
            bits |= ERR;
        }
        bits
    }

    /// `SO_ERROR`: what went wrong, once. 0 if nothing did.
    pub(crate) fn take_error(&mut self, id: SocketId) -> Errno {
        std::mem::take(&mut self.at_mut(id).error)
    }

    pub(crate) fn local_address(&self, id: SocketId) -> SocketAddr {
        let socket = self.at(id);
        let ip = socket.ip.unwrap_or(match socket.version {
            Version::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Version::V6 if socket.only_v4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Version::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        });
        shown(socket.version, SocketAddr::new(ip, socket.port))
    }

    /// `None` is what `getpeername` answers with `ENOTCONN`.
    pub(crate) fn peer_address(&self, id: SocketId) -> Option<SocketAddr> {
        let socket = self.at(id);
        if let Body::Stream(stream) = &socket.body
            && matches!(stream.state, State::Closed | State::SynSent)
        {
            return None;
        }
        socket.peer.map(|peer| shown(socket.version, peer))
    }

    /// `FIONREAD`: all bytes of a stream, the first datagram's bytes of a UDP socket.
    pub(crate) fn unread(&self, id: SocketId) -> usize {
        match &self.at(id).body {
            Body::Stream(stream) => stream.inbox.len(),
            Body::Datagrams(datagrams) => datagrams.first_length(),
            Body::TimeWait(_) => 0,
        }
    }

    pub(crate) fn is_listening(&self, id: SocketId) -> bool {
        matches!(&self.at(id).body, Body::Stream(stream) if stream.state == State::Listen)
    }

    /// The sockets on which something happened since the last call, with the bits that the kernel's
    /// wakeup carries.
    ///
    /// An edge-triggered registration whose mask shares a bit with them gets a new event if, when
    /// it is looked at, [`Network::readiness`] shares a bit with the mask too.
    pub(crate) fn take_touched(&mut self) -> Vec<(SocketId, u32)> {
        std::mem::take(&mut self.touched)
    }

    /// Gives the list back that [`Network::take_touched`] gave, for its memory.
    pub(crate) fn reuse_touched(&mut self, mut touched: Vec<(SocketId, u32)>) {
        touched.clear();
        self.touched = touched;
    }

    /// When the earliest packet or timer is due. A time that is past means now.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        let scheduled = self.events.next();
        if self.holding.is_empty() {
            return scheduled;
        }
        let released = self.holding.iter().filter(|pair| !self.paths[pair].link.held);
        let released =
            released.filter_map(|pair| self.paths[pair].kept.iter().map(|(at, _)| *at).min()).min();
        [released, scheduled].into_iter().flatten().min()
    }

    /// Handles everything that is due at `moment.now`.
    pub(crate) fn advance(&mut self, moment: &mut Moment) {
        self.release();
        while let Some(event) = self.events.take_due(moment.now) {
            match event {
                Event::Arrival { from, to, packet } => self.arrive(moment, from, to, packet),
                Event::Timer(id) => self.timer_fired(moment, id),
                Event::Unreachable(id, peer) => self.neighbour_missing(id, peer),
            }
        }
    }

    /// The link from one host to another, in this direction only.
    pub(crate) fn link_mut(&mut self, from: HostId, to: HostId) -> &mut Link {
        &mut self.path_mut(from, to).link
    }

    /// Changes all links between different hosts, those of hosts to come as well.
    pub(crate) fn change_links(&mut self, mut change: impl FnMut(&mut Link)) {
        for ((from, to), path) in &mut self.paths {
            if from != to {
                change(&mut path.link);
            }
        }
        change(&mut self.default_link);
    }

    /// The process of a host dies, and its kernel closes the sockets.
    pub(crate) fn crash(&mut self, moment: &mut Moment, host: HostId) {
        for id in self.sockets_of(host) {
            // A listener that was closed in this loop has taken its connections with it.
            let open = self.sockets[id.0]
                .as_ref()
                .is_some_and(|socket| !socket.orphan && !socket.waits_for_accept());
            if open {
                self.close(moment, id, None);
            }
        }
    }

    /// The host loses its power and with it all of its sockets. No peer is told.
    pub(crate) fn power_off(&mut self, host: HostId) {
        self.hosts[host.0].on = false;
        for id in self.sockets_of(host) {
            self.remove(id);
        }
    }

    /// The host is back. It knows none of its old connections.
    pub(crate) fn power_on(&mut self, host: HostId) {
        self.hosts[host.0].on = true;
    }

    fn sockets_of(&self, host: HostId) -> Vec<SocketId> {
        let of_host =
            |socket: &Option<Socket>| socket.as_ref().is_some_and(|socket| socket.host == host);
        (0..self.sockets.len()).filter(|i| of_host(&self.sockets[*i])).map(SocketId).collect()
    }

    fn insert(&mut self, socket: Socket) -> SocketId {
        match self.free.pop() {
            Some(slot) => {
                self.sockets[slot] = Some(socket);
                SocketId(slot)
            }
            None => {
                self.sockets.push(Some(socket));
                SocketId(self.sockets.len() - 1)
            }
        }
    }

    /// Forgets the socket and everything that leads to it.
    fn remove(&mut self, id: SocketId) {
        self.cancel_timer(id);
        self.leave_connection(id);
        self.leave_port(id);
        self.touched.retain(|(touched, _)| *touched != id);
        self.sockets[id.0] = None;
        self.free.push(id.0);
    }

    fn at(&self, id: SocketId) -> &Socket {
        self.sockets[id.0].as_ref().expect("the socket is open")
    }

    fn at_mut(&mut self, id: SocketId) -> &mut Socket {
        self.sockets[id.0].as_mut().expect("the socket is open")
    }

    pub(crate) fn transport(&self, id: SocketId) -> Transport {
        self.at(id).transport()
    }

    /// Notes that a waiter for `bits` of this socket is woken.
    fn touch(&mut self, id: SocketId, bits: u32) {
        let socket = self.at(id);
        if socket.orphan || socket.waits_for_accept() {
            return;
        }
        match self.touched.iter_mut().find(|(touched, _)| *touched == id) {
            Some((_, before)) => *before |= bits,
            None => self.touched.push((id, bits)),
        }
    }

    fn schedule(&mut self, at: Nanos, event: Event) -> EventKey {
        self.events.add(at, event)
    }
}

impl Socket {
    fn transport(&self) -> Transport {
        match self.body {
            Body::Datagrams(_) => Transport::Datagram,
            Body::Stream(_) | Body::TimeWait(_) => Transport::Stream,
        }
    }

    fn waits_for_accept(&self) -> bool {
        matches!(&self.body, Body::Stream(stream) if stream.parent.is_some())
    }

    fn stream(&self) -> &Stream {
        match &self.body {
            Body::Stream(stream) => stream,
            _ => unreachable!("only called on a TCP socket"),
        }
    }

    fn stream_mut(&mut self) -> &mut Stream {
        match &mut self.body {
            Body::Stream(stream) => stream,
            _ => unreachable!("only called on a TCP socket"),
        }
    }
}

/// An address as a socket of `version` shows it: an IPv6 socket shows IPv4 as `::ffff:a.b.c.d`.
fn shown(version: Version, address: SocketAddr) -> SocketAddr {
    match (version, address.ip()) {
        (Version::V6, IpAddr::V4(ip)) => {
            SocketAddr::new(IpAddr::V6(ip.to_ipv6_mapped()), address.port())
        }
        _ => SocketAddr::new(address.ip(), address.port()),
    }
}

/// The same address without the IPv6 form of IPv4.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
