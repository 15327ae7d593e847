//! A TCP socket as the program sees it: its calls and its readiness.
//!
//! What a call does depends on the state (the table of `segment.rs` says how segments change it):
//!
//! | State       | connect         | listen | accept | read     | write  | shutdown(write) | close          |
//! |-------------|-----------------|--------|--------|----------|--------|-----------------|----------------|
//! | Closed      | SYN → SynSent   | Listen | EINVAL | (1)      | (2)    | ENOTCONN        | gone           |
//! | Listen      | EISCONN         | Listen | a peer | ENOTCONN | EPIPE  | nothing         | gone, RST      |
//! | SynSent     | EALREADY        | EINVAL | EINVAL | EAGAIN   | EAGAIN | → Closed        | gone           |
//! | Established | 0 once, EISCONN | EINVAL | EINVAL | bytes    | bytes  | FIN → FinWait1  | FIN → FinWait1 |
//! | CloseWait   | 0 once, EISCONN | EINVAL | EINVAL | bytes, 0 | bytes  | FIN → LastAck   | FIN → LastAck  |
//! | FinWait1, 2 | 0 once, EISCONN | EINVAL | EINVAL | bytes    | EPIPE  | nothing         | stays          |
//! | Closing     | 0 once, EISCONN | EINVAL | EINVAL | bytes, 0 | EPIPE  | nothing         | stays          |
//! | LastAck     | 0 once, EISCONN | EINVAL | EINVAL | bytes, 0 | EPIPE  | nothing         | stays          |
//!
//! (1) Bytes that are left, then 0 if the peer sent its FIN, then the error once, then 0. ENOTCONN
//! if there was no connection. (2) The error once, then EPIPE.
//!
//! A close with unread bytes sends a RST in each state that has a peer, and so does a close with
//! `SO_LINGER` of 0.

use std::cell::Cell;
use std::collections::VecDeque;
use std::net::SocketAddr;

use super::Transport;
use super::transmission::{INITIAL_TIMEOUT, NEIGHBOUR_WAIT};
use super::{
    ANY, ERR, Errno, Event, EventKey, HUP, IN, Moment, Nanos, Network, OUT, RDHUP, SECOND, Shut,
    SocketId,
};

/// Room for received bytes: `net.ipv4.tcp_rmem`'s default.
pub(super) const RECEIVE_CAPACITY: usize = 131_072;
/// Room for sent bytes that the peer has not acknowledged. Linux starts with less and grows far
/// beyond it.
pub(super) const SEND_CAPACITY: usize = 131_072;
/// `net.core.somaxconn` of Linux: the longest accept queue.
const LONGEST_QUEUE: i32 = 4_096;

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum State {
    #[default]
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
}

/// How far `connect` has come. Linux keeps it apart from the state of the protocol.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Phase {
    #[default]
    Unconnected,
    Connecting,
    Connected,
    /// A shutdown ended a connection that was not yet known to be there. No call gets out of it.
    Disconnecting,
}

#[derive(Default)]
pub(super) struct Stream {
    pub(super) state: State,
    pub(super) phase: Phase,
    /// The peer has sent its FIN, so the end of the data comes before any error.
    pub(super) ended: bool,
    /// A writer found no room, so room is worth a wakeup.
    pub(super) no_space: Cell<bool>,

    /// How many bytes the program has written and read, for a report.
    pub(super) written: u64,
    pub(super) read: u64,

    /// Written bytes from the first that is not acknowledged.
    pub(super) outbox: VecDeque<u8>,
    /// The sequence number of `outbox[0]`.
    pub(super) base: u64,
    /// The first sequence number that is not acknowledged: a SYN, a byte or a FIN.
    pub(super) unacknowledged: u64,
    /// The next to send. It steps back for a retransmission.
    pub(super) next: u64,
    /// The first that was never sent.
    pub(super) highest: u64,
    /// The first that the peer has no room for.
    pub(super) send_limit: u64,
    /// A FIN follows the last byte.
    pub(super) finishing: bool,
    pub(super) retries: u32,
    pub(super) timeout: Nanos,
    /// The smoothed round trip.
    pub(super) round_trip: Nanos,
    /// The segment whose acknowledgement gives the next round trip: its end, and when it was sent.
    pub(super) timed: Option<(u64, Nanos)>,
    /// The event that looks at `due`, which may have changed meanwhile: it is not moved for each
    /// segment.
    pub(super) timer: Option<EventKey>,
    /// When the timer fires, if it runs.
    pub(super) due: Option<Nanos>,
    /// When the latest segment arrives: none of this connection overtakes another.
    pub(super) last_arrival: Nanos,
    /// Acknowledgements in a row that told nothing new: segments arrive, but one is missing.
    pub(super) repeated: u32,

    pub(super) inbox: VecDeque<u8>,
    /// The sequence number that comes after `inbox`.
    pub(super) expected: u64,
    /// The first sequence number that the peer was told there is no room for.
    pub(super) receive_limit: u64,

    /// The listener, until `accept` hands the connection out.
    pub(super) parent: Option<SocketId>,
    pub(super) queue: VecDeque<SocketId>,
    pub(super) backlog: usize,
}

impl Stream {
    pub(super) fn readiness(&self, shut: Shut) -> u32 {
        let mut bits = 0;
        if shut == Shut::BOTH || self.state == State::Closed {
            bits |= HUP;
        }
        if shut.read {
            bits |= IN | RDHUP;
        }
        if matches!(self.state, State::SynSent | State::SynReceived) {
            return bits;
        }
        if !self.inbox.is_empty() {
            bits |= IN;
        }
        if shut.write || self.is_writable() {
            bits |= OUT;
        } else {
            self.no_space.set(true);
        }
        bits
    }

    /// `__sk_stream_is_writeable`: the free room is at least half of what is used.
    pub(super) fn is_writable(&self) -> bool {
        SEND_CAPACITY.saturating_sub(self.outbox.len()) >= self.outbox.len() / 2 && self.has_room()
    }

    fn has_room(&self) -> bool {
        self.outbox.len() < SEND_CAPACITY
    }

    /// The sequence number that comes after the last written byte: the FIN's.
    pub(super) fn data_end(&self) -> u64 {
        self.base + self.outbox.len() as u64
    }

    pub(super) fn room(&self) -> u64 {
        (RECEIVE_CAPACITY - self.inbox.len()) as u64
    }
}

impl Network {
    /// Makes the socket a listener, or changes the backlog of one.
    pub(crate) fn listen(&mut self, id: SocketId, backlog: i32) -> Result<(), Errno> {
        if self.transport(id) != Transport::Stream {
            return Err(libc::EOPNOTSUPP);
        }
        let socket = self.at(id);
        let stream = socket.stream();
        let fits = matches!(stream.state, State::Closed | State::Listen)
            && stream.phase == Phase::Unconnected;
        if !fits {
            return Err(libc::EINVAL);
        }
        if stream.state == State::Closed {
            if !socket.holds_port {
                let port = self.free_port(id).ok_or(libc::EADDRINUSE)?;
                self.take_port(id, port);
            } else if self.port_conflicts(id, socket.port) {
                return Err(libc::EADDRINUSE);
            }
        }
        let stream = self.at_mut(id).stream_mut();
        stream.state = State::Listen;
        // Linux reads a negative backlog as a large one.
        let backlog = if backlog < 0 { LONGEST_QUEUE } else { backlog.min(LONGEST_QUEUE) };
        stream.backlog = backlog as usize;
        Ok(())
    }

    /// Starts a TCP connection, or asks how far it is. Sets the peer of a UDP socket.
    pub(crate) fn connect(
        &mut self,
        moment: &mut Moment,
        id: SocketId,
        to: SocketAddr,
    ) -> Result<(), Errno> {
        if self.transport(id) == Transport::Datagram {
            return self.connect_datagrams(id, to);
        }
        let (phase, state) = (self.at(id).stream().phase, self.at(id).stream().state);
        match (phase, state) {
            (Phase::Connected, _) => Err(libc::EISCONN),
            (Phase::Disconnecting, _) => Err(libc::EINVAL),
            (Phase::Connecting, State::SynSent) => Err(libc::EALREADY),
            (Phase::Connecting, State::Closed) => {
                let error = self.take_error(id);
                self.disconnect_stream(moment, id);
                Err(if error == 0 { libc::ECONNABORTED } else { error })
            }
            (Phase::Connecting, _) => {
                self.at_mut(id).stream_mut().phase = Phase::Connected;
                Ok(())
            }
            (Phase::Unconnected, State::Closed) => self.start_connect(moment, id, to),
            (Phase::Unconnected, _) => Err(libc::EISCONN),
        }
    }

    fn start_connect(
        &mut self,
        moment: &mut Moment,
        id: SocketId,
        to: SocketAddr,
    ) -> Result<(), Errno> {
        let (source, peer) = self.route(id, to)?;
        let host = self.at(id).host;
        if !self.at(id).holds_port {
            let port = self.connection_port(id, source, peer).ok_or(libc::EADDRNOTAVAIL)?;
            self.take_port(id, port);
        }
        let own = SocketAddr::new(source, self.at(id).port);
        if let Some(other) = self.connections.get(&(host, own, peer)).copied() {
            if !matches!(self.at(other).body, super::Body::TimeWait(_)) {
                return Err(libc::EADDRNOTAVAIL);
            }
            self.remove(other);
        }
        self.connections.insert((host, own, peer), id);
        let first = self.first_sequence_number();
        let missing = self.nobody_has(host, peer.ip());
        let socket = self.at_mut(id);
        (socket.ip, socket.peer, socket.error) = (Some(source), Some(peer), 0);
        let before = std::mem::take(socket.stream_mut());
        *socket.stream_mut() = Stream {
            state: State::SynSent,
            phase: Phase::Connecting,
            base: first + 1,
            unacknowledged: first,
            next: first + 1,
            highest: first + 1,
            timeout: INITIAL_TIMEOUT,
            no_space: before.no_space,
            ..Stream::default()
        };
        if missing {
            self.schedule(moment.now + NEIGHBOUR_WAIT, Event::Unreachable(id, peer));
        } else {
            self.send_syn(moment, id);
            self.arm_timer(moment.now, id, INITIAL_TIMEOUT);
        }
        Err(libc::EINPROGRESS)
    }

    /// Takes a finished connection from the listener's queue.
    pub(crate) fn accept(
        &mut self,
        _moment: &mut Moment,
        id: SocketId,
    ) -> Result<(SocketId, SocketAddr), Errno> {
        if self.transport(id) != Transport::Stream {
            return Err(libc::EOPNOTSUPP);
        }
        let stream = self.at_mut(id).stream_mut();
        if stream.state != State::Listen {
            return Err(libc::EINVAL);
        }
        let child = stream.queue.pop_front().ok_or(libc::EAGAIN)?;
        let socket = self.at_mut(child);
        socket.stream_mut().parent = None;
        let (version, peer) = (socket.version, socket.peer.expect("an accepted socket has a peer"));
        Ok((child, super::shown(version, peer)))
    }

    /// Takes received bytes, or looks at them. 0 is the end. Acts as `recv`.
    pub(crate) fn read(
        &mut self,
        moment: &mut Moment,
        id: SocketId,
        into: &mut [u8],
        peek: bool,
    ) -> Result<usize, Errno> {
        let socket = self.at_mut(id);
        let shut = socket.shut.read;
        let error = socket.error;
        let stream = socket.stream_mut();
        if stream.state == State::Listen {
            return Err(libc::ENOTCONN);
        }
        if stream.inbox.is_empty() {
            if stream.ended {
                return Ok(0);
            }
            if error != 0 {
                socket.error = 0;
                return Err(error);
            }
            return match stream.state {
                _ if shut => Ok(0),
                State::Closed => Err(libc::ENOTCONN),
                _ => Err(libc::EAGAIN),
            };
        }
        let count = into.len().min(stream.inbox.len());
        let (first, second) = stream.inbox.as_slices();
        let split = count.min(first.len());
        into[..split].copy_from_slice(&first[..split]);
        into[split..count].copy_from_slice(&second[..count - split]);
        if !peek {
            stream.inbox.drain(..count);
            stream.read += count as u64;
            self.offer_room(moment, id);
        }
        Ok(count)
    }

    /// Takes as many bytes as there is room for.
    pub(crate) fn write(
        &mut self,
        moment: &mut Moment,
        id: SocketId,
        from: &[u8],
    ) -> Result<usize, Errno> {
        let socket = self.at_mut(id);
        let shut = socket.shut.write;
        let broken = if socket.error == 0 { libc::EPIPE } else { socket.error };
        let failed = socket.error != 0;
        match socket.stream().state {
            State::Established | State::CloseWait if !shut && !failed => {}
            State::SynSent if !failed => return Err(libc::EAGAIN),
            _ => {
                socket.error = 0;
                return Err(broken);
            }
        }
        let stream = socket.stream_mut();
        let room = SEND_CAPACITY - stream.outbox.len();
        let count = room.min(from.len());
        stream.outbox.extend(&from[..count]);
        stream.written += count as u64;
        if count < from.len() {
            stream.no_space.set(true);
        }
        self.transmit(moment, id);
        if count == 0 && !from.is_empty() { Err(libc::EAGAIN) } else { Ok(count) }
    }

    pub(crate) fn shutdown(
        &mut self,
        moment: &mut Moment,
        id: SocketId,
        read: bool,
        write: bool,
    ) -> Result<(), Errno> {
        if !read && !write {
            return Err(libc::EINVAL);
        }
        if self.transport(id) == Transport::Datagram {
            return self.shut_datagrams(id, read, write);
        }
        let stream = self.at_mut(id).stream_mut();
        if stream.phase == Phase::Connecting {
            let unknown = matches!(stream.state, State::SynSent | State::Closed);
            stream.phase = if unknown { Phase::Disconnecting } else { Phase::Connected };
        }
        let state = stream.state;
        match state {
            State::Listen if !read => {}
            State::Listen | State::SynSent => self.disconnect_stream(moment, id),
            _ => {
                let socket = self.at_mut(id);
                socket.shut.read |= read;
                socket.shut.write |= write;
                if write {
                    self.finish(moment, id);
                }
            }
        }
        self.touch(id, ANY);
        if state == State::Closed { Err(libc::ENOTCONN) } else { Ok(()) }
    }

    /// Sends the FIN after what is written, if none is on its way.
    pub(super) fn finish(&mut self, moment: &mut Moment, id: SocketId) {
        let stream = self.at_mut(id).stream_mut();
        stream.state = match stream.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            _ => return,
        };
        stream.finishing = true;
        self.transmit(moment, id);
    }

    /// The last descriptor is gone. `linger` is `SO_LINGER` in seconds, if it is on; 0 sends a RST.
    ///
    /// A linger time above 0 makes a blocking `close` wait, which is up to the caller.
    pub(crate) fn close(&mut self, moment: &mut Moment, id: SocketId, linger: Option<u32>) {
        if self.transport(id) == Transport::Datagram {
            return self.remove(id);
        }
        let socket = self.at(id);
        let stream = socket.stream();
        match stream.state {
            State::Closed | State::SynSent => self.remove(id),
            State::Listen => {
                self.stop_listening(moment, id);
                self.remove(id);
            }
            _ if !stream.inbox.is_empty() || linger == Some(0) => {
                self.send_reset(moment, id);
                self.remove(id);
            }
            state => {
                self.touched.retain(|(touched, _)| *touched != id);
                let socket = self.at_mut(id);
                socket.orphan = true;
                socket.shut = Shut::BOTH;
                if state == State::FinWait2 {
                    self.arm_timer(moment.now, id, 60 * SECOND);
                }
                self.finish(moment, id);
            }
        }
    }

    /// Resets the connections that were not accepted. Handshakes that are not finished are
    /// forgotten.
    fn stop_listening(&mut self, moment: &mut Moment, id: SocketId) {
        let queue = std::mem::take(&mut self.at_mut(id).stream_mut().queue);
        for child in queue {
            self.send_reset(moment, child);
            self.remove(child);
        }
        let host = self.at(id).host;
        let of_this = |child: &SocketId| {
            let socket = self.at(*child);
            matches!(&socket.body, super::Body::Stream(stream) if stream.parent == Some(id))
        };
        for child in self.sockets_of(host).into_iter().filter(of_this).collect::<Vec<_>>() {
            self.remove(child);
        }
    }

    /// `tcp_disconnect`: the socket is as new, but for the error that tells of it and the address
    /// it was bound to.
    fn disconnect_stream(&mut self, moment: &mut Moment, id: SocketId) {
        let state = self.at(id).stream().state;
        match state {
            State::Listen => self.stop_listening(moment, id),
            State::SynSent => self.at_mut(id).error = libc::ECONNRESET,
            _ => {}
        }
        self.cancel_timer(id);
        self.leave_connection(id);
        let socket = self.at_mut(id);
        *socket.stream_mut() = Stream::default();
        socket.shut = Shut::default();
        socket.peer = None;
        if !socket.keeps_ip {
            socket.ip = None;
        }
        self.give_up_port(id);
        self.touch(id, ERR);
    }

    /// A closed socket keeps its port only if the program chose it.
    pub(super) fn give_up_port(&mut self, id: SocketId) {
        if !self.at(id).keeps_port {
            self.leave_port(id);
        }
    }

    /// The own address as it stands in the table of connections.
    pub(super) fn connection_key(
        &self,
        id: SocketId,
    ) -> Option<(super::HostId, SocketAddr, SocketAddr)> {
        let socket = self.at(id);
        Some((socket.host, SocketAddr::new(socket.ip?, socket.port), socket.peer?))
    }

    pub(super) fn leave_connection(&mut self, id: SocketId) {
        if let Some(key) = self.connection_key(id)
            && self.connections.get(&key) == Some(&id)
        {
            self.connections.remove(&key);
        }
    }
}
