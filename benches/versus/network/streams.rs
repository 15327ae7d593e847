//! The load over TCP: connections that each have one message on its way.

use super::histogram::Histogram;
use super::load::{Client, Exchanged, MESSAGE, PATIENCE};
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use socket2::SockRef;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Larger than any answer.
pub(super) const BUFFER: usize = 4096;
/// A read that leaves room in the buffer has emptied the socket, and the next byte is a new event. On
/// Windows mio asks the system for the next event only after a read that would block.
pub(crate) const SHORT_READ_DRAINS: bool = cfg!(not(windows));

/// The first byte of a request whose handler is to compute.
pub(crate) const HEAVY: u8 = 1;

/// What is sent, and how long the answer to it is.
pub(crate) struct Exchange {
    request: Vec<u8>,
    /// Bytes; `None` until the first answer has said it.
    answer: Option<usize>,
}

impl Exchange {
    pub(crate) fn echo() -> Self {
        Self { request: vec![7; MESSAGE], answer: Some(MESSAGE) }
    }

    /// An echo whose handler computes before it answers.
    pub(crate) fn heavy() -> Self {
        Self { request: vec![HEAVY; MESSAGE], answer: Some(MESSAGE) }
    }

    /// All answers are of the same length: same header fields, same body.
    pub(crate) fn http() -> Self {
        Self { request: b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_vec(), answer: None }
    }
}

pub(crate) struct Streams {
    target: SocketAddr,
    width: usize,
    exchange: Exchange,
    pub(super) poll: Poll,
    pub(super) connections: Vec<Connection>,
}

pub(super) struct Connection {
    stream: TcpStream,
    pub(super) sent: Instant,
    /// Bytes of the answer that have not come yet.
    missing: usize,
}

impl Streams {
    pub(crate) fn new(target: SocketAddr, width: usize, exchange: Exchange) -> io::Result<Self> {
        Ok(Self {
            target,
            width,
            exchange,
            poll: Poll::new()?,
            connections: Vec::with_capacity(width),
        })
    }

    /// Connects and exchanges the first message. It is answered before the next connection is made, so
    /// that the server's queue of connections to be accepted stays short.
    fn open(&mut self, token: Token) -> io::Result<Connection> {
        let mut stream = std::net::TcpStream::connect(self.target)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // Closing resets the connection: that leaves no port behind that would be blocked for a minute.
        SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
        stream.write_all(&self.exchange.request)?;
        match self.exchange.answer {
            Some(length) => stream.read_exact(&mut [0; BUFFER][..length])?,
            None => self.exchange.answer = Some(first_answer(&mut stream)?),
        }
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        self.poll.registry().register(&mut stream, token, Interest::READABLE)?;
        Ok(Connection { stream, sent: Instant::now(), missing: 0 })
    }
}

impl Client for Streams {
    fn connect(&mut self) -> io::Result<()> {
        for index in self.connections.len()..self.width {
            let connection = self.open(Token(index))?;
            self.connections.push(connection);
        }
        Ok(())
    }

    fn run(&mut self, slice: Duration, latencies: &mut Histogram) -> io::Result<Exchanged> {
        let request = self.exchange.request.as_slice();
        let answer = self.exchange.answer.expect("connected before");
        let mut buffer = [0; BUFFER];
        let mut events = Events::with_capacity(1024);
        let start = Instant::now();
        let stop = start + slice;
        for connection in &mut self.connections {
            connection.send(request, answer, Instant::now())?;
        }
        let mut in_flight = self.connections.len();
        while in_flight > 0 {
            wait(&mut self.poll, &mut events)?;
            for event in &events {
                let connection = &mut self.connections[event.token().0];
                if connection.receive(&mut buffer)? {
                    let now = Instant::now();
                    latencies.record(now - connection.sent);
                    if now < stop {
                        connection.send(request, answer, now)?;
                    } else {
                        in_flight -= 1;
                    }
                }
            }
        }
        Ok(Exchanged { messages: latencies.total(), elapsed: start.elapsed(), lost: 0 })
    }

    fn close(&mut self) {
        self.connections.clear();
    }
}

impl Connection {
    pub(super) fn send(&mut self, request: &[u8], answer: usize, now: Instant) -> io::Result<()> {
        self.sent = now;
        self.missing = answer;
        // Nothing else is on its way, so the socket's buffer has room.
        self.stream.write_all(request)
    }

    /// Reads what is there. Whether that was the end of an answer.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let before = self.missing;
        loop {
            match self.stream.read(buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) if length > self.missing => {
                    return Err(io::Error::other("more has come than was asked for"));
                }
                Ok(length) => {
                    self.missing -= length;
                    if SHORT_READ_DRAINS && length < buffer.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(before > 0 && self.missing == 0)
    }
}

/// Waits for events, but not for ever.
fn wait(poll: &mut Poll, events: &mut Events) -> io::Result<()> {
    match poll.poll(events, Some(PATIENCE)) {
        Ok(()) if events.is_empty() => Err(ErrorKind::TimedOut.into()),
        Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
        result => result,
    }
}

/// Reads one answer to its end and returns its length.
fn first_answer(stream: &mut std::net::TcpStream) -> io::Result<usize> {
    let mut answer = Vec::new();
    loop {
        let mut buffer = [0; BUFFER];
        match stream.read(&mut buffer)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            length => answer.extend_from_slice(&buffer[..length]),
        }
        let text = String::from_utf8_lossy(&answer);
        if !"HTTP/1.1 200".starts_with(text.get(..12).unwrap_or(&text)) {
            return Err(io::Error::other(format!("the server answers {text:?}")));
        }
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let length = head.len() + 4 + content_length(head)?;
            if answer.len() >= length {
                return Ok(length);
            }
        }
    }
}

fn content_length(head: &str) -> io::Result<usize> {
    let field = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = field.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = lengths.next().and_then(|(_, value)| value.trim().parse().ok());
    length.ok_or_else(|| io::Error::other("the answer does not say how long it is"))
}
