//! The load at a pace: each connection sends one message per millisecond, or when the answer to the
//! last one has come, if that is later.
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
/// An answer that has not come so long after the end of a run is not waited for any more: a latency
/// that is so long says enough, and the bench has to end.
const SILENCE: Duration = Duration::from_secs(5);
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

    /// Waits for answers, but no longer than until this moment.
    fn receive(
        &mut self,
        events: &mut Events,
        until: Instant,
        latencies: &mut Histogram,
    ) -> io::Result<()> {
        let mut buffer = [0; BUFFER];
        match self.alarm.wait(&mut self.streams.poll, events, until) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            result => result?,
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

    /// Closes all connections if there are any whose answer has not come, and returns how many
    /// these are. As far as is known, their latency is the time until now.
    fn give_up(&mut self, latencies: &mut Histogram) -> u64 {
        let connections = self.streams.connections.iter().zip(&self.due);
        let silent = connections.filter(|(_, due)| due.is_none());
        let lost = silent.map(|(silent, _)| latencies.record(silent.sent.elapsed())).count();
        if lost > 0 {
            self.streams.close();
        }
        lost as u64
    }
}

impl Client for Paced {
    fn connect(&mut self) -> io::Result<()> {
        self.streams.connect()
    }

    fn run(&mut self, slice: Duration, latencies: &mut Histogram) -> io::Result<Exchanged> {
        let mut events = Events::with_capacity(1024);
        let start = Instant::now();
        let (stop, give_up) = (start + slice, start + slice + SILENCE);
        let width = self.streams.connections.len() as u32;
        // Spread over the first period, so that they do not come in one flock.
        self.due = (0..width).map(|index| Some(start + PERIOD * index / width)).collect();
        loop {
            // One answer at least.
            let until = if latencies.total() == 0 { give_up } else { stop };
            if Instant::now() >= until {
                break;
            }
            let next = self.send()?;
            self.receive(&mut events, next.unwrap_or(until), latencies)?;
        }
        let (messages, elapsed) = (latencies.total(), start.elapsed());
        // These answers may be long in coming, and nothing is sent any more: they count as latencies only.
        while self.due.iter().any(Option::is_none) && Instant::now() < give_up {
            self.receive(&mut events, give_up, latencies)?;
        }
        Ok(Exchanged { messages, elapsed, lost: self.give_up(latencies) })
    }

    fn close(&mut self) {
        self.streams.close();
    }
}
