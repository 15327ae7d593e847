//! The load generator: a process of its own, so that what it costs is not the server's, and without
//! any runtime. One thread, mio, a closed loop: each answer is followed by the next message at once, or
//! at its time if the load is paced.
//!
//! It is told what to load by an environment variable and obeys commands on stdin, one per line. Each
//! is answered by one line on stdout. Between commands it is blocked on stdin; the end of stdin ends it.

use super::datagrams::Datagrams;
use super::histogram::Histogram;
use super::paced::Paced;
use super::streams::{Exchange, Streams};
use std::fmt;
use std::io::{self, BufRead};
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

pub(crate) const VARIABLE: &str = "LITEN_VERSUS_LOAD";
/// Ends a process whose answer never comes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
pub(crate) const MESSAGE: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    /// 64 bytes to and fro over TCP.
    Tcp,
    /// The same, one message per millisecond on each connection.
    Paced,
    /// The same at once, each computed for; see `mixed/requests.rs`.
    Heavy,
    /// The same in datagrams.
    Udp,
    /// `GET /` with keep-alive.
    Http,
}

/// What to load, as it is handed to the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Load {
    pub(crate) protocol: Protocol,
    pub(crate) target: SocketAddr,
    /// Connections, or datagrams in flight.
    pub(crate) width: usize,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = match self.protocol {
            Protocol::Tcp => "tcp",
            Protocol::Paced => "paced",
            Protocol::Heavy => "heavy",
            Protocol::Udp => "udp",
            Protocol::Http => "http",
        };
        write!(f, "{protocol} {} {}", self.target, self.width)
    }
}

impl FromStr for Load {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split_whitespace();
        let protocol = match words.next() {
            Some("tcp") => Protocol::Tcp,
            Some("paced") => Protocol::Paced,
            Some("heavy") => Protocol::Heavy,
            Some("udp") => Protocol::Udp,
            Some("http") => Protocol::Http,
            _ => return Err("no such protocol"),
        };
        let target = words.next().and_then(|word| word.parse().ok()).ok_or("an address is due")?;
        let width = words.next().and_then(|word| word.parse().ok()).ok_or("a number is due")?;
        Ok(Self { protocol, target, width })
    }
}

/// What the process is told to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Command {
    /// Make all connections, and exchange one message on each.
    Connect,
    /// Exchange messages for so long, then wait until none is on its way.
    Run(Duration),
    /// Close all connections.
    Close,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect => write!(f, "connect"),
            Self::Run(slice) => write!(f, "run {}", slice.as_millis()),
            Self::Close => write!(f, "close"),
        }
    }
}

impl FromStr for Command {
    type Err = &'static str;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        match line.split_once(' ') {
            None if line == "connect" => Ok(Self::Connect),
            None if line == "close" => Ok(Self::Close),
            Some(("run", millis)) => {
                let millis = millis.parse().map_err(|_| "a number of milliseconds is due")?;
                Ok(Self::Run(Duration::from_millis(millis)))
            }
            _ => Err("no such command"),
        }
    }
}

/// What a run has seen, as its one line of answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    pub(crate) messages: u64,
    pub(crate) elapsed: Duration,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) max: Duration,
    /// Messages without an answer. The process is to connect again if there are any.
    pub(crate) lost: u64,
}

impl Report {
    fn new(latencies: &Histogram, exchanged: Exchanged) -> Self {
        let Exchanged { messages, elapsed, lost } = exchanged;
        let [p50, p99, max] =
            [0.50, 0.99, 1.0].map(|share| Duration::from_nanos(latencies.quantile(share)));
        Self { messages, elapsed, p50, p99, max, lost }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [elapsed, p50, p99, max] =
            [self.elapsed, self.p50, self.p99, self.max].map(|time| time.as_nanos());
        write!(f, "{} {elapsed} {p50} {p99} {max} {}", self.messages, self.lost)
    }
}

impl FromStr for Report {
    type Err = &'static str;

    fn from_str(line: &str) -> Result<Self, Self::Err> {
        let mut words = line.split_whitespace();
        let mut number =
            || words.next().and_then(|word| word.parse().ok()).ok_or("six numbers are due");
        Ok(Self {
            messages: number()?,
            elapsed: Duration::from_nanos(number()?),
            p50: Duration::from_nanos(number()?),
            p99: Duration::from_nanos(number()?),
            max: Duration::from_nanos(number()?),
            lost: number()?,
        })
    }
}

/// How many messages were answered in which time: until the last answer, or until nothing was sent any more.
pub(crate) struct Exchanged {
    pub(crate) messages: u64,
    pub(crate) elapsed: Duration,
    /// Messages whose answer was not waited for any more: their connections are closed.
    pub(crate) lost: u64,
}

/// One protocol's way to load a server.
pub(crate) trait Client {
    fn connect(&mut self) -> io::Result<()>;
    /// Exchanges messages for `slice`, at least one, and waits until none is on its way.
    fn run(&mut self, slice: Duration, latencies: &mut Histogram) -> io::Result<Exchanged>;
    fn close(&mut self);
}

fn client(load: Load) -> io::Result<Box<dyn Client>> {
    Ok(match load.protocol {
        Protocol::Tcp => Box::new(Streams::new(load.target, load.width, Exchange::echo())?),
        Protocol::Paced => Box::new(Paced::new(load.target, load.width)?),
        Protocol::Heavy => Box::new(Streams::new(load.target, load.width, Exchange::heavy())?),
        Protocol::Http => Box::new(Streams::new(load.target, load.width, Exchange::http())?),
        Protocol::Udp => Box::new(Datagrams::new(load.target, load.width)?),
    })
}

/// Obeys until stdin ends.
pub(crate) fn generate(load: Load) -> io::Result<()> {
    let mut client = client(load)?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        match line.parse().map_err(io::Error::other)? {
            Command::Connect => {
                client.connect()?;
                println!("connected");
            }
            Command::Run(slice) => {
                let mut latencies = Histogram::new();
                let exchanged = client.run(slice, &mut latencies)?;
                println!("{}", Report::new(&latencies, exchanged));
            }
            Command::Close => {
                client.close();
                println!("closed");
            }
        }
    }
    Ok(())
}
