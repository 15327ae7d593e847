//! What TCP sends: segments, acknowledgements, and all of it again when no answer comes.
//!
//! One timer per socket is enough, since each state waits for one thing:
//!
//! | State                    | The timer waits for      | It fires             | It gives up after   |
//! |--------------------------|--------------------------|----------------------|---------------------|
//! | SynSent                  | the peer's SYN           | the SYN again        | 6 times: ETIMEDOUT  |
//! | SynReceived              | the handshake's last ACK | the SYN-ACK again    | 5 times: forgotten  |
//! | FinWait2, program closed | the peer's FIN           |                      | 60 s: forgotten     |
//! | TimeWait                 | late segments            |                      | 60 s: forgotten     |
//! | others, bytes on the way | their acknowledgement    | all from there again | 15 times: ETIMEDOUT |
//! | others, peer has no room | a larger window          | an empty segment     | 15 times: ETIMEDOUT |
//!
//! Each time that it fires, the next wait is twice as long.

use std::net::SocketAddr;

use super::packet::{Content, Packet, Segment};
use super::stream::{RECEIVE_CAPACITY, State};
use super::{
    ANY, Body, ERR, Errno, Event, EventKey, HostId, MILLISECOND, Moment, Nanos, Network, SECOND,
    Shut, SocketId,
};
use crate::choices::{Chance, Kind};

/// `TCP_TIMEOUT_INIT` of Linux.
pub(super) const INITIAL_TIMEOUT: Nanos = SECOND;
/// `TCP_RTO_MIN` and `TCP_RTO_MAX` of Linux.
const SHORTEST_TIMEOUT: Nanos = 200 * MILLISECOND;
const LONGEST_TIMEOUT: Nanos = 120 * SECOND;
/// `net.ipv4.tcp_syn_retries`, `tcp_synack_retries`, `tcp_retries2`, and what `tcp_orphan_retries`
/// of 0 stands for.
const SYN_RETRIES: u32 = 6;
const SYN_ACK_RETRIES: u32 = 5;
const RETRIES: u32 = 15;
const ORPHAN_RETRIES: u32 = 8;
/// `TCP_TIMEWAIT_LEN` of Linux.
pub(super) const TIME_WAIT: Nanos = 60 * SECOND;
/// Linux asks three times for a neighbour's hardware address, a second apart.
pub(super) const NEIGHBOUR_WAIT: Nanos = 3 * SECOND;
/// The longest segment, in bytes. Linux hands up to 64 KiB to the device at once and receives them
/// as one again.
const LONGEST_SEGMENT: u64 = 65_160;
/// The segment size of Ethernet, in bytes. A peer is told of less room than two segments only with
/// other news.
const WORTH_TELLING: u64 = 2 * 1_448;

pub(super) struct TimeWait {
    timer: Option<EventKey>,
    pub(super) next: u64,
    pub(super) expected: u64,
}

impl Network {
    /// Each connection's numbers are far from those of all others, so old segments never fit into a
    /// new connection.
    pub(super) fn first_sequence_number(&mut self) -> u64 {
        self.begun += 1;
        self.begun << 36
    }

    pub(super) fn send_syn(&mut self, moment: &mut Moment, id: SocketId) {
        let seq = self.at(id).stream().unacknowledged;
        self.emit(moment, id, Segment { seq, syn: true, ..Segment::default() });
    }

    pub(super) fn send_syn_ack(&mut self, moment: &mut Moment, id: SocketId) {
        let seq = self.at(id).stream().unacknowledged;
        self.emit_with_ack(moment, id, Segment { seq, syn: true, ..Segment::default() });
    }

    pub(super) fn send_ack(&mut self, moment: &mut Moment, id: SocketId) {
        let seq = self.at(id).stream().next;
        self.emit_with_ack(moment, id, Segment { seq, ..Segment::default() });
    }

    /// Tells the peer that the connection is gone.
    pub(super) fn send_reset(&mut self, moment: &mut Moment, id: SocketId) {
        let stream = self.at(id).stream();
        if matches!(stream.state, State::Closed | State::Listen | State::SynSent) {
            return;
        }
        let seq = stream.highest;
        self.emit_with_ack(moment, id, Segment { seq, rst: true, ..Segment::default() });
    }

    fn emit_with_ack(&mut self, moment: &mut Moment, id: SocketId, mut segment: Segment) {
        let stream = self.at_mut(id).stream_mut();
        segment.ack = Some(stream.expected);
        // Room that was promised stays promised.
        stream.receive_limit = stream.receive_limit.max(stream.expected + stream.room());
        segment.window = stream.receive_limit - stream.expected;
        self.emit(moment, id, segment);
    }

    fn emit(&mut self, moment: &mut Moment, id: SocketId, segment: Segment) {
        let (host, from, to) = self.connection_key(id).expect("a socket that sends has a peer");
        let earliest = self.at(id).stream().last_arrival;
        let packet = Packet { from, to, content: Content::Segment(segment) };
        self.at_mut(id).stream_mut().last_arrival = self.carry(moment, host, packet, earliest);
    }

    /// Answers a segment that belongs to no connection.
    pub(super) fn refuse(
        &mut self,
        moment: &mut Moment,
        host: HostId,
        own: SocketAddr,
        peer: SocketAddr,
        cause: &Segment,
    ) {
        if cause.rst {
            return;
        }
        let answer = match cause.ack {
            Some(ack) => Segment { seq: ack, rst: true, ..Segment::default() },
            None => Segment { ack: Some(cause.end()), rst: true, ..Segment::default() },
        };
        self.carry(
            moment,
            host,
            Packet { from: own, to: peer, content: Content::Segment(answer) },
            0,
        );
    }

    /// Sends what is written and fits into the peer's window.
    pub(super) fn transmit(&mut self, moment: &mut Moment, id: SocketId) {
        while let Some(segment) = self.next_segment(moment, id) {
            let now = moment.now;
            let stream = self.at_mut(id).stream_mut();
            stream.next = segment.end();
            if stream.next > stream.highest {
                stream.highest = stream.next;
                stream.timed.get_or_insert((stream.next, now));
            }
            self.emit_with_ack(moment, id, segment);
        }
        self.wait_for_answer(moment.now, id);
    }

    fn next_segment(&mut self, moment: &mut Moment, id: SocketId) -> Option<Segment> {
        let stream = self.at(id).stream();
        if stream.data_end() <= stream.next && !stream.finishing {
            return None;
        }
        let (host, _, peer) = self.connection_key(id)?;
        let to = self.owner(host, peer.ip())?;
        let path = self.path_mut(host, to);
        let (entity, cut) = (path.entity, path.link.cut);
        let stream = self.at(id).stream();
        let sends =
            [State::Established, State::CloseWait, State::FinWait1, State::Closing, State::LastAck];
        if !sends.contains(&stream.state) {
            return None;
        }
        let left = stream.data_end().saturating_sub(stream.next);
        if left == 0 {
            let fin = stream.finishing && stream.next == stream.data_end();
            return fin.then(|| Segment { seq: stream.next, fin, ..Segment::default() });
        }
        let mut length =
            left.min(LONGEST_SEGMENT).min(stream.send_limit.saturating_sub(stream.next));
        if length == 0 {
            return None;
        }
        if length > 1
            && cut != Chance::NEVER
            && let Some(mut draw) = moment.choices.disturbs(Kind::Cut, entity, cut)
        {
            length = 1 + draw.below(length - 1);
        }
        let start = (stream.next - stream.base) as usize;
        let data = stream.outbox.range(start..start + length as usize).copied().collect();
        Some(Segment {
            seq: stream.next,
            fin: stream.finishing && length == left,
            data,
            ..Segment::default()
        })
    }

    /// Starts the timer if something is on its way, or if something waits for the peer's window.
    fn wait_for_answer(&mut self, now: Nanos, id: SocketId) {
        let stream = self.at(id).stream();
        let waits = stream.highest > stream.unacknowledged || stream.next < stream.data_end();
        if waits && stream.due.is_none() {
            // The wait begins when the link has taken everything: a slow link is no reason to send
            // again.
            let delay = stream.timeout + stream.last_arrival.saturating_sub(now);
            self.arm_timer(now, id, delay);
        }
    }

    /// Tells the peer about new room, if it is worth a segment.
    pub(super) fn offer_room(&mut self, moment: &mut Moment, id: SocketId) {
        let stream = self.at(id).stream();
        let open = matches!(stream.state, State::Established | State::FinWait1 | State::FinWait2);
        let told = stream.receive_limit.saturating_sub(stream.expected);
        let room = stream.room();
        let worth =
            room >= told + WORTH_TELLING && (room >= 2 * told || room == RECEIVE_CAPACITY as u64);
        if open && worth && told < (RECEIVE_CAPACITY / 2) as u64 {
            self.send_ack(moment, id);
        }
    }

    /// Takes the news of an acknowledgement. Returns whether the connection is still there.
    pub(super) fn acknowledge(
        &mut self,
        moment: &mut Moment,
        id: SocketId,
        ack: u64,
        segment: &Segment,
    ) -> bool {
        let stream = self.at_mut(id).stream_mut();
        if ack > stream.highest || ack < stream.unacknowledged {
            return true;
        }
        let limit = stream.send_limit.max(ack + segment.window);
        let nothing_new =
            ack == stream.unacknowledged && limit == stream.send_limit && segment.data.is_empty();
        let more_room = limit > stream.send_limit;
        stream.send_limit = limit;
        if ack == stream.unacknowledged {
            if stream.highest == ack {
                // The answer to a question about room: the peer is alive.
                stream.retries = 0;
                if more_room {
                    stream.timeout = SHORTEST_TIMEOUT + stream.round_trip;
                    stream.due = None;
                }
            } else if nothing_new && !segment.fin {
                stream.repeated += 1;
                // Three in a row mean a loss (RFC 5681).
                if stream.repeated == 3 {
                    stream.next = stream.unacknowledged;
                    stream.timed = None;
                }
            }
            return true;
        }
        let count = ack.min(stream.data_end()).saturating_sub(stream.base);
        stream.outbox.drain(..count as usize);
        stream.base += count;
        stream.unacknowledged = ack;
        stream.next = stream.next.max(ack);
        (stream.retries, stream.repeated) = (0, 0);
        if let Some((_, sent)) = stream.timed.take_if(|(end, _)| ack >= *end) {
            let sample = moment.now - sent;
            stream.round_trip =
                if stream.round_trip == 0 { sample } else { (7 * stream.round_trip + sample) / 8 };
        }
        stream.timeout = SHORTEST_TIMEOUT + stream.round_trip;
        stream.due = None;
        let finished = stream.finishing && ack == stream.data_end() + 1;
        if stream.no_space.get() && stream.is_writable() {
            stream.no_space.set(false);
            self.touch(id, super::OUT);
        }
        if finished {
            return self.own_fin_arrived(moment.now, id);
        }
        self.wait_for_answer(moment.now, id);
        true
    }

    fn own_fin_arrived(&mut self, now: Nanos, id: SocketId) -> bool {
        let socket = self.at_mut(id);
        let orphan = socket.orphan;
        match socket.stream().state {
            State::FinWait1 => {
                socket.stream_mut().state = State::FinWait2;
                if orphan {
                    self.arm_timer(now, id, TIME_WAIT);
                }
                self.touch(id, ANY);
                true
            }
            State::Closing => {
                self.enter_time_wait(now, id);
                false
            }
            State::LastAck => {
                self.end(id, 0);
                false
            }
            _ => true,
        }
    }

    pub(super) fn timer_fired(&mut self, moment: &mut Moment, id: SocketId) {
        let Body::Stream(stream) = &mut self.at_mut(id).body else { return self.remove(id) };
        stream.timer = None;
        match stream.due.take() {
            Some(due) if due > moment.now => return self.arm_timer(due, id, 0),
            Some(_) => {}
            None => return,
        }
        let (state, retries) = (stream.state, stream.retries);
        let limit = match state {
            State::SynSent => SYN_RETRIES,
            State::SynReceived => SYN_ACK_RETRIES,
            State::FinWait2 => 0,
            _ if self.at(id).orphan => ORPHAN_RETRIES,
            _ => RETRIES,
        };
        if retries >= limit {
            return match state {
                State::SynReceived => self.remove(id),
                _ => self.end(id, libc::ETIMEDOUT),
            };
        }
        let stream = self.at_mut(id).stream_mut();
        stream.retries += 1;
        stream.timeout = (stream.timeout * 2).min(LONGEST_TIMEOUT);
        stream.timed = None;
        match state {
            State::SynSent => self.send_syn(moment, id),
            State::SynReceived => self.send_syn_ack(moment, id),
            _ => {
                stream.next = stream.unacknowledged;
                self.transmit(moment, id);
                self.ask_for_room(moment, id);
            }
        }
        let stream = self.at(id).stream();
        let delay = stream.timeout + stream.last_arrival.saturating_sub(moment.now);
        self.arm_timer(moment.now, id, delay);
    }

    /// If nothing could be sent, an empty segment with an old number makes the peer repeat its
    /// window.
    fn ask_for_room(&mut self, moment: &mut Moment, id: SocketId) {
        let stream = self.at(id).stream();
        if stream.next == stream.unacknowledged {
            let seq = stream.unacknowledged - 1;
            self.emit_with_ack(moment, id, Segment { seq, ..Segment::default() });
        }
    }

    pub(super) fn arm_timer(&mut self, now: Nanos, id: SocketId, delay: Nanos) {
        let due = now + delay;
        if let Body::Stream(stream) = &mut self.at_mut(id).body {
            stream.due = Some(due);
            if stream.timer.is_some_and(|(at, ..)| at <= due) {
                return;
            }
        }
        self.cancel_timer(id);
        let key = self.schedule(due, Event::Timer(id));
        match &mut self.at_mut(id).body {
            Body::Stream(stream) => stream.timer = Some(key),
            Body::TimeWait(rest) => rest.timer = Some(key),
            Body::Datagrams(_) => {}
        }
    }

    pub(super) fn cancel_timer(&mut self, id: SocketId) {
        let timer = match &mut self.at_mut(id).body {
            Body::Stream(stream) => stream.timer.take(),
            Body::TimeWait(rest) => rest.timer.take(),
            Body::Datagrams(_) => None,
        };
        if let Some(key) = timer {
            self.events.remove(key);
        }
    }

    /// The connection is over. The program learns `error`, if it is not 0.
    pub(super) fn end(&mut self, id: SocketId, error: Errno) {
        self.cancel_timer(id);
        self.leave_connection(id);
        if self.at(id).orphan {
            return self.remove(id);
        }
        let socket = self.at_mut(id);
        socket.shut = Shut::BOTH;
        if error != 0 {
            socket.error = error;
        }
        let stream = socket.stream_mut();
        stream.state = State::Closed;
        stream.outbox.clear();
        self.give_up_port(id);
        self.touch(id, if error == 0 { ANY } else { ANY | ERR });
    }

    /// Both sides have finished. The pair of addresses stays taken for a minute, with or without
    /// the program.
    pub(super) fn enter_time_wait(&mut self, now: Nanos, id: SocketId) {
        let key = self.connection_key(id).expect("a finished connection has a peer");
        self.cancel_timer(id);
        let socket = self.at(id);
        let rest = TimeWait {
            timer: None,
            next: socket.stream().highest,
            expected: socket.stream().expected,
        };
        let kept = super::Socket {
            body: Body::TimeWait(rest),
            orphan: true,
            shut: Shut::BOTH,
            error: 0,
            keeps_ip: true,
            keeps_port: true,
            ..*socket
        };
        let port = socket.port;
        self.end(id, 0);
        let kept = self.insert(kept);
        self.take_port(kept, port);
        self.connections.insert(key, kept);
        self.arm_timer(now, kept, TIME_WAIT);
    }

    pub(super) fn neighbour_missing(&mut self, id: SocketId, peer: SocketAddr) {
        let waits = self.sockets[id.0].as_ref().is_some_and(|socket| {
            socket.peer == Some(peer)
                && matches!(&socket.body, Body::Stream(stream) if stream.state == State::SynSent)
        });
        if waits {
            self.end(id, libc::EHOSTUNREACH);
        }
    }
}
