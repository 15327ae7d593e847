//! The way from one host to another: how long a packet takes, and whether it arrives.
//!
//! A link has one direction. A host's link to itself is its loopback: it is fast and loses nothing,
//! and nothing overtakes on it.

use super::packet::{Content, Packet};
use super::{Event, HostId, MICROSECOND, Moment, Nanos, Network, SECOND};
use crate::choices::{Chance, Key, Kind, entity};
use crate::timeline;

#[derive(Clone)]
pub(crate) struct Link {
    /// The shortest time.
    pub(crate) latency: Nanos,
    /// A delayed packet takes longer by less than this.
    pub(crate) jitter: Nanos,
    pub(crate) jitter_chance: Chance,
    pub(crate) loss: Chance,
    /// A datagram arrives twice. TCP never shows it.
    pub(crate) duplicate: Chance,
    /// A TCP segment is cut at another length than the sender would choose.
    pub(crate) cut: Chance,
    pub(crate) bytes_per_second: Option<u64>,
    /// No packet arrives, those on their way included.
    pub(crate) partitioned: bool,
    /// Packets wait until this is false again, and go then.
    pub(crate) held: bool,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            latency: 500 * MICROSECOND,
            jitter: 500 * MICROSECOND,
            jitter_chance: Chance::one_in(4),
            loss: Chance::NEVER,
            duplicate: Chance::NEVER,
            cut: Chance::one_in(16),
            bytes_per_second: None,
            partitioned: false,
            held: false,
        }
    }
}

impl Link {
    fn loopback() -> Self {
        Self { latency: 20 * MICROSECOND, jitter: 20 * MICROSECOND, ..Self::default() }
    }
}

/// A link with what is on it.
pub(super) struct Path {
    pub(super) link: Link,
    /// The link's name among the choices.
    pub(super) entity: u64,
    /// When the last byte that was handed over has left. Only a link with a rate uses it.
    busy_until: Nanos,
    /// When the latest packet arrives. Only a loopback uses it.
    last_arrival: Nanos,
    /// Held packets, and when each one would have arrived.
    pub(super) kept: Vec<(Nanos, Packet)>,
}

/// By which the choices about a link are drawn. It depends on the names of both hosts alone.
pub(crate) fn link_entity(from: &str, to: &str) -> u64 {
    entity(&format!("{from} {to}"))
}

/// A packet and its way, in words.
fn told(packet: &Packet, takes: Nanos, shortest: Nanos, is_lost: bool) -> String {
    let micros = |time: Nanos| time / MICROSECOND;
    let way = match is_lost {
        true => "never arrives".to_owned(),
        false if takes > shortest => {
            format!("takes {} µs instead of {} µs", micros(takes), micros(shortest))
        }
        false => format!("takes {} µs", micros(takes)),
    };
    format!("{}, {way}", packet.words())
}

impl Network {
    pub(super) fn path_mut(&mut self, from: HostId, to: HostId) -> &mut Path {
        let (hosts, default) = (&self.hosts, &self.default_link);
        self.paths.entry((from, to)).or_insert_with(|| {
            let link = if from == to { Link::loopback() } else { default.clone() };
            let entity = link_entity(&hosts[from.0].name, &hosts[to.0].name);
            Path { link, entity, busy_until: 0, last_arrival: 0, kept: Vec::new() }
        })
    }

    /// The host that has the address, as seen from `from`.
    pub(super) fn owner(&self, from: HostId, ip: std::net::IpAddr) -> Option<HostId> {
        if ip.is_loopback() { Some(from) } else { self.owners.get(&ip).copied() }
    }

    /// Sends a packet on its way, not to arrive before `earliest`. Returns when it arrives, had it
    /// not been lost.
    pub(super) fn carry(
        &mut self,
        moment: &mut Moment,
        from: HostId,
        packet: Packet,
        earliest: Nanos,
    ) -> Nanos {
        let Some(to) = self.owner(from, packet.to.ip()) else { return earliest };
        if !self.hosts[from.0].on {
            return earliest;
        }
        let loopback = from == to;
        self.path_mut(from, to);
        let hosts = &self.hosts;
        let Some(path) = self.paths.get_mut(&(from, to)) else { return earliest };
        let (link, entity) = (&path.link, path.entity);
        let mut leaves = moment.now;
        if let Some(rate) = link.bytes_per_second {
            let nanos = u128::from(packet.size()) * u128::from(SECOND) / u128::from(rate.max(1));
            leaves = leaves.max(path.busy_until) + u64::try_from(nanos).unwrap_or(u64::MAX / 4);
            path.busy_until = leaves;
        }
        let shortest = link.latency;
        let lost = link.loss != Chance::NEVER
            && moment.choices.disturbs(Kind::Loss, entity, link.loss).is_some();
        let mut arrives = || {
            let delay = moment.choices.disturbs(Kind::Delay, entity, link.jitter_chance);
            leaves + link.latency + delay.map_or(0, |mut draw| draw.below(link.jitter.max(1)))
        };
        let mut at = arrives().max(earliest);

        let is_lost = !loopback && (lost || link.partitioned);
        let twice =
            matches!(packet.content, Content::Datagram(_)) && link.duplicate != Chance::NEVER;
        let second = twice.then(&mut arrives);
        let duplicate = second
            .filter(|_| moment.choices.disturbs(Kind::Duplicate, entity, link.duplicate).is_some());
        if timeline::is_on() {
            let takes = at.saturating_sub(moment.now);
            let words = told(&packet, takes, shortest, is_lost);
            let about = |key: &Key| {
                matches!(key.kind, Kind::Delay | Kind::Loss | Kind::Duplicate)
                    && key.entity == entity
            };
            let last = moment.choices.happened().last().map(|(key, _)| *key);
            if let Some(key) = last.filter(about).filter(|_| takes > shortest || lost) {
                timeline::explain(key, words.clone());
            }
            if packet.is_news() {
                let names = [from, to].map(|host| &hosts[host.0].name);
                timeline::note(moment.now, || format!("{} → {}: {words}", names[0], names[1]));
            }
        }
        if is_lost {
            return at;
        }
        let held = link.held && !loopback;
        if loopback {
            at = at.max(path.last_arrival);
            path.last_arrival = at;
        }
        if let Some(second) = duplicate {
            self.put(from, to, second, packet.clone(), held);
        }
        self.put(from, to, at, packet, held);
        at
    }

    fn put(&mut self, from: HostId, to: HostId, at: Nanos, packet: Packet, held: bool) {
        if held {
            self.holding.insert((from, to));
            self.path_mut(from, to).kept.push((at, packet));
        } else {
            self.schedule(at, Event::Arrival { from, to, packet });
        }
    }

    /// Lets the packets go that links no longer hold.
    pub(super) fn release(&mut self) {
        if self.holding.is_empty() {
            return;
        }
        let free: Vec<_> =
            self.holding.iter().copied().filter(|pair| !self.paths[pair].link.held).collect();
        for (from, to) in free {
            self.holding.remove(&(from, to));
            for (at, packet) in std::mem::take(&mut self.path_mut(from, to).kept) {
                self.schedule(at, Event::Arrival { from, to, packet });
            }
        }
    }

    pub(super) fn arrive(&mut self, moment: &mut Moment, from: HostId, to: HostId, packet: Packet) {
        let cut_off = from != to && self.path_mut(from, to).link.partitioned;
        if cut_off || !self.hosts[to.0].on {
            return;
        }
        let Packet { from, to: address, content } = packet;
        match content {
            Content::Segment(segment) => self.segment_arrived(moment, to, address, from, segment),
            Content::Datagram(data) => self.datagram_arrived(moment, to, address, from, data),
            Content::PortClosed => self.port_closed(to, address, from),
        }
    }
}
