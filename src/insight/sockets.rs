//! What the descriptors of this process lead to, as Linux tells it under `/proc`. Elsewhere, and where that
//! cannot be read, nothing is known, and it is said why.
//!
//! Rejected: `getpeername`, which has to be called while the descriptor cannot be closed, and so under a
//! lock.

use crate::observe::spare_descriptors::read_to_string;
use crate::short::short;
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

/// The tables of the system, in the order in which they are read. To read one takes a millisecond and more,
/// because the system goes through the sockets of all its processes.
const TABLES: [Kind; 5] = [Kind::Tcp, Kind::Udp, Kind::Tcp6, Kind::Udp6, Kind::Unix];

/// What descriptors lead to. Made for one dump: each table of the system is read once, when a socket is not
/// in those that have been read before, and each descriptor is looked up once.
#[derive(Debug)]
pub(super) struct Targets {
    /// Where the system tells it: `/proc`, but for tests.
    root: PathBuf,
    /// The sockets by their numbers in the system.
    sockets: HashMap<u64, Socket>,
    /// How many of the tables have been read.
    read: usize,
    found: HashMap<i32, Option<Target>>,
    trouble: Option<String>,
}

/// What a descriptor leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// A path, or a name of the system's such as `socket:[4711]`.
    name: String,
    pub(super) socket: Option<Socket>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Socket {
    kind: Kind,
    /// The name of a Unix socket, which is only at one of its two ends.
    pub(super) local: Option<Address>,
    pub(super) peer: Option<Address>,
    pub(super) state: &'static str,
    /// How many bytes have come and have not been read; of one that listens, how many connections have not
    /// been accepted.
    pub(super) received: Option<u64>,
    /// How many bytes the other end has not acknowledged.
    pub(super) unsent: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    Network(SocketAddr),
    Name(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tcp,
    Udp,
    Tcp6,
    Udp6,
    Unix,
}

impl Default for Targets {
    fn default() -> Self {
        Self::under("/proc")
    }
}

impl Targets {
    pub(super) fn under(root: impl Into<PathBuf>) -> Self {
        let (sockets, found) = (HashMap::new(), HashMap::new());
        Self { root: root.into(), sockets, read: 0, found, trouble: None }
    }

    /// Whether the descriptor is that of a TCP connection whose other end has not closed.
    pub(super) fn is_connection(&mut self, descriptor: i32) -> bool {
        let socket = self.find(descriptor).and_then(|target| target.socket.as_ref());
        socket.is_some_and(|socket| socket.kind.is_tcp() && socket.state == ESTABLISHED)
    }

    /// The other end of a connection; its own address if it has none, as one that listens; or what else it
    /// is.
    pub(super) fn of(&mut self, descriptor: i32) -> Option<String> {
        let target = self.find(descriptor)?;
        let socket = target.socket.as_ref();
        let address = socket.and_then(|socket| socket.peer.as_ref().or(socket.local.as_ref()));
        Some(address.map_or_else(|| short(&target.name).into_owned(), Address::to_string))
    }

    /// Forgets what the descriptors lead to, which may have been closed since, and others in their places.
    pub(super) fn forget_descriptors(&mut self) {
        self.found.clear();
    }

    /// Why nothing is known of some of them, if that is the system's fault.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    pub(super) fn find(&mut self, descriptor: i32) -> Option<&Target> {
        if !self.found.contains_key(&descriptor) {
            let target = self.look_up(descriptor);
            self.found.insert(descriptor, target);
        }
        self.found.get(&descriptor)?.as_ref()
    }

    fn look_up(&mut self, descriptor: i32) -> Option<Target> {
        let folder = self.root.join("self/fd");
        let path = match fs::read_link(folder.join(descriptor.to_string())) {
            Ok(path) => path,
            Err(error) => {
                // It may have been closed; but if there is no such folder, that is worth a word.
                let is_closed = error.kind() == ErrorKind::NotFound;
                let error = if is_closed { fs::metadata(&folder).err() } else { Some(error) };
                self.complain(error.map(|error| format!("{}: {error}", folder.display())));
                return None;
            }
        };
        let name = path.display().to_string();
        let socket = number(&name).and_then(|number| self.socket(number));
        Some(Target { name, socket })
    }

    fn complain(&mut self, trouble: Option<String>) {
        self.trouble = self.trouble.take().or(trouble);
    }

    fn socket(&mut self, number: u64) -> Option<Socket> {
        loop {
            if let Some(socket) = self.sockets.get(&number) {
                return Some(socket.clone());
            }
            let kind = *TABLES.get(self.read)?;
            self.read += 1;
            let path = self.root.join("self/net").join(kind.table());
            match read_to_string(&path) {
                Ok(text) => {
                    let lines = text.lines().skip(1);
                    self.sockets.extend(lines.filter_map(|line| kind.parse(line)));
                }
                // A system without IPv6 has no tables of it.
                Err(_) if kind.is_optional() => {}
                Err(error) => self.complain(Some(format!("{}: {error}", path.display()))),
            }
        }
    }
}

impl Target {
    /// What kind of thing it is, in a word.
    pub(super) fn kind(&self) -> &'static str {
        match (&self.socket, self.name.split_once(":[")) {
            (Some(socket), _) => socket.kind.word(),
            (None, Some(("socket", _))) => "socket",
            (None, Some(("pipe", _))) => "pipe",
            (None, _) if self.name.starts_with('/') => "file",
            (None, _) => "other",
        }
    }

    /// What stands for its address if it is no socket with one.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The number of the socket in the system, which no other one has meanwhile.
    pub(super) fn number(&self) -> Option<u64> {
        number(&self.name)
    }
}

impl Kind {
    fn table(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Tcp6 => "tcp6",
            Self::Udp6 => "udp6",
            Self::Unix => "unix",
        }
    }

    fn word(self) -> &'static str {
        self.table().trim_end_matches('6')
    }

    fn is_tcp(self) -> bool {
        matches!(self, Self::Tcp | Self::Tcp6)
    }

    fn is_optional(self) -> bool {
        matches!(self, Self::Tcp6 | Self::Udp6)
    }

    /// The number of a socket, and the socket.
    fn parse(self, line: &str) -> Option<(u64, Socket)> {
        match self {
            Self::Unix => unix_line(line),
            _ => self.network_line(line),
        }
    }

    fn network_line(self, line: &str) -> Option<(u64, Socket)> {
        let mut words = line.split_ascii_whitespace().skip(1);
        let (own, peer) = (address(words.next()?)?, address(words.next()?)?);
        let state = match (self.is_tcp(), words.next()?) {
            (true, state) => tcp_state(state),
            (false, "01") => "connected",
            (false, _) => "unconnected",
        };
        let (unsent, received) = words.next()?.split_once(':')?;
        let number = words.nth(4)?.parse().ok()?;
        let count = |text| u64::from_str_radix(text, 16).ok();
        let socket = Socket {
            kind: self,
            local: Some(Address::Network(own)),
            peer: Some(Address::Network(peer)).filter(|_| peer.port() != 0),
            state,
            received: count(received),
            unsent: count(unsent),
        };
        Some((number, socket))
    }
}

const ESTABLISHED: &str = "established";
const CONNECTED: &str = "connected";
/// The states of a connection that is open at both ends.
pub(super) const OPEN: [&str; 2] = [ESTABLISHED, CONNECTED];
pub(super) const LISTENS: &str = "listens";
/// The state of a connection whose peer has closed its side.
pub(super) const CLOSED: &str = "closed by the peer";

/// The state with this number of the kernel's.
fn tcp_state(number: &str) -> &'static str {
    match number {
        "01" => ESTABLISHED,
        "02" => "connects",
        "03" => "is being accepted",
        "04" | "05" => "closed here",
        "06" | "07" => "closed",
        "08" => CLOSED,
        "09" | "0B" => "closed by both",
        "0A" => LISTENS,
        _ => "in an unknown state",
    }
}

fn unix_line(line: &str) -> Option<(u64, Socket)> {
    /// What the system notes of a socket that listens.
    const ACCEPTS: u64 = 0x1_0000;
    let mut words = line.split_ascii_whitespace().skip(3);
    let flags = u64::from_str_radix(words.next()?, 16).ok()?;
    let state = match words.nth(1)? {
        _ if flags & ACCEPTS != 0 => LISTENS,
        "03" => CONNECTED,
        "02" => "connects",
        "04" => "closes",
        _ => "unconnected",
    };
    let number = words.next()?.parse().ok()?;
    let local = words.next().map(|name| Address::Name(name.to_owned()));
    let (kind, peer, received, unsent) = (Kind::Unix, None, None, None);
    Some((number, Socket { kind, local, peer, state, received, unsent }))
}

/// The number of a socket from what its descriptor leads to.
fn number(target: &str) -> Option<u64> {
    target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

/// An address as the kernel prints it: words of four bytes, each in the machine's order.
fn address(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |index: usize| {
        let word = u32::from_str_radix(address.get(8 * index..8 * index + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let address = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let mut bytes = [0; 16];
            bytes.chunks_mut(4).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word));
            Ipv6Addr::from(bytes).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(address) => address.fmt(f),
            // A name may have any characters, and the text is for terminals.
            Self::Name(name) => name.escape_debug().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
