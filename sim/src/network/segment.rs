//! What TCP does with a segment that arrives.
//!
//! | State       | SYN           | Last ACK of SYNs | Bytes    | FIN       | ACK of own FIN | RST          |
//! |-------------|---------------|------------------|----------|-----------|----------------|--------------|
//! | no socket   | RST           | RST              | RST      | RST       | RST            |              |
//! | Listen      | → SynReceived | RST              | RST      | RST       | RST            |              |
//! | SynSent     | → Established | RST              | RST      | RST       | RST            | ECONNREFUSED |
//! | SynReceived | SYN-ACK again | → Established (1) | as ACK   | as ACK    |                | forgotten    |
//! | Established | ACK           |                  | kept     | CloseWait |                | ECONNRESET   |
//! | FinWait1    | ACK           |                  | kept (2) | Closing   | FinWait2       | ECONNRESET   |
//! | FinWait2    | ACK           |                  | kept (2) | TimeWait  |                | ECONNRESET   |
//! | CloseWait   | ACK           |                  | ACK      | ACK       |                | EPIPE        |
//! | Closing     | ACK           |                  | ACK      | ACK       | TimeWait       | ECONNRESET   |
//! | LastAck     | ACK           |                  | ACK      | ACK       | Closed         | ECONNRESET   |
//! | TimeWait    | as no socket  |                  | ACK      | ACK       |                | forgotten    |
//!
//! (1) If the listener's queue is full, nothing happens, and the SYN-ACK goes out again later.
//!
//! (2) If the receiving side is shut down or the socket is closed, bytes end the connection with a
//! RST to the peer.
//!
//! A segment of the connection that starts after the expected byte is dropped and answered with an
//! ACK, so the peer sends again from there.

use std::net::SocketAddr;

use super::packet::Segment;
use super::stream::{Phase, State, Stream};
use super::transmission::INITIAL_TIMEOUT;
use super::{ANY, Body, HostId, IN, Moment, Network, Socket, SocketId};

impl Network {
    pub(super) fn segment_arrived(
        &mut self,
        moment: &mut Moment,
        host: HostId,
        own: SocketAddr,
        peer: SocketAddr,
        segment: Segment,
    ) {
        let Some(id) = self.connections.get(&(host, own, peer)).copied() else {
            return self.unknown_segment(moment, host, own, peer, segment);
        };
        let Body::Stream(stream) = &self.at(id).body else {
            return self.late_segment(moment, id, (host, own, peer), segment);
        };
        match stream.state {
            State::SynSent => self.answer_to_syn(moment, id, (host, own, peer), segment),
            State::SynReceived => self.answer_to_syn_ack(moment, id, segment),
            _ => self.synchronized(moment, id, segment),
        }
    }

    fn unknown_segment(
        &mut self,
        moment: &mut Moment,
        host: HostId,
        own: SocketAddr,
        peer: SocketAddr,
        segment: Segment,
    ) {
        let opens = segment.syn && segment.ack.is_none() && !segment.rst;
        let listener = self.listener_for(host, own, peer);
        let Some(parent) = listener.filter(|_| opens) else {
            return self.refuse(moment, host, own, peer, &segment);
        };
        let first = self.first_sequence_number();
        let listener = self.at(parent);
        let stream = listener.stream();
        // One more than the backlog fits, as in Linux. The peer tries again when it gets no answer.
        if stream.queue.len() > stream.backlog {
            return;
        }
        let child = Stream {
            state: State::SynReceived,
            phase: Phase::Connected,
            base: first + 1,
            unacknowledged: first,
            next: first + 1,
            highest: first + 1,
            expected: segment.seq + 1,
            timeout: INITIAL_TIMEOUT,
            timed: Some((first + 1, moment.now)),
            parent: Some(parent),
            ..Stream::default()
        };
        let socket = Socket {
            ip: Some(own.ip()),
            keeps_port: false,
            peer: Some(peer),
            error: 0,
            body: Body::Stream(Box::new(child)),
            ..*listener
        };
        let id = self.insert(socket);
        self.take_port(id, own.port());
        self.connections.insert((host, own, peer), id);
        self.send_syn_ack(moment, id);
        self.arm_timer(moment.now, id, INITIAL_TIMEOUT);
    }

    /// A segment for a connection that both sides have finished.
    fn late_segment(
        &mut self,
        moment: &mut Moment,
        id: SocketId,
        (host, own, peer): (HostId, SocketAddr, SocketAddr),
        segment: Segment,
    ) {
        let Body::TimeWait(rest) = &self.at(id).body else { return };
        if segment.rst || segment.syn {
            self.remove(id);
            if segment.syn {
                self.unknown_segment(moment, host, own, peer, segment);
            }
        } else if !segment.data.is_empty() || segment.fin || segment.seq != rest.expected {
            let answer = Segment { seq: rest.next, ack: Some(rest.expected), ..Segment::default() };
            let content = super::packet::Content::Segment(answer);
            self.carry(moment, host, super::Packet { from: own, to: peer, content }, 0);
        }
    }

    fn answer_to_syn(
        &mut self,
        moment: &mut Moment,
        id: SocketId,
        (host, own, peer): (HostId, SocketAddr, SocketAddr),
        segment: Segment,
    ) {
        let stream = self.at_mut(id).stream_mut();
        let fits = segment.ack == Some(stream.highest);
        if segment.rst {
            if fits {
                self.end(id, libc::ECONNREFUSED);
            }
            return;
        }
        if !fits || !segment.syn {
            return self.refuse(moment, host, own, peer, &segment);
        }
        stream.state = State::Established;
        stream.expected = segment.seq + 1;
        self.acknowledge(moment, id, segment.ack.unwrap_or(0), &segment);
        self.touch(id, ANY);
        self.send_ack(moment, id);
        self.transmit(moment, id);
    }

    fn answer_to_syn_ack(&mut self, moment: &mut Moment, id: SocketId, segment: Segment) {
        let stream = self.at(id).stream();
        if segment.rst {
            if segment.seq == stream.expected {
                self.remove(id);
            }
            return;
        }
        if segment.syn {
            return self.send_syn_ack(moment, id);
        }
        if segment.ack != Some(stream.highest) {
            return;
        }
        let parent = stream.parent.expect("nobody has accepted an unfinished connection");
        let listener = self.at(parent).stream();
        if listener.queue.len() > listener.backlog {
            return;
        }
        self.at_mut(parent).stream_mut().queue.push_back(id);
        self.at_mut(id).stream_mut().state = State::Established;
        self.touch(parent, IN);
        self.synchronized(moment, id, segment);
        // A listener that was shut down before it listened hands that on. Linux sends the FIN at
        // once.
        if self.sockets[id.0].as_ref().is_some_and(|socket| socket.shut.write) {
            self.finish(moment, id);
        }
    }

    /// A segment for a connection that both sides know.
    fn synchronized(&mut self, moment: &mut Moment, id: SocketId, segment: Segment) {
        let expected = self.at(id).stream().expected;
        if segment.rst {
            return self.reset_arrived(moment, id, &segment);
        }
        if segment.syn {
            return self.send_ack(moment, id);
        }
        if let Some(ack) = segment.ack
            && !self.acknowledge(moment, id, ack, &segment)
        {
            return;
        }
        let news = segment.end() > expected;
        if news && !segment.data.is_empty() && self.refuses_data(id) {
            self.send_reset(moment, id);
            return self.end(id, libc::ECONNRESET);
        }
        // A segment without bytes ahead of a gap is not answered: both sides would answer each
        // other for ever where both have lost something.
        let answer = segment.seq < expected || segment.end() != segment.seq;
        if news && segment.seq <= expected && self.take_data(id, &segment) && segment.fin {
            self.take_fin(moment, id);
            return;
        }
        if answer {
            self.send_ack(moment, id);
        }
        self.transmit(moment, id);
    }

    fn reset_arrived(&mut self, moment: &mut Moment, id: SocketId, segment: &Segment) {
        let stream = self.at(id).stream();
        if segment.seq == stream.expected {
            let error =
                if stream.state == State::CloseWait { libc::EPIPE } else { libc::ECONNRESET };
            self.end(id, error);
        } else if segment.seq > stream.expected && segment.seq <= stream.receive_limit {
            // Something before it was lost. The answer makes the peer send a RST with the right
            // number.
            self.send_ack(moment, id);
        }
    }

    /// Whether what arrives now will never be read.
    fn refuses_data(&self, id: SocketId) -> bool {
        let socket = self.at(id);
        socket.shut.read && matches!(socket.stream().state, State::FinWait1 | State::FinWait2)
    }

    /// Keeps the new bytes. Returns whether all of them had room.
    fn take_data(&mut self, id: SocketId, segment: &Segment) -> bool {
        let stream = self.at_mut(id).stream_mut();
        if !matches!(stream.state, State::Established | State::FinWait1 | State::FinWait2) {
            return false;
        }
        let old = (stream.expected - segment.seq) as usize;
        let fresh = segment.data.get(old..).unwrap_or(&[]);
        let room = stream.receive_limit.saturating_sub(stream.expected) as usize;
        let taken = fresh.len().min(room);
        stream.inbox.extend(&fresh[..taken]);
        stream.expected += taken as u64;
        let whole = taken == fresh.len();
        if taken > 0 {
            self.touch(id, IN);
        }
        whole
    }

    fn take_fin(&mut self, moment: &mut Moment, id: SocketId) {
        let socket = self.at_mut(id);
        socket.shut.read = true;
        let stream = socket.stream_mut();
        stream.expected += 1;
        stream.ended = true;
        let state = stream.state;
        match state {
            State::Established => stream.state = State::CloseWait,
            State::FinWait1 => stream.state = State::Closing,
            _ => {}
        }
        self.touch(id, ANY);
        self.send_ack(moment, id);
        if state == State::FinWait2 {
            self.enter_time_wait(moment.now, id);
        } else {
            self.transmit(moment, id);
        }
    }
}
