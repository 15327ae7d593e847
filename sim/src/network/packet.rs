//! What travels between two hosts.

use std::net::SocketAddr;

use crate::timeline::shown;

#[derive(Clone)]
pub(super) struct Packet {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) content: Content,
}

#[derive(Clone)]
pub(super) enum Content {
    Segment(Segment),
    Datagram(Vec<u8>),
    /// ICMP "port unreachable": the answer of `from`, where no socket received the datagram that
    /// `to` sent.
    PortClosed,
}

/// A TCP segment. Sequence numbers have 64 bits and never wrap.
#[derive(Clone, Default)]
pub(super) struct Segment {
    pub(super) seq: u64,
    pub(super) ack: Option<u64>,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    /// How many bytes after `ack` the sender of this segment has room for.
    pub(super) window: u64,
    pub(super) data: Vec<u8>,
}

impl Segment {
    /// The first sequence number after this segment.
    pub(super) fn end(&self) -> u64 {
        self.seq + self.data.len() as u64 + u64::from(self.syn) + u64::from(self.fin)
    }
}

impl Packet {
    /// Whether it is more than an acknowledgement.
    pub(super) fn is_news(&self) -> bool {
        match &self.content {
            Content::Segment(it) => it.syn || it.fin || it.rst || !it.data.is_empty(),
            Content::Datagram(_) | Content::PortClosed => true,
        }
    }

    /// What is in it, for a reader of a report.
    pub(super) fn words(&self) -> String {
        let ports = format!("port {} to {}", self.from.port(), self.to.port());
        let what = match &self.content {
            Content::Segment(it) => {
                let flags = [(it.syn, "SYN"), (it.fin, "FIN"), (it.rst, "RST")];
                let mut words: Vec<String> = flags
                    .iter()
                    .filter(|(is, _)| *is)
                    .map(|(_, name)| (*name).to_owned())
                    .collect();
                if !it.data.is_empty() {
                    words.push(format!("{} bytes {}", it.data.len(), shown(&it.data)));
                }
                if words.is_empty() { "ACK".to_owned() } else { words.join(", ") }
            }
            Content::Datagram(data) => format!("datagram of {} bytes {}", data.len(), shown(data)),
            Content::PortClosed => "port closed".to_owned(),
        };
        format!("{what} from {ports}")
    }

    /// Bytes on the wire: what the link's rate counts.
    pub(super) fn size(&self) -> u64 {
        // 14 bytes of Ethernet and 20 of IPv4, then 20 of TCP or 8 of UDP and ICMP.
        match &self.content {
            Content::Segment(segment) => 54 + segment.data.len() as u64,
            Content::Datagram(data) => 42 + data.len() as u64,
            Content::PortClosed => 70,
        }
    }
}
