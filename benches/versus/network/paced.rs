//! The load at a pace: each connection sends one message per millisecond, or when the answer to the last one has
//! come, if that is later.
//!
//! A server that keeps up sees the same load, however fast it is; what differs is how long an answer takes.

use super::alarm::Alarm;
use super::histogram::Histogram;
use super::load::{Client, Exchanged, MESSAGE};
use super::streams::{BUFFER, Exchange, Streams};
use mio::{Events, Token};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_millis(1);
const REQUEST: [u8; MESSAGE] = [7; MESSAGE];
const ALARM: Token = Token(usize::MAX - 1);

pub(crate) struct Paced {
    streams: Streams,
    alarm: Alarm,
    /// When each connection sends next; `None` while a message of it is on its way.
    due: Vec<Option<Instant>>,
}

impl Paced {
    pub(crate) fn new(target: SocketAddr, width: usize) -> io::Result<Self> {
        let streams = Streams::new(target, width, Exchange::echo())?;
        let alarm = Alarm::new(&streams.poll, ALARM)?;
        Ok(Self { streams, alarm, due: Vec::new() })
    }

    /// Sends on all connections that are due, and returns when the next one is.
    fn send(&mut self) -> io::Result<Option<Instant>> {
        let now = Instant::now();
        for (connection, due) in self.streams.connections.iter_mut().zip(&mut self.due) {
            if due.is_some_and(|due| due <= now) {
                // A reading of its own: the messages before this one took their time.
                connection.send(&REQUEST, MESSAGE, Instant::now())?;
                *due = None;
            }
        }
        Ok(self.due.iter().flatten().min().copied())
    }

    /// Waits for answers, or until a connection is due.
    fn receive(
        &mut self,
        events: &mut Events,
        until: Option<Instant>,
        latencies: &mut Histogram,
    ) -> io::Result<()> {
        let mut buffer = [0; BUFFER];
        match self.alarm.wait(&mut self.streams.poll, events, until) {
            Ok(true) => {}
            Ok(false) => return Err(ErrorKind::TimedOut.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        }
        for event in events.iter().filter(|event| event.token() != ALARM) {
            let index = event.token().0;
            let connection = &mut self.streams.connections[index];
            if connection.receive(&mut buffer)? {
                let now = Instant::now();
                latencies.record(now - connection.sent);
                self.due[index] = Some(now.max(connection.sent + PERIOD));
            }
        }
        Ok(())
    }
}

impl Client for Paced {
    fn connect(&mut self) -> io::Result<()> {
        self.streams.connect()
    }

    fn run(&mut self, slice: Duration, latencies: &mut Histogram) -> io::Result<Exchanged> {
        let mut events = Events::with_capacity(1024);
        let start = Instant::now();
        let stop = start + slice;
        let width = self.streams.connections.len() as u32;
        // Spread over the first period, so that they do not come in one flock.
        self.due = (0..width).map(|index| Some(start + PERIOD * index / width)).collect();
        while Instant::now() < stop || latencies.total() == 0 {
            let next = self.send()?;
            self.receive(&mut events, next, latencies)?;
        }
        let exchanged = Exchanged { messages: latencies.total(), elapsed: start.elapsed() };
        // These answers may be long in coming, and nothing is sent any more: they count as latencies only.
        while self.due.iter().any(Option::is_none) {
            self.receive(&mut events, None, latencies)?;
        }
        Ok(exchanged)
    }

    fn close(&mut self) {
        self.streams.close();
    }
}
