//! The load over UDP: one socket with so many datagrams on their way.
//!
//! Each datagram names its slot and how often the slot has been used, so that an answer that comes
//! late, after its datagram was taken for lost and sent again, is told from the right one.

use super::histogram::Histogram;
use super::load::{Client, Exchanged, MESSAGE, PATIENCE};
use mio::net::UdpSocket;
use mio::{Events, Interest, Poll, Token};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// A datagram without an answer is taken for lost after this.
const LOST: Duration = Duration::from_millis(100);

pub(crate) struct Datagrams {
    poll: Poll,
    socket: UdpSocket,
    slots: Vec<Slot>,
}

struct Slot {
    use_count: u32,
    /// The first attempt.
    sent: Instant,
    last_attempt: Instant,
    in_flight: bool,
}

impl Datagrams {
    pub(crate) fn new(target: SocketAddr, width: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0).into())?;
        socket.connect(target)?;
        poll.registry().register(&mut socket, Token(0), Interest::READABLE)?;
        let now = Instant::now();
        let slot = |_| Slot { use_count: 0, sent: now, last_attempt: now, in_flight: false };
        Ok(Self { poll, socket, slots: (0..width).map(slot).collect() })
    }

    /// Puts the next datagram of a slot on its way.
    fn send(&mut self, slot: usize, now: Instant) -> io::Result<()> {
        let state = &mut self.slots[slot];
        state.use_count = state.use_count.wrapping_add(1);
        state.sent = now;
        state.in_flight = true;
        self.attempt(slot, now)
    }

    fn attempt(&mut self, slot: usize, now: Instant) -> io::Result<()> {
        let state = &mut self.slots[slot];
        state.last_attempt = now;
        let mut message = [7; MESSAGE];
        message[..4].copy_from_slice(&(slot as u32).to_le_bytes());
        message[4..8].copy_from_slice(&state.use_count.to_le_bytes());
        match self.socket.send(&message) {
            // It counts as lost.
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            result => result.map(drop),
        }
    }

    /// The slot whose datagram has come back; `None` if nothing is there.
    fn receive(&mut self) -> io::Result<Option<usize>> {
        let mut message = [0; MESSAGE];
        loop {
            match self.socket.recv(&mut message) {
                Ok(MESSAGE) => {}
                Ok(_) => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
            let number = |at: usize| {
                let bytes = [message[at], message[at + 1], message[at + 2], message[at + 3]];
                u32::from_le_bytes(bytes)
            };
            let slot = number(0) as usize;
            let expected = self.slots.get(slot);
            if expected.is_some_and(|state| state.in_flight && state.use_count == number(4)) {
                return Ok(Some(slot));
            }
        }
    }

    fn resend_lost(&mut self, now: Instant) -> io::Result<()> {
        for slot in 0..self.slots.len() {
            let state = &self.slots[slot];
            if state.in_flight && now - state.sent > PATIENCE {
                return Err(ErrorKind::TimedOut.into());
            }
            if state.in_flight && now - state.last_attempt >= LOST {
                self.attempt(slot, now)?;
            }
        }
        Ok(())
    }
}

impl Client for Datagrams {
    fn connect(&mut self) -> io::Result<()> {
        self.run(Duration::ZERO, &mut Histogram::new()).map(drop)
    }

    fn run(&mut self, slice: Duration, latencies: &mut Histogram) -> io::Result<Exchanged> {
        let mut events = Events::with_capacity(8);
        let start = Instant::now();
        let stop = start + slice;
        for slot in 0..self.slots.len() {
            self.send(slot, Instant::now())?;
        }
        let mut in_flight = self.slots.len();
        let mut checked = start;
        while in_flight > 0 {
            match self.poll.poll(&mut events, Some(LOST)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => result?,
            }
            let mut now = Instant::now();
            while let Some(slot) = self.receive()? {
                now = Instant::now();
                latencies.record(now - self.slots[slot].sent);
                if now < stop {
                    self.send(slot, now)?;
                } else {
                    self.slots[slot].in_flight = false;
                    in_flight -= 1;
                }
            }
            if now - checked >= LOST {
                checked = now;
                self.resend_lost(now)?;
            }
        }
        Ok(Exchanged { messages: latencies.total(), elapsed: start.elapsed(), lost: 0 })
    }

    /// There is no connection to close: the socket goes with the process.
    fn close(&mut self) {}
}
