//! UDP.
//!
//! A socket is unconnected or connected. Connecting sends nothing: it fixes the peer, so that only
//! the peer's datagrams are received and the peer's "port unreachable" becomes an error.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use super::packet::{Content, Packet};
use super::{
    ANY, Body, ERR, Errno, HUP, HostId, IN, Moment, Network, OUT, RDHUP, Shut, SocketId, Transport,
    Version, shown,
};

/// `net.core.rmem_default` of Linux, in bytes.
const CAPACITY: usize = 212_992;
/// What Linux counts for a small datagram besides its bytes (`SKB_TRUESIZE` of an empty one).
const OVERHEAD: usize = 768;
/// The longest payload: 65,535 less the headers of IPv4 and UDP. IPv6 does not count its own
/// header.
const LONGEST_V4: usize = 65_507;
const LONGEST_V6: usize = 65_527;

#[derive(Default)]
pub(super) struct Datagrams {
    queue: VecDeque<(SocketAddr, Vec<u8>)>,
    /// What the queue takes of `CAPACITY`.
    used: usize,
}

impl Datagrams {
    pub(super) fn readiness(&self, shut: Shut) -> u32 {
        let mut bits = OUT;
        if !self.queue.is_empty() {
            bits |= IN;
        }
        if shut.read {
            bits |= IN | RDHUP;
        }
        if shut == Shut::BOTH {
            bits |= HUP;
        }
        bits
    }

    pub(super) fn first_length(&self) -> usize {
        self.queue.front().map_or(0, |(_, data)| data.len())
    }
}

impl Network {
    /// Takes the next datagram. Returns the bytes copied, the datagram's whole length and its
    /// sender.
    pub(crate) fn receive_from(
        &mut self,
        _moment: &mut Moment,
        id: SocketId,
        into: &mut [u8],
        peek: bool,
    ) -> Result<(usize, usize, SocketAddr), Errno> {
        let error = self.take_error(id);
        if error != 0 {
            return Err(error);
        }
        let socket = self.at_mut(id);
        let version = socket.version;
        let Body::Datagrams(datagrams) = &mut socket.body else { return Err(libc::EOPNOTSUPP) };
        let (from, data) = datagrams.queue.front().ok_or(libc::EAGAIN)?;
        let (from, length) = (shown(version, *from), data.len());
        let copied = length.min(into.len());
        into[..copied].copy_from_slice(&data[..copied]);
        if !peek {
            datagrams.used -= length + OVERHEAD;
            datagrams.queue.pop_front();
        }
        Ok((copied, length, from))
    }

    /// Whether a call that waits for a datagram is at its end.
    pub(crate) fn ends_waits(&self, id: SocketId) -> bool {
        let socket = self.at(id);
        matches!(socket.body, Body::Datagrams(_)) && socket.shut.read
    }

    /// Sends a datagram to `to`, or to the peer.
    pub(crate) fn send_to(
        &mut self,
        moment: &mut Moment,
        id: SocketId,
        from: &[u8],
        to: Option<SocketAddr>,
    ) -> Result<usize, Errno> {
        // Linux binds before it looks at anything else.
        self.bind_if_unbound(id)?;
        let socket = self.at(id);
        // An IPv6 socket looks at the destination first.
        if socket.version == Version::V4 && from.len() > usize::from(u16::MAX) {
            return Err(libc::EMSGSIZE);
        }
        let to = match to {
            Some(to) if to.port() == 0 => return Err(libc::EINVAL),
            Some(to) => to,
            None => shown(socket.version, socket.peer.ok_or(libc::EDESTADDRREQ)?),
        };
        let (source, to) = self.route(id, to)?;
        let longest = if to.is_ipv4() { LONGEST_V4 } else { LONGEST_V6 };
        if from.len() > longest {
            return Err(libc::EMSGSIZE);
        }
        let error = self.take_error(id);
        if error != 0 {
            return Err(error);
        }
        let socket = self.at(id);
        if socket.shut.write {
            return Err(libc::EPIPE);
        }
        let (host, source) = (socket.host, SocketAddr::new(source, socket.port));
        let packet = Packet { from: source, to, content: Content::Datagram(from.to_vec()) };
        self.carry(moment, host, packet, 0);
        // The device has taken the datagram, which wakes senders that wait for room.
        self.touch(id, OUT);
        Ok(from.len())
    }

    /// Ends what `connect` did to a UDP socket (`connect` with `AF_UNSPEC`).
    pub(crate) fn disconnect(&mut self, id: SocketId) {
        if self.transport(id) != Transport::Datagram {
            return;
        }
        let socket = self.at_mut(id);
        socket.peer = None;
        if !socket.keeps_ip {
            socket.ip = None;
        }
        if !socket.keeps_port {
            self.leave_port(id);
            self.at_mut(id).port = 0;
        }
    }

    pub(super) fn connect_datagrams(&mut self, id: SocketId, to: SocketAddr) -> Result<(), Errno> {
        self.bind_if_unbound(id)?;
        if self.at(id).only_v6 && to.is_ipv4() {
            return Err(libc::EAFNOSUPPORT);
        }
        let (source, peer) = self.route(id, to)?;
        let socket = self.at_mut(id);
        socket.peer = Some(peer);
        socket.ip = Some(source);
        Ok(())
    }

    pub(super) fn bind_if_unbound(&mut self, id: SocketId) -> Result<(), Errno> {
        if !self.at(id).holds_port {
            let port = self.free_port(id).ok_or(libc::EAGAIN)?;
            self.take_port(id, port);
        }
        Ok(())
    }

    pub(super) fn shut_datagrams(
        &mut self,
        id: SocketId,
        read: bool,
        write: bool,
    ) -> Result<(), Errno> {
        let socket = self.at_mut(id);
        // Linux marks an unconnected socket too, and fails all the same.
        socket.shut.read |= read;
        socket.shut.write |= write;
        let connected = socket.peer.is_some();
        self.touch(id, ANY);
        if connected { Ok(()) } else { Err(libc::ENOTCONN) }
    }

    pub(super) fn datagram_arrived(
        &mut self,
        moment: &mut Moment,
        host: HostId,
        to: SocketAddr,
        from: SocketAddr,
        data: Vec<u8>,
    ) {
        let Some(id) = self.best_receiver(host, Transport::Datagram, to, from) else {
            self.carry(
                moment,
                host,
                Packet { from: to, to: from, content: Content::PortClosed },
                0,
            );
            return;
        };
        let Body::Datagrams(datagrams) = &mut self.at_mut(id).body else { return };
        if datagrams.used > CAPACITY {
            return;
        }
        datagrams.used += data.len() + OVERHEAD;
        datagrams.queue.push_back((from, data));
        self.touch(id, IN);
    }

    pub(super) fn port_closed(&mut self, host: HostId, own: SocketAddr, peer: SocketAddr) {
        let Some(id) = self.best_receiver(host, Transport::Datagram, own, peer) else { return };
        if self.at(id).peer == Some(peer) {
            self.at_mut(id).error = libc::ECONNREFUSED;
            self.touch(id, ERR);
        }
    }

    /// Whether the address is one that a neighbour could have, and none has.
    pub(super) fn nobody_has(&self, host: HostId, ip: IpAddr) -> bool {
        self.owner(host, ip).is_none()
    }
}
